"""docs/tools.md: every built-in tool with its effect, its description and its arguments, from the index."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from marvin_server.tools import arguments
from marvin_server.tools.base import ToolEntry

_INTRODUCTION = """# Tools

Generated from the tools themselves by `python -m marvin_server.tools.index`; do not edit.

The *effect* decides what a call needs: `read` and `network` run at once, `edit` and `execute` may ask first and are
left out of read-only sessions, and so is `message`, which reaches other people.
"""


def reference(toolsets: Mapping[str, str], tools: Iterable[ToolEntry]) -> str:
    """The Markdown page for ``tools``, by toolset."""
    entries = list(tools)
    pages = [_INTRODUCTION]
    for toolset, line in toolsets.items():
        pages.append(f"## {toolset}\n\n{line}\n")
        pages += [_section(entry) for entry in entries if entry.toolset == toolset]
    return "\n".join(pages)


def _section(entry: ToolEntry) -> str:
    fields: Mapping[str, Mapping[str, Any]] = entry.parameters.get("properties", {})
    required: list[str] = entry.parameters.get("required", [])
    lines = [f"### {entry.name}\n", f"Effect: `{entry.effect}`. {entry.description}\n"]
    if fields:
        lines += ["| argument | type | default | meaning |", "|---|---|---|---|"]
        lines += [
            f"| `{name}` | {arguments.describe(field)} | {_default(name, field, required)} | "
            f"{field.get('description', '')} |"
            for name, field in fields.items()
        ]
        lines.append("")
    lines.append(f"```\n{arguments.example(entry)}\n```\n")
    return "\n".join(lines)


def _default(name: str, field: Mapping[str, Any], required: Iterable[str]) -> str:
    if name in required:
        return "required"
    return f"`{json.dumps(field['default'])}`" if "default" in field else ""
