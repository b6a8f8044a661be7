"""The tool ``create_file``."""

from msgspec.structs import asdict
from pydantic import BaseModel, Field

from marvin_server.edits.unified import difference
from marvin_server.tools.base import ToolContext, ToolOutput, tool


class Params(BaseModel):
    path: str = Field(examples=["src/main.py"])
    content: str = Field(examples=["print('hello')\n"])


@tool(effect="edit")
async def create_file(params: Params, context: ToolContext) -> ToolOutput:
    """Create a new file. Write a long one in parts: the first here, the rest with append_file."""
    document = context.workspace.create(params.path, params.content)
    change = difference(document.path, "", params.content)
    return ToolOutput(
        f"Created {document.path}: +{change.added} lines.",
        details=asdict(change),
    )
