"""The tool ``write_note``."""

from msgspec.structs import asdict
from pydantic import BaseModel, Field

from marvin_server.edits.unified import difference
from marvin_server.tools.base import ToolContext, ToolOutput, tool
from marvin_server.tools.notes._place import keep_out_of_git, note_path
from marvin_server.workspace import documents
from marvin_server.workspace.confine import Root
from marvin_server.workspace.encodings import readable


class Params(BaseModel):
    name: str = Field(examples=["design"])
    content: str = Field(examples=["The parser comes first.\n"])
    append: bool = False


async def _preview(params: Params, context: ToolContext) -> str:
    root, path = context.workspace.root, note_path(params.name)

    def written() -> str:
        before = documents.read(root, path).text if _exists(root, path) else ""
        after = before + params.content if params.append else params.content
        return readable(difference(path, before, after).diff)

    return await context.workspace.apart(str(root.path / path), written)


@tool(effect="edit", preview=_preview)
async def write_note(params: Params, context: ToolContext) -> ToolOutput:
    """Keep a note in this workspace, for later sessions too."""
    root, path = context.workspace.root, note_path(params.name)

    def write() -> ToolOutput:
        keep_out_of_git(root)
        if _exists(root, path):
            old = documents.read(root, path)
            before = old.text
            after = documents.write(root, old, before + params.content if params.append else params.content).text
        else:
            before, after = "", documents.create(root, path, params.content).text
        return ToolOutput(f"Noted in {path}.", details=asdict(difference(path, before, after)))

    is_small = len(params.content) <= documents.SMALL
    return await context.workspace.apart(str(root.path / path) if is_small else None, write)


def _exists(root: Root, path: str) -> bool:
    try:
        root.stat(path)
    except OSError:
        return False
    return True
