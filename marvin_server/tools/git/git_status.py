"""The tool ``git_status``."""

from pydantic import BaseModel

from marvin_server.tools.base import ToolContext, tool
from marvin_server.tools.git._repository import repository
from marvin_server.workspace import git


class Params(BaseModel):
    pass


@tool(effect="read")
async def git_status(params: Params, context: ToolContext) -> str:
    """The branch and the changed files."""
    return await git.status(await repository(context))
