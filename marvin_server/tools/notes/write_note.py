"""The tool ``write_note``."""

from msgspec.structs import asdict
from pydantic import BaseModel, Field

from marvin_server.edits.hunks import FileChange, whole
from marvin_server.edits.unified import difference
from marvin_server.tools.base import ToolContext, ToolOutput, tool
from marvin_server.tools.notes._place import keep_out_of_git, note_path, place
from marvin_server.workspace.documents import Document
from marvin_server.workspace.encodings import readable
from marvin_server.workspace.workspace import Workspace


class Params(BaseModel):
    name: str = Field(examples=["design"])
    content: str = Field(examples=["The parser comes first.\n"])
    append: bool = False


async def _preview(params: Params, context: ToolContext) -> str:
    change, _ = await _planned(params, context.workspace)
    return readable(difference(change.path, change.old or "", change.new or "").diff)


@tool(effect="edit", preview=_preview, by_patch=True)
async def write_note(params: Params, context: ToolContext) -> ToolOutput:
    """Keep a note in this workspace, for later sessions too."""
    workspace = context.workspace
    change, document = await _planned(params, workspace)
    applied = await context.patches().apply(workspace, [change], {change.path: document} if document else {})
    await keep_out_of_git(workspace)
    made = applied.changes[0]
    details = asdict(difference(made.path, readable(made.old or ""), readable(made.new or "")))
    return ToolOutput("\n".join([f"Noted in {made.path}.", *applied.notes]), details=details)


async def _planned(params: Params, workspace: Workspace) -> tuple[FileChange, Document | None]:
    path = note_path(params.name)
    named = place(workspace, path)

    def planned() -> tuple[FileChange, Document | None]:
        if not workspace.exists(named):
            return FileChange(path, None, params.content, whole(path, None, params.content)), None
        document = workspace.read(named)
        text = document.text + params.content if params.append else params.content
        return FileChange(path, document.text, text, whole(path, document.text, text)), document

    return await workspace.apart(named, planned)
