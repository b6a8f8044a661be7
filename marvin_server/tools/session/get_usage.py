"""The tool ``get_usage``."""

from pydantic import BaseModel

from marvin_server.tools.base import ToolContext, tool


class Params(BaseModel):
    pass


@tool(effect="read")
async def get_usage(params: Params, context: ToolContext) -> str:
    """Tokens and money used in this session and in all, by model."""
    return context.session.usage()
