"""Print the script with which a shell completes Marvin's commands and options."""

import argparse

from marvin_cli import shell_scripts
from marvin_cli.commands import show, show_json
from marvin_server.settings import Settings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=sorted(shell_scripts.SCRIPTS), help="for which shell")


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    script = shell_scripts.SCRIPTS[arguments.shell](shell_scripts.levels(settings))
    if arguments.json:
        show_json({"shell": arguments.shell, "script": script})
    else:
        show(script.rstrip("\n"))
    return 0
