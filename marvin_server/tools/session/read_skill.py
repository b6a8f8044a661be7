"""The tool ``read_skill``."""

from pydantic import BaseModel, Field

from marvin_server.tools.base import ToolContext, tool


class Params(BaseModel):
    name: str = Field(examples=["review-changes"])
    file: str | None = None


def _title(params: Params) -> str:
    return f"read_skill {params.name}" + (f" {params.file}" if params.file else "")


@tool(effect="read", title=_title)
async def read_skill(params: Params, context: ToolContext) -> str:
    """Read a skill: how one kind of work is done well."""
    return context.session.skill(params.name, params.file)
