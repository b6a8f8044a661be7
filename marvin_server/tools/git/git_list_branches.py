"""The tool ``git_list_branches``."""

from pydantic import BaseModel

from marvin_server.tools.base import ToolContext, tool
from marvin_server.tools.git._repository import repository
from marvin_server.workspace.git_branches import listing


class Params(BaseModel):
    pass


@tool(effect="read")
async def git_list_branches(params: Params, context: ToolContext) -> str:
    """The branches, and which is checked out."""
    return await listing(await repository(context))
