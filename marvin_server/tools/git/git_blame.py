"""The tool ``git_blame``."""

from pydantic import BaseModel, Field

from marvin_server.errors import ToolError
from marvin_server.tools.base import ToolContext, tool
from marvin_server.tools.git._repository import repository
from marvin_server.workspace.git_blame import MOST_LINES, blame

_CHARACTERS = 50_000


class Params(BaseModel):
    path: str = Field(examples=["src/main.py"])
    start_line: int = Field(1, ge=1, examples=[1])
    end_line: int | None = Field(None, ge=1, examples=[50])
    revision: str | None = Field(None, examples=["HEAD~1"], description="the file as it was then")


@tool(effect="read")
async def git_blame(params: Params, context: ToolContext) -> str:
    """Which commit, date and author each line of a file comes from."""
    start, end = params.start_line, params.end_line
    if end is not None and end < start:
        raise ToolError(f"end_line {end} is before start_line {start}.")
    path = context.workspace.locate(params.path)
    lines = await blame(await repository(context), path, start=start, end=end, revision=params.revision)
    shown: list[str] = []
    room = _CHARACTERS
    for line in lines:
        text = f"{line.commit} {line.date} {line.author} {line.number}: {line.text}"
        room -= len(text) + 1
        if room < 0:
            break
        shown.append(text)
    if len(shown) < len(lines) or (len(lines) == MOST_LINES and (end is None or end >= start + MOST_LINES)):
        shown.append(f"[cut here; go on with start_line {start + len(shown)}]")
    return "\n".join(shown) or "[the file is empty]"
