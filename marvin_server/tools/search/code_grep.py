"""The tool ``code_grep``."""

from pydantic import BaseModel, Field

from marvin_server.tools.base import ToolContext, tool
from marvin_server.workspace.names import printable
from marvin_server.workspace.search import SearchResult
from marvin_server.workspace.workspace import Workspace

_MATCHES = 200
_CHARACTERS = 30_000


class Params(BaseModel):
    pattern: str = Field(examples=["def main"], description="a regular expression")
    path: str = Field(".", examples=["src"])
    glob: str | None = Field(None, examples=["*.py"], description="only files like this: *.py")
    ignore_case: bool = False
    literal: bool = Field(False, description="pattern is plain text")
    context: int = Field(0, ge=0, le=20, description="lines around each match")


def _title(params: Params) -> str:
    return f"code_grep {params.pattern}" + (f" in {params.path}" if params.path != "." else "")


@tool(effect="read", title=_title)
async def code_grep(params: Params, context: ToolContext) -> str:
    """Search the contents of files, without those that git ignores."""
    found = await context.workspace.search(
        context.processes,
        params.pattern,
        environ=context.environ,
        path=params.path,
        glob=params.glob,
        ignore_case=params.ignore_case,
        literal=params.literal,
        context=params.context,
        limit=_MATCHES,
    )
    return _text(found, context.workspace)


def _text(found: SearchResult, workspace: Workspace) -> str:
    """One line each: ``path:number: text`` for a match, ``path-number- text`` for a line around one."""
    if not found.lines:
        return "[no match]"
    shown: list[str] = []
    room = _CHARACTERS
    for line in found.lines:
        mark = ":" if line.is_match else "-"
        text = f"{printable(workspace.named(line.path))}{mark}{line.number}{mark} {line.text}"
        room -= len(text) + 1
        if room < 0:
            break
        shown.append(text)
    if found.truncated or room < 0:
        shown.append("[there are more matches; narrow the pattern, the path or the glob]")
    return "\n".join(shown)
