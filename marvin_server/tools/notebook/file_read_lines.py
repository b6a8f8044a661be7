"""The tool ``file_read_lines``."""

from pydantic import BaseModel, Field

from marvin_server.errors import ToolError
from marvin_server.tools.base import ToolContext, tool
from marvin_server.tools.notebook._place import notebook, within

_LINES = 500
_CHARACTERS = 50_000


class Params(BaseModel):
    file: str = Field(examples=["ideas.md"], description="relative to ~/Notes")
    start_line: int = Field(1, ge=1)
    end_line: int | None = Field(None, ge=1, examples=[50])


def _title(params: Params) -> str:
    return f"file_read_lines {params.file}"


@tool(effect="read", title=_title)
async def file_read_lines(params: Params, context: ToolContext) -> str:
    """Read lines of a file in ~/Notes, 500 at most, counted from 1."""
    start, last = params.start_line, params.start_line + _LINES - 1
    end = last if params.end_line is None else min(params.end_line, last)
    if end < start:
        raise ToolError(f"end_line {end} is before start_line {start}.")
    with notebook(context) as notes:
        found = await notes.read_lines(within(params.file), start, end)
    if not found.lines:
        raise ToolError(f"File '{params.file}' ends at line {found.total}; start_line {start} is past it.")
    shown: list[str] = []
    room = _CHARACTERS
    for line in found.lines:
        room -= len(line) + 1
        if room < 0:
            break
        shown.append(line)
    total = found.total if found.is_counted else f"at least {found.total}"
    return "\n".join([f"[lines {start}-{start + len(shown) - 1} of {total}]", *shown])
