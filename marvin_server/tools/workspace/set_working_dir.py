"""The tool ``set_working_dir``."""

from pydantic import BaseModel, Field

from marvin_server.tools.base import ToolContext, tool


class Params(BaseModel):
    path: str = Field(examples=["src"])


@tool(effect="read")
async def set_working_dir(params: Params, context: ToolContext) -> str:
    """Let relative paths and commands begin in this directory."""
    context.workspace.set_working_dir(params.path)
    return f"Relative paths now begin in {context.workspace.working_dir} (root: {context.workspace.root.path})."
