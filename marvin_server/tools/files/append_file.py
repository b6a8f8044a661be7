"""The tool ``append_file``."""

from msgspec.structs import asdict
from pydantic import BaseModel, Field

from marvin_server.edits.unified import difference
from marvin_server.tools.base import ToolContext, ToolOutput, tool
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


@tool(effect="edit", preview=_preview)
async def append_file(params: Params, context: ToolContext) -> ToolOutput:
    """Add text to the end of an existing file."""
    workspace = context.workspace

    def append() -> ToolOutput:
        document = workspace.append(params.path, params.content)
        text = readable(document.text)
        change = difference(document.path, text[: -len(params.content) or None], text)
        return ToolOutput(f"Added to {document.path}: +{change.added} lines.", details=asdict(change))

    return await workspace.apart(params.path, append)
