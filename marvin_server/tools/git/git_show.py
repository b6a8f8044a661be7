"""The tool ``git_show``."""

from pydantic import BaseModel, Field

from marvin_server.tools.base import ToolContext, tool
from marvin_server.tools.git._repository import repository
from marvin_server.workspace import git


class Params(BaseModel):
    revision: str = Field("HEAD", examples=["HEAD~1"])
    path: str | None = Field(None, examples=["src"])
    summary: bool = Field(False, description="only count lines")


@tool(effect="read")
async def git_show(params: Params, context: ToolContext) -> str:
    """One commit: its message and its changes."""
    path = None if params.path is None else context.workspace.locate(params.path)
    return await git.show(await repository(context), params.revision, path=path, summary=params.summary)
