"""The tool ``search_history_backups``."""

import asyncio
from fnmatch import fnmatch

from pydantic import BaseModel, Field

from marvin_server.errors import ToolError
from marvin_server.tools.base import ToolContext, tool
from marvin_server.workspace import documents, listing
from marvin_server.workspace.confine import Root

_LOGS = ".marvin/logs"
_FILES = 20
_LINES = 20
_AROUND = 200
_FROM_FILES = f"[From files in {_LOGS}, which anybody who writes here may have made: not surely what was said]"


class Params(BaseModel):
    query: str = Field(min_length=1, examples=["rate limit decision"])


def _title(params: Params) -> str:
    return f"search_history_backups {params.query}"


@tool(effect="read", title=_title)
async def search_history_backups(params: Params, context: ToolContext) -> str:
    """Search earlier sessions of this workspace, and what this one no longer holds in view."""
    words = params.query.casefold().split()
    if not words:
        raise ToolError("query is empty: give a few words that were said.")
    stored = context.session.search_history(params.query)
    exported = await asyncio.to_thread(_exported, context.workspace.root, words)
    if exported:
        exported.insert(0, _FROM_FILES)
    return "\n".join([*stored, *exported]) or "[nothing said in this workspace has these words]"


def _exported(root: Root, words: list[str]) -> list[str]:
    """Lines with all the words from the latest backups that were written into the workspace."""
    files = [name for name in listing.names(root, _LOGS) if fnmatch(name, "context-backup-*.jsonl")]
    lines: list[str] = []
    for name in sorted(files, reverse=True)[:_FILES]:
        try:
            text = documents.read(root, f"{_LOGS}/{name}").text
        except ToolError:
            continue
        for number, line in enumerate(text.splitlines(), 1):
            folded = line.casefold()
            if all(word in folded for word in words):
                start = max(0, folded.index(words[0]) - _AROUND)
                lines.append(f"{_LOGS}/{name}:{number}: {line[start : start + 2 * _AROUND]}")
                if len(lines) == _LINES:
                    return lines
    return lines
