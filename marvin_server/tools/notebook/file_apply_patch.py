"""The tool ``file_apply_patch``."""

from msgspec import Struct
from msgspec.structs import asdict
from pydantic import BaseModel, Field

from marvin_server.edits.replace import replace
from marvin_server.edits.unified import Difference, difference
from marvin_server.errors import ToolError
from marvin_server.tools.base import ToolContext, ToolOutput, tool
from marvin_server.tools.notebook._place import notebook, within
from marvin_server.workspace.changes import Change
from marvin_server.workspace.documents import Document
from marvin_server.workspace.encodings import readable
from marvin_server.workspace.workspace import Workspace


class Params(BaseModel):
    file: str = Field(examples=["ideas.md"], description="relative to ~/Notes")
    old_str: str = Field(examples=["Buy milk.\n"])
    new_str: str = Field(examples=["Buy oat milk.\n"])


def _title(params: Params) -> str:
    return f"file_apply_patch {params.file}"


class _Planned(Struct, frozen=True):
    """What a call would do with the file ``document``."""

    document: Document
    text: str
    change: Difference


async def _preview(params: Params, context: ToolContext) -> str:
    """The diff, also before the folder is permitted: it is shown to its owner. What is wrong with the call is not
    said then (PermissionNeeded is raised in its place), as it would tell the model what stands in the file."""
    try:
        with notebook(context, for_person=True) as notes:
            return (await notes.apart(within(params.file), lambda: _planned(params, notes))).change.diff
    except ToolError:
        with notebook(context):
            raise


@tool(effect="edit", title=_title, preview=_preview)
async def file_apply_patch(params: Params, context: ToolContext) -> ToolOutput:
    """Replace old_str, copied with its white space and enough lines to occur once in the file, with new_str; for files
    in ~/Notes."""
    with notebook(context) as notes:
        planned = await notes.apart(within(params.file), lambda: _planned(params, notes))
        document, change = planned.document, planned.change
        await notes.change(f"Marvin: {_title(params)}", [Change(document.path, document, planned.text)])
    counts = f"+{change.added} -{change.removed} lines"
    return ToolOutput(f"Changed {document.path} in ~/Notes: {counts}.", details=asdict(change))


def _planned(params: Params, notes: Workspace) -> _Planned:
    document = notes.read(within(params.file))
    try:
        text = replace(document.path, document.text, params.old_str, params.new_str).new or ""
    except ToolError as error:
        raise ToolError(f"{document.path}: {readable(str(error))}") from error
    change = difference(f"~/Notes/{document.path}", readable(document.text), readable(text))
    if not change.diff:
        raise ToolError(f"{document.path}: old_str and new_str are the same, so there is nothing to change.")
    return _Planned(document, text, change)
