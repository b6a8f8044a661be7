"""Files beneath ``.marvin/`` of the workspace that outlive a summary: what it replaced, and where to look in it.

``.marvin/logs/context-backup-TIME.jsonl`` has a message a line, as it is stored; ``.marvin/memories/INDEX.md`` has a
section for each of them, and ``.marvin/memories/dump-NAME.txt`` what read_file had no room for.
"""

import json
import logging
import posixpath
import re
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from marvin_server.errors import MarvinError
from marvin_server.events import Compacted
from marvin_server.messages import Message, Part, ToolCall, ToolResult

if TYPE_CHECKING:
    from marvin_server.workspace.workspace import Workspace

_LOGS, _MEMORIES = ".marvin/logs", ".marvin/memories"
INDEX = f"{_MEMORIES}/INDEX.md"
_HEADING = "# What was said before, and where it is kept\n\n"
_MOST_SECTIONS = 50
_OURS = re.compile(rf"## \d{{8}}T\d{{6}}Z: {re.escape(_LOGS)}/")


class Backups:
    """Those of one session in ``workspace``, with the secrets that ``redact`` knows blotted out. Nothing is written
    where it is not ``allowed``, nor of files that may be read only after a question, whose texts may not lie where they
    need none. No failure is more than a line in the log: the store has everything."""

    def __init__(self, workspace: "Workspace", redact: Callable[[str], str], allowed: Callable[[], bool]) -> None:
        self._workspace = workspace
        self._redact = redact
        self._allowed = allowed

    async def keep(self, gone: Sequence[Message], compaction: Compacted) -> None:
        """Write the messages that ``compaction`` has taken out of view, and a section about them into the index."""
        if not self._allowed() or not gone:
            return
        from marvin_server.session import memory_index, transcript

        at = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        path = f"{_LOGS}/context-backup-{at}-{compaction.id[-6:]}.jsonl"
        gone = self._without_protected(gone)
        lines = self._redact("".join(f"{transcript.encode(message)}\n" for message in gone))
        section = self._redact(memory_index.section(path, at, gone))
        if await self._write(path, lambda _: lines):
            await self._write(INDEX, lambda old: _extended(old, section))

    async def dump(self, name: str, text: str) -> str | None:
        """Keep ``text``, which the file ``name`` has, and give the path; None where that cannot be."""
        path = f"{_MEMORIES}/dump-{re.sub(r'[^A-Za-z0-9._-]', '_', name)[:80]}.txt"
        if not self._allowed() or self._is_protected(name):
            return None
        return path if await self._write(path, lambda _: self._redact(text)) else None

    def _without_protected(self, messages: Sequence[Message]) -> list[Message]:
        paths = {call.id: _path(call) for message in messages for call in message.tool_calls}
        protected = {call_id: path for call_id, path in paths.items() if path and self._is_protected(path)}

        def shown(part: Part) -> Part:
            if not isinstance(part, ToolResult) or part.call_id not in protected:
                return part
            return replace(part, text=f"[left out: {protected[part.call_id]} is read only after a question]")

        return [replace(message, parts=tuple(map(shown, message.parts))) for message in messages]

    def _is_protected(self, path: str) -> bool:
        named = (posixpath.normpath(path), posixpath.basename(path))
        return any(self._workspace.root.protection(name, writing=False) for name in named)

    async def _write(self, path: str, text: Callable[[str], str]) -> bool:
        """Make the file of what it holds now, and keep ``.marvin/`` out of the person's commits."""
        from marvin_server.workspace.changes import Change

        workspace = self._workspace
        named = str(workspace.root.path / path)
        try:
            old = workspace.read(named) if workspace.exists(named) else None
            await workspace.change("Marvin: backup", [Change(path, old, text(old.text if old else ""))])
        except (MarvinError, OSError) as error:
            logging.getLogger("marvin.session").warning("%s is not written: %s", path, error)
            return False
        with suppress(MarvinError):
            await workspace.change("Marvin: .gitignore", [Change(".marvin/.gitignore", None, "*\n")])
        return True


def _path(call: ToolCall) -> str | None:
    """The file that a call names in its arguments."""
    try:
        given: Any = json.loads(call.arguments)
    except (ValueError, RecursionError):
        return None
    path: Any = given.get("path") if isinstance(given, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return path if isinstance(path, str) else None


def _extended(index: str, section: str) -> str:
    """``index`` with one more section; the oldest of those that name a backup goes where there are too many."""
    before = f"{index.rstrip()}\n\n" if index.strip() else _HEADING
    heading, *sections = re.split(r"^(?=## )", before, flags=re.MULTILINE)
    sections.append(section)
    ours = [number for number, one in enumerate(sections) if _OURS.match(one)]
    gone = set(ours[:-_MOST_SECTIONS])
    return "".join([heading, *(one for number, one in enumerate(sections) if number not in gone)])
