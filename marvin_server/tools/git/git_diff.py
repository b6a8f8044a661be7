"""The tool ``git_diff``."""

from pydantic import BaseModel, Field

from marvin_server.tools.base import ToolContext, tool
from marvin_server.tools.git._repository import repository
from marvin_server.workspace import git


class Params(BaseModel):
    staged: bool = False
    path: str | None = Field(None, examples=["src"])
    revision: str | None = Field(None, examples=["HEAD~1"], description="compare with this, or a range")
    summary: bool = Field(False, description="only count lines")


@tool(effect="read")
async def git_diff(params: Params, context: ToolContext) -> str:
    """Changes that are not staged, or staged, or since a revision."""
    path = None if params.path is None else context.workspace.locate(params.path)
    found = await git.diff(
        await repository(context), staged=params.staged, path=path, revision=params.revision, summary=params.summary
    )
    return found or "[no changes]"
