"""The tool ``compact_history``."""

from pydantic import BaseModel, Field

from marvin_server.tools.base import ToolContext, tool


class Params(BaseModel):
    focus: str = Field("", examples=["the failing test"])


@tool(effect="read")
async def compact_history(params: Params, context: ToolContext) -> str:
    """Free space: a summary takes the place of older messages. Say what to keep in view."""
    return context.session.compact(params.focus)
