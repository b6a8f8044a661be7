"""Files beneath ``.marvin/`` of the workspace that outlive a summary: what it replaced, and where to look in it.

``.marvin/logs/context-backup-TIME.jsonl`` has a message a line, as it is stored; ``.marvin/memories/INDEX.md`` has a
section for each of them, and ``.marvin/memories/dump-NAME.txt`` what read_file had no room for. They are for the person
alone, and the two folders keep themselves out of commits.
"""

import asyncio
import json
import logging
import posixpath
import re
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from marvin_server.errors import MarvinError, ToolError
from marvin_server.events import Compacted
from marvin_server.messages import Message, Part, ToolCall, ToolResult

if TYPE_CHECKING:
    from marvin_server.workspace.documents import Document
    from marvin_server.workspace.workspace import Workspace

_LOGS, _MEMORIES = ".marvin/logs", ".marvin/memories"
INDEX = f"{_MEMORIES}/INDEX.md"
_HEADING = "# What was said before, and where it is kept\n\n"
_MOST_SECTIONS = 50
_LONGEST_INDEX = 1_000_000  # characters
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
        if not gone:
            return
        from marvin_server.session import memory_index, transcript

        at = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        path = f"{_LOGS}/context-backup-{at}-{compaction.id[-6:]}.jsonl"
        gone = self._without_protected(gone)

        def lines(_: str) -> str:
            return self._redact("".join(f"{transcript.encode(message)}\n" for message in gone))

        def index(old: str) -> str:
            return _extended(old, self._redact(memory_index.section(path, at, gone)))

        if await self._write(path, lines):
            await self._write(INDEX, index)

    async def dump(self, name: str, text: str) -> str | None:
        """Keep ``text``, which the file ``name`` has, and give the path; None where that cannot be."""
        path = f"{_MEMORIES}/dump-{re.sub(r'[^A-Za-z0-9._-]', '_', name)[:80]}.txt"
        is_kept = not self._is_protected(name) and await self._write(path, lambda _: self._redact(text))
        return path if is_kept else None

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
        """Make the file of what it holds now, once its folder keeps it out of the person's commits; False where that
        is not done."""
        ignoring = f"{posixpath.dirname(path)}/.gitignore"
        try:
            if not self._allowed():
                return False
            old, ignored = self._read(path), self._read(ignoring)
            if ignored is None:
                await self._put(ignoring, None, "*\n")
            elif "*" not in ignored.text.splitlines():
                raise ToolError(f"git would take it into commits: give {ignoring} a line that is *")
            await self._put(path, old, await asyncio.to_thread(text, old.text if old else ""))
        except (MarvinError, OSError) as error:
            logging.getLogger("marvin.session").warning("%s is not written: %s", path, error)
            return False
        return True

    def _read(self, path: str) -> "Document | None":
        """The file at ``path``, None where there is none yet. Raises ToolError where a link leads from it to another
        file: a repository that is not trusted may have brought that."""
        workspace = self._workspace
        if workspace.root.place_of_any(path) != path:
            raise ToolError("a symbolic link leads to another place")
        named = str(workspace.root.path / path)
        return workspace.read(named) if workspace.exists(named) else None

    async def _put(self, path: str, old: "Document | None", text: str) -> None:
        from marvin_server.workspace.changes import Change

        self._workspace.root.make_directory(posixpath.dirname(path), 0o700)
        await self._workspace.change("Marvin: backup", [Change(path, old, text, private=True)])


def _path(call: ToolCall) -> str | None:
    """The file that a call names in its arguments."""
    try:
        given: Any = json.loads(call.arguments)
    except (ValueError, RecursionError):
        return None
    path: Any = given.get("path") if isinstance(given, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return path if isinstance(path, str) else None


def _extended(index: str, section: str) -> str:
    """``index`` with one more section; the oldest of those that name a backup goes where there are too many. Raises
    ToolError for one that is too long to be ours."""
    if len(index) > _LONGEST_INDEX:
        raise ToolError(f"it has {len(index):,} characters, and {_LONGEST_INDEX:,} at most are added to: move it away")
    before = f"{index.rstrip()}\n\n" if index.strip() else _HEADING
    heading, *sections = re.split(r"^(?=## )", before, flags=re.MULTILINE)
    sections.append(section)
    ours = [number for number, one in enumerate(sections) if _OURS.match(one)]
    gone = set(ours[:-_MOST_SECTIONS])
    return "".join([heading, *(one for number, one in enumerate(sections) if number not in gone)])
