"""The tool ``write_note``."""

from msgspec.structs import asdict
from pydantic import BaseModel, Field

from marvin_server.edits.unified import difference
from marvin_server.tools.base import ToolContext, ToolOutput, tool
from marvin_server.tools.notes._place import keep_out_of_git, note_path
from marvin_server.workspace import documents
from marvin_server.workspace.confine import Root


class Params(BaseModel):
    name: str = Field(examples=["design"])
    content: str = Field(examples=["The parser comes first.\n"])
    append: bool = False


@tool(effect="edit")
async def write_note(params: Params, context: ToolContext) -> ToolOutput:
    """Keep a note in this workspace, for later sessions too."""
    root, path = context.workspace.root, note_path(params.name)
    keep_out_of_git(root)
    if _exists(root, path):
        old = documents.read(root, path)
        before = old.text
        after = documents.write(root, old, before + params.content if params.append else params.content).text
    else:
        before, after = "", documents.create(root, path, params.content).text
    return ToolOutput(f"Noted in {path}.", details=asdict(difference(path, before, after)))


def _exists(root: Root, path: str) -> bool:
    try:
        root.stat(path)
    except OSError:
        return False
    return True
