"""The tool ``tree``."""

from pydantic import BaseModel, Field

from marvin_server.tools.base import ToolContext, tool


class Params(BaseModel):
    path: str = Field(".", examples=["src"])
    depth: int = Field(3, ge=1, le=10, examples=[2])


@tool(effect="read")
async def tree(params: Params, context: ToolContext) -> str:
    """List folders and files, without those that git ignores."""
    return await context.workspace.tree(params.path, params.depth)
