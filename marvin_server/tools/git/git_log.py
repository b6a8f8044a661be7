"""The tool ``git_log``."""

from pydantic import BaseModel, Field

from marvin_server.tools.base import ToolContext, tool
from marvin_server.tools.git._repository import repository
from marvin_server.workspace import git


class Params(BaseModel):
    limit: int = Field(10, ge=1, le=200, examples=[10])
    path: str | None = Field(None, examples=["src/main.py"])
    revision: str | None = Field(None, examples=["main..feature"], description="a branch, commit or range")


@tool(effect="read")
async def git_log(params: Params, context: ToolContext) -> str:
    """The latest commits, newest first."""
    path = None if params.path is None else context.workspace.locate(params.path)
    commits = await git.log(await repository(context), limit=params.limit, path=path, revision=params.revision)
    return commits or "[no commits]"
