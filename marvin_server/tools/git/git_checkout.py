"""The tool ``git_checkout``."""

from pydantic import BaseModel, Field

from marvin_server.errors import ToolError
from marvin_server.tools.base import Preview, ToolContext, ToolOutput, tool
from marvin_server.tools.git._repository import repository
from marvin_server.workspace import git_checkout as checkouts
from marvin_server.workspace.git_preview import of_restore, of_switch


class Params(BaseModel):
    branch: str | None = Field(None, examples=["feature"])
    create: bool = Field(False, description="make the branch, at revision or HEAD")
    paths: list[str] = Field([], description="restore these files instead")
    revision: str | None = Field(None, description="restore from here, not the index; without branch and paths: detach")


def _title(params: Params) -> str:
    words = [params.branch, *params.paths, params.revision and f"from {params.revision}"]
    return " ".join(["git_checkout", *filter(None, words)])


async def _preview(params: Params, context: ToolContext) -> Preview:
    paths = _checked(params, context)
    where = await repository(context)
    if paths:
        foreseen = await of_restore(where, paths, params.revision)
    else:
        foreseen = await of_switch(where, params.branch, params.create, params.revision)
    return Preview(foreseen.text, foreseen.state, foreseen.is_whole)


@tool(effect="edit", title=_title, preview=_preview)
async def git_checkout(params: Params, context: ToolContext) -> ToolOutput:
    """Switch to a branch, or give up the changes of files. A switch overwrites no local change."""
    paths = _checked(params, context)
    where = await repository(context)
    if paths:
        done = await checkouts.restore(where, paths, params.revision)
    elif params.branch is None:
        done = await checkouts.detach(where, params.revision or "")
    elif params.create:
        done = await checkouts.create(where, params.branch, params.revision)
    else:
        done = await checkouts.switch(where, params.branch)
    return ToolOutput(done.text, details={"paths": list(done.paths)})


def _checked(params: Params, context: ToolContext) -> list[str]:
    """The paths to restore, none when it is a switch. Raises ToolError for arguments that do not go together."""
    if params.paths and (params.branch is not None or params.create):
        raise ToolError("Give a branch to switch to, or paths to restore, not both.")
    is_switch = params.branch is not None and (params.create or params.revision is None)
    is_detaching = params.branch is None and params.revision is not None and not params.create
    if not (params.paths or is_switch or is_detaching):
        raise ToolError("Give a branch (with create, revision may say where it begins), paths, or only a revision.")
    return [context.workspace.locate(path) for path in params.paths]
