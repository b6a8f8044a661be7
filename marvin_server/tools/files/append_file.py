"""The tool ``append_file``."""

from msgspec.structs import asdict
from pydantic import BaseModel, Field

from marvin_server.edits.hunks import FileChange, whole
from marvin_server.edits.unified import difference, shown
from marvin_server.tools.base import ToolContext, ToolOutput, tool
from marvin_server.workspace.documents import Document
from marvin_server.workspace.encodings import readable


class Params(BaseModel):
    path: str = Field(examples=["notes.md"])
    content: str = Field(examples=["one more line\n"])


async def _preview(params: Params, context: ToolContext) -> str:
    workspace = context.workspace

    def appended() -> str:
        document = workspace.read(params.path)
        return readable(difference(document.path, document.text, document.text + params.content).diff)

    return await workspace.apart(params.path, appended)


@tool(effect="edit", preview=_preview, by_patch=True)
async def append_file(params: Params, context: ToolContext) -> ToolOutput:
    """Add text to the end of an existing file."""
    workspace = context.workspace

    def appended() -> tuple[FileChange, Document]:
        document = workspace.read(params.path)
        text = document.text + params.content
        return FileChange(document.path, document.text, text, whole(document.path, document.text, text)), document

    change, document = await workspace.apart(params.path, appended)
    applied = await context.patches().apply(workspace, [change], {document.path: document})
    made = shown(applied.changes[0])
    details = {**asdict(made), "diff": readable(made.diff)}
    return ToolOutput("\n".join([f"Added to {document.path}: +{made.added} lines.", *applied.notes]), details=details)
