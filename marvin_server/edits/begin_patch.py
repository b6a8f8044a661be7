"""The format between ``*** Begin Patch`` and ``*** End Patch``, as models of several vendors are trained to write it.

A file's section is ``*** Add File: PATH`` and lines that begin with ``+``; ``*** Delete File: PATH``; or
``*** Update File: PATH``, perhaps ``*** Move to: PATH``, and hunks. A hunk begins with ``@@``, or one or more
``@@ LINE`` to skip to, and may end with ``*** End of File``; the first ``@@`` of a file may be missing.
SEARCH/REPLACE blocks may stand in the place of hunks.
"""

import re
from collections.abc import Sequence

from marvin_server.edits.patch import Add, Delete, Operation, Patch, Piece, Unreadable, Update
from marvin_server.edits.search_replace import begins_block, block
from marvin_server.edits.unified_patch import hunk_start

BEGIN, END = "*** Begin Patch", "*** End Patch"
_END_OF_FILE = "*** End of File"
_SECTION = re.compile(r"\*\*\* (?P<kind>Add|Delete|Update) File:(?P<path>.*)")
_MOVE = re.compile(r"\*\*\* Move to:(?P<path>.*)")


def parse(lines: Sequence[str]) -> Patch:
    """The patch that ``lines``, without line ends, hold from the first to the last. Raises ``Unreadable``."""
    if not lines or lines[0].strip() != BEGIN:
        raise Unreadable(f"it must begin with the line '{BEGIN}'.", 1)
    if lines[-1].strip() != END:
        raise Unreadable(f"its last line must be '{END}'; it may have been cut off.", len(lines))
    reading = _Reading(lines[:-1])
    operations: list[Operation] = []
    while reading.skip_blank():
        operations += reading.section()
    if not operations:
        raise Unreadable("it names no file.")
    return Patch(tuple(operations))


class _Reading:
    """Where reading the lines of one patch has come to."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._next = 1

    def skip_blank(self) -> bool:
        """Whether there are more lines, after blank ones."""
        while self._next < len(self._lines) and not self._lines[self._next].strip():
            self._next += 1
        return self._next < len(self._lines)

    def section(self) -> list[Operation]:
        """The operations of the section that begins here."""
        match = _SECTION.fullmatch(self._line().strip())
        path = match["path"].strip() if match else ""
        if not match or not path:
            raise self._unexpected("'*** Add File: PATH', '*** Delete File: PATH' or '*** Update File: PATH'")
        self._next += 1
        match match["kind"]:
            case "Add":
                return [self._added(path)]
            case "Delete":
                return [Delete(path)]
            case _:
                return self._updated(path)

    def _added(self, path: str) -> Add:
        content: list[str] = []
        if self._more() and begins_block(self._line()):
            found, self._next = block(self._lines, self._next)
            if found.old:
                raise Unreadable(f"the block that adds '{path}' must have nothing in its SEARCH part.", self._next)
            return Add(path, "".join(f"{line}\n" for line in found.new))
        marked = 0
        while self._more() and not _SECTION.fullmatch(self._line().strip()):
            line = self._line()
            if line.strip() and not line.startswith("+"):
                raise self._unexpected("lines of the new file, which begin with '+',")
            content.append(line[1:])
            marked = len(content) if line.startswith("+") else marked
            self._next += 1
        return Add(path, "".join(f"{line}\n" for line in content[:marked]))

    def _updated(self, path: str) -> list[Operation]:
        move_to: str | None = None
        if self.skip_blank() and (match := _MOVE.fullmatch(self._line().strip())):
            move_to = match["path"].strip()
            if not move_to:
                raise self._unexpected("'*** Move to: PATH'")
            self._next += 1
        hunks: list[Piece] = []
        blocks: list[Piece] = []
        while self.skip_blank() and self._more():
            if begins_block(self._line()):
                found, self._next = block(self._lines, self._next)
                blocks.append(found.piece(self._next))
            else:
                hunks.append(self._hunk(is_first=not hunks))
        if not hunks and not blocks and not move_to:
            raise Unreadable(f"the update of '{path}' has no hunks.", self._next)
        operations: list[Operation] = []
        if hunks or not blocks:
            operations.append(Update(path, tuple(hunks), move_to))
        if blocks:
            operations.append(Update(path, tuple(blocks), move_to, in_order=False))
        return operations

    def _hunk(self, *, is_first: bool) -> Piece:
        contexts: list[str] = []
        at: int | None = None
        began = self._next
        while self._more() and (head := self._line()).startswith("@@"):
            if (number := hunk_start(head)) is not None:
                at = number
            elif context := head[2:].removeprefix(" ").rstrip():
                contexts.append(context)
            self._next += 1
        if self._next == began and not is_first:
            raise self._unexpected("a hunk, which begins with '@@',")
        body: list[str] = []
        at_end = False
        while self._more():
            line = self._line()
            if line.strip() == _END_OF_FILE:
                at_end = True
                self._next += 1
                break
            if line[:1] not in {"", " ", "+", "-"}:
                if line.startswith("@@") or begins_block(line):
                    break
                raise self._unexpected("lines that begin with ' ' (stays), '-' (goes) or '+' (comes)")
            body.append(line or " ")
            self._next += 1
        if not body:
            raise Unreadable("a hunk has no lines.", self._next)
        return Piece(tuple(body), tuple(contexts), at, at_end)

    def _more(self) -> bool:
        """Whether the section goes on here."""
        return self._next < len(self._lines) and not _SECTION.fullmatch(self._line())

    def _line(self) -> str:
        return self._lines[self._next]

    def _unexpected(self, wanted: str) -> Unreadable:
        return Unreadable(f"{wanted} must stand here, not {self._line()[:80]!r}.", self._next + 1)
