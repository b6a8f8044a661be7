"""The tool ``tree``."""

import asyncio

from pydantic import BaseModel, Field

from marvin_server.tools.base import ToolContext, tool
from marvin_server.workspace import documents, listing


class Params(BaseModel):
    path: str = Field(".", examples=["src"])
    depth: int = Field(3, ge=1, le=10, examples=[2])


@tool(effect="read")
async def tree(params: Params, context: ToolContext) -> str:
    """List folders and files, without those that git ignores."""
    workspace = context.workspace
    path = workspace.locate(params.path)
    with documents.explained(workspace.root, path, "listing"):
        return await asyncio.to_thread(listing.tree, workspace.root, path, params.depth)
