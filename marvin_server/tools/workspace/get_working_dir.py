"""The tool ``get_working_dir``."""

from pydantic import BaseModel

from marvin_server.tools.base import ToolContext, tool


class Params(BaseModel):
    pass


@tool(effect="read")
async def get_working_dir(params: Params, context: ToolContext) -> str:
    """The workspace's root and the directory where relative paths begin."""
    return f"Root: {context.workspace.root.path}\nWorking directory, relative to it: {context.workspace.working_dir}"
