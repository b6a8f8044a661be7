"""The tool ``git_branch``."""

from typing import Literal

from pydantic import BaseModel, Field

from marvin_server.errors import ToolError
from marvin_server.tools.base import Preview, ToolContext, tool
from marvin_server.tools.git._repository import repository
from marvin_server.workspace import git_branches
from marvin_server.workspace.git_preview import of_deletion


class Params(BaseModel):
    action: Literal["create", "rename", "delete"] = Field(examples=["create"])
    name: str = Field(examples=["feature"])
    new_name: str | None = None
    revision: str | None = Field(None, description="for create: where it begins, else HEAD")


def _title(params: Params) -> str:
    return " ".join(["git_branch", params.action, params.name, *filter(None, [params.new_name])])


async def _preview(params: Params, context: ToolContext) -> Preview | None:
    if params.action != "delete":
        return None
    foreseen = await of_deletion(await repository(context), params.name)
    return Preview(foreseen.text, foreseen.state, foreseen.is_whole)


@tool(effect="edit", title=_title, preview=_preview)
async def git_branch(params: Params, context: ToolContext) -> str:
    """Create, rename or delete a branch. Only a merged one is deleted."""
    where = await repository(context)
    if params.action == "create":
        return await git_branches.create(where, params.name, params.revision)
    if params.action == "delete":
        return await git_branches.delete(where, params.name)
    if params.new_name is None:
        raise ToolError("Give new_name to rename a branch.")
    return await git_branches.rename(where, params.name, params.new_name)
