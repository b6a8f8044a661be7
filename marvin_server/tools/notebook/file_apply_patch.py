"""The tool ``file_apply_patch``."""

from msgspec.structs import asdict
from pydantic import BaseModel, Field

from marvin_server.edits.replace import replace
from marvin_server.edits.unified import difference
from marvin_server.errors import ToolError
from marvin_server.tools.base import ToolContext, ToolOutput, tool
from marvin_server.tools.notebook._place import notebook, within
from marvin_server.workspace.encodings import readable
from marvin_server.workspace.workspace import Workspace


class Params(BaseModel):
    file: str = Field(examples=["ideas.md"], description="relative to ~/Notes")
    old_str: str = Field(examples=["Buy milk.\n"])
    new_str: str = Field(examples=["Buy oat milk.\n"])


def _title(params: Params) -> str:
    return f"file_apply_patch {params.file}"


@tool(effect="edit", title=_title)
async def file_apply_patch(params: Params, context: ToolContext) -> ToolOutput:
    """Replace old_str, copied exactly and occurring once in the file, with new_str; for files in ~/Notes."""
    with notebook(context) as notes:
        return await notes.apart(within(params.file), lambda: _applied(params, notes))


def _applied(params: Params, notes: Workspace) -> ToolOutput:
    document = notes.read(within(params.file))
    try:
        text = replace(document.path, document.text, params.old_str, params.new_str).new or ""
    except ToolError as error:
        raise ToolError(f"{document.path}: {readable(str(error))}") from error
    change = difference(f"~/Notes/{document.path}", readable(document.text), readable(text))
    if not change.diff:
        raise ToolError(f"{document.path}: old_str and new_str are the same, so there is nothing to change.")
    notes.write(document, text)
    return ToolOutput(
        f"Changed {document.path} in ~/Notes: +{change.added} -{change.removed} lines.", details=asdict(change)
    )
