"""The tool ``read_note``."""

import json

from pydantic import BaseModel, Field

from marvin_server.tools.base import ToolContext, tool
from marvin_server.tools.notes._place import note_path, place
from marvin_server.workspace.encodings import readable

_CHARACTERS = 10_240


class Params(BaseModel):
    name: str = Field(examples=["design"])


@tool(effect="read")
async def read_note(params: Params, context: ToolContext) -> str:
    """Read a note of this workspace."""
    workspace, path = context.workspace, note_path(params.name)
    whole = place(workspace, path)
    text = await workspace.apart(whole, lambda: readable(workspace.read(whole).text))
    if len(text) <= _CHARACTERS:
        return text or "[the note is empty]"
    shown = text[:_CHARACTERS].rpartition("\n")[0] or text[:_CHARACTERS]
    file = json.dumps(workspace.named(path), ensure_ascii=False)
    rest = f'read_file({{"path": {file}, "start_line": {shown.count(chr(10)) + 2}}})'
    return f"{shown}\n[cut: these are {len(shown):,} of {len(text):,} characters; for the rest: {rest}]"
