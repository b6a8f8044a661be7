"""The tool ``repo_map``."""

from pydantic import BaseModel, Field

from marvin_server.errors import ToolError
from marvin_server.tools.base import ToolContext, tool


class Params(BaseModel):
    query: str = Field("", examples=["where are sessions saved"])
    paths: list[str] = Field(default_factory=list[str], examples=[["src/app.py"]])
    max_tokens: int = Field(1000, ge=100, le=10_000)


def _title(params: Params) -> str:
    return f"repo_map {params.query or ' '.join(params.paths)}".strip()


@tool(effect="read", title=_title)
async def repo_map(params: Params, context: ToolContext) -> str:
    """List the files that matter most for a question, or for the work on some files, with their main definitions."""
    if context.repo_map is None:
        raise ToolError("There is no map here; use code_grep.")
    focus = [context.workspace.locate(path) for path in params.paths]
    return await context.repo_map().text(params.query, focus, params.max_tokens) or "[no file matters for that]"
