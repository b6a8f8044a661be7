"""The tool ``git_checkout``."""

from pydantic import BaseModel, Field

from marvin_server.errors import ToolError
from marvin_server.tools.base import ToolContext, ToolOutput, tool
from marvin_server.tools.git._repository import repository
from marvin_server.workspace import git_checkout as checkouts


class Params(BaseModel):
    branch: str | None = Field(None, examples=["feature"])
    create: bool = Field(False, description="make the branch, at revision or HEAD")
    paths: list[str] = Field([], description="restore these files instead")
    revision: str | None = Field(None, description="restore from here, not the index; without branch and paths: detach")


def _title(params: Params) -> str:
    words = [params.branch, *params.paths, params.revision and f"from {params.revision}"]
    return " ".join(["git_checkout", *filter(None, words)])


@tool(effect="edit", title=_title)
async def git_checkout(params: Params, context: ToolContext) -> ToolOutput:
    """Switch to a branch, or give up the changes of files. A switch overwrites no local change."""
    if params.paths and (params.branch is not None or params.create):
        raise ToolError("Give a branch to switch to, or paths to restore, not both.")
    paths = [context.workspace.locate(path) for path in params.paths]
    where = await repository(context)
    if paths:
        done = await checkouts.restore(where, paths, params.revision)
    elif params.branch is not None and params.create:
        done = await checkouts.create(where, params.branch, params.revision)
    elif params.branch is not None and params.revision is None:
        done = await checkouts.switch(where, params.branch)
    elif params.branch is None and params.revision is not None and not params.create:
        done = await checkouts.detach(where, params.revision)
    else:
        raise ToolError("Give a branch (with create, revision may say where it begins), paths, or only a revision.")
    return ToolOutput(done.text, details={"paths": list(done.paths)})
