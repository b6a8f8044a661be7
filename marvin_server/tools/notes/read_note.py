"""The tool ``read_note``."""

from pydantic import BaseModel, Field

from marvin_server.tools.base import ToolContext, tool
from marvin_server.tools.notes._place import note_path
from marvin_server.workspace import documents


class Params(BaseModel):
    name: str = Field(examples=["design"])


@tool(effect="read")
async def read_note(params: Params, context: ToolContext) -> str:
    """Read a note of this workspace."""
    return documents.read(context.workspace.root, note_path(params.name)).text or "[the note is empty]"
