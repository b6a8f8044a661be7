"""The tool ``search_notes``."""

import asyncio

from pydantic import BaseModel, Field

from marvin_server.errors import ToolError
from marvin_server.tools.base import ToolContext, tool
from marvin_server.tools.notes._place import FOLDER, place, walk
from marvin_server.workspace.encodings import readable
from marvin_server.workspace.names import printable
from marvin_server.workspace.workspace import Workspace

_LINES = 100
_LONGEST = 300


class Params(BaseModel):
    query: str = Field(min_length=1, examples=["parser design"])


def _title(params: Params) -> str:
    return f"search_notes {params.query}"


@tool(effect="read", title=_title)
async def search_notes(params: Params, context: ToolContext) -> str:
    """Search the notes of this workspace for lines that have all the words, in any case."""
    words = params.query.casefold().split()
    return await asyncio.to_thread(_found, context.workspace, words)


def _found(workspace: Workspace, words: list[str]) -> str:
    lines: list[str] = []
    notes = [name for name, size in walk(workspace.root) if size is not None]
    for name in notes:
        try:
            text = readable(workspace.read(place(workspace, f"{FOLDER}/{name}")).text)
        except ToolError:
            continue
        for number, line in enumerate(text.splitlines(), 1):
            folded = line.casefold()
            if all(word in folded for word in words):
                if len(lines) == _LINES:
                    return "\n".join([*lines, "[there are more; search for rarer words]"])
                shown = line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"
                lines.append(f"{printable(name)}:{number}: {shown}")
    return "\n".join(lines) or f"[no line has these words, in {len(notes):,} notes]"
