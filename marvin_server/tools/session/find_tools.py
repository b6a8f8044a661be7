"""The tool ``find_tools``."""

from pydantic import BaseModel, Field

from marvin_server.tools.base import ToolContext, tool


class Params(BaseModel):
    query: str = Field(examples=["weather forecast"])


def _title(params: Params) -> str:
    return f"Find tools for {params.query}"


@tool(effect="read", title=_title)
async def find_tools(params: Params, context: ToolContext) -> str:
    """Switch on more tools: say what you need to do."""
    return context.session.find_tools(params.query)
