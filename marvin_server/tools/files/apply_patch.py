"""The tool ``apply_patch``."""

from msgspec.structs import asdict
from pydantic import BaseModel, Field

from marvin_server.edits.replace import Ambiguous, NotFound, replace_once
from marvin_server.edits.unified import difference
from marvin_server.errors import ToolError
from marvin_server.tools.base import ToolContext, ToolOutput, tool
from marvin_server.workspace.encodings import readable
from marvin_server.workspace.workspace import Workspace


class Params(BaseModel):
    path: str = Field(examples=["src/main.py"])
    old_str: str = Field(examples=["return 1\n"])
    new_str: str = Field(examples=["return 2\n"])


@tool(effect="edit")
async def apply_patch(params: Params, context: ToolContext) -> ToolOutput:
    """Replace old_str, copied exactly and occurring once in the file, with new_str."""
    return await context.workspace.apart(params.path, lambda: _applied(params, context.workspace))


def _applied(params: Params, workspace: Workspace) -> ToolOutput:
    document = workspace.read(params.path)
    try:
        text = replace_once(document.text, params.old_str, params.new_str)
    except (NotFound, Ambiguous) as error:
        raise ToolError(f"{document.path}: {readable(str(error))}") from error
    change = difference(document.path, readable(document.text), readable(text))
    if not change.diff:
        raise ToolError(f"{document.path}: old_str and new_str are the same, so there is nothing to change.")
    workspace.write(document, text)
    return ToolOutput(
        f"Changed {document.path}: +{change.added} -{change.removed} lines.",
        details=asdict(change),
    )
