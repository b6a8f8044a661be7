"""List the tools that Marvin can use, by toolset."""

import argparse
import sys

from msgspec.structs import asdict

from marvin_cli.commands import show, show_json, table
from marvin_server.sanitise import one_line
from marvin_server.settings import Settings
from marvin_server.tools.registry import Registry


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", help="show one tool with its arguments")


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    from marvin_server.errors import UsageError

    registry = Registry.load(settings.paths.cache, settings.paths.tools)
    entries = list(registry.entries.values())
    if arguments.name:
        entries = [entry for entry in entries if entry.name == arguments.name]
        if not entries:
            raise UsageError(f"there is no tool called {arguments.name}; marvin tools lists them")
    if arguments.json:
        show_json([asdict(entry) for entry in entries])
    elif arguments.name:
        entry = entries[0]
        show(f"{entry.name} ({entry.toolset}, {entry.effect})\n\n{entry.description}\n")
        fields = entry.parameters.get("properties", {})
        required = entry.parameters.get("required", [])
        for name, field in fields.items():
            need = "required" if name in required else "optional"
            show(f"  {name} ({need}): {field.get('description', '')}")
    else:
        first = [(entry.name, entry.effect, entry.toolset, entry.description.partition("\n")[0]) for entry in entries]
        show(table([("TOOL", "EFFECT", "TOOLSET", "WHAT IT DOES"), *first]))
    for warning in registry.warnings:
        sys.stderr.write(f"left out: {one_line(warning)}\n")
    return 0
