"""What is to become of one open document, and what has become of it on the way."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from marvin_server.edits.lines import alike
from marvin_server.edits.merge import Conflict, merge
from marvin_server.errors import ToolError
from marvin_server.lsp.document import Document
from marvin_server.lsp.text_edits import text_edits
from marvin_server.workspace.documents import SMALL
from marvin_server.workspace.names import printable

T = TypeVar("T")
# An edit that the editor says it has made is told by then: by Neovim after 150 ms, by Eglot after 500 ms.
_TOLD_IN = 1.0


class Change:
    """What was made for the text ``old`` of a document, and is to become part of what it shows.

    ``target`` is the text that it is to show after ``edits`` of ``before``, its text at ``version``; ``shown`` is that
    as the editor has it, None until then: some keep line ends, and the last of them, apart from the text.
    """

    def __init__(self, document: Document, old: str, new: str) -> None:
        self.document = document
        self.before: str = old
        self.target: str = old
        self.version = document.version
        self.edits: list[dict[str, Any]] = []
        self.shown: str | None = None
        self._old = old
        self._new = new
        self._sendings: list[Sending] = []

    @property
    def is_made(self) -> bool:
        """Whether the document has shown it."""
        return self.shown is not None

    @property
    def is_missed(self) -> bool:
        """Whether the document has come to show something else."""
        return not self.is_made and not self.document.shows(self.before)

    @property
    def is_expected(self) -> bool:
        """Whether it may still be made: the editor has not answered yet, or has said that it was, a moment ago."""
        return not self.is_made and any(sending.is_open for sending in self._sendings)

    @property
    def may_be_there(self) -> bool:
        """Whether it was sent, and not refused."""
        return any(not sending.is_refused for sending in self._sendings)

    async def plan(self, encoding: str) -> bool:
        """Find out what the document is to show, and give whether it does not yet.

        Raises ToolError where it was closed, or the same lines have changed.
        """
        if self.is_made:
            return False
        before, version = self.document.text, self.document.version
        if before is None:
            raise ToolError(f"{self.name} was closed in the editor. Read it again.")
        if self.may_be_there and before != self.before and alike(before, self.target):
            self._came_to_show(before)
            return False
        target = await _apart(len(before), lambda: self._merged(before))
        if target == before:
            self.shown = self.target
            return False
        self.edits = await _apart(len(before), lambda: text_edits(before, target, encoding))
        self.before, self.version, self.target = before, version, target
        return True

    def sent(self, sending: "Sending") -> None:
        """It is on its way."""
        self._sendings.append(sending)

    def see(self) -> None:
        """Look whether the document shows exactly what it is to show."""
        if not self.is_made and self.document.shows(self.target):
            self._came_to_show(self.target)

    def see_alike(self) -> None:
        """Look whether it shows that as its editor can, after all that was told at once."""
        text = self.document.text
        if self.is_missed and text is not None and alike(text, self.target):
            self._came_to_show(text)

    async def reversed(self) -> "Change | None":
        """What takes it out of the document again; None when it is not there. Raises ToolError where that cannot be
        told, since its lines have changed once more.
        """
        text = self.document.text
        if text is None or not (self.is_made or self.may_be_there):
            return None
        back = Change(self.document, self.target if self.shown is None else self.shown, self.before)
        if text == self.before or not await _apart(len(text), lambda: back._merged(text) != text):
            return None
        return back

    @property
    def name(self) -> str:
        """What it is called in messages."""
        return f"'{printable(self.document.path or self.document.uri)}'"

    def _came_to_show(self, text: str) -> None:
        self.shown = text
        self.document.edited(self.before)

    def _merged(self, shown: str) -> str:
        """``shown`` with the change in it. Raises ToolError for the same lines."""
        if shown == self._old:
            return self._new
        merged = merge(self._old, shown, self._new)
        if merged.conflicts:
            who = "The person, or the editor," if self.may_be_there else "The person"
            raise ToolError(
                f"{who} has changed the same lines of {self.name} meanwhile: {_lines(merged.conflicts)}. "
                "Read the file again."
            )
        return merged.text


class Sending:
    """An edit that was sent; ``answer`` gives why the editor refuses it, None when it does not, or never says."""

    def __init__(self, answer: "asyncio.Task[str | None]") -> None:
        self.answer = answer
        self._answered_at: float | None = None
        answer.add_done_callback(self._answered)

    @property
    def is_refused(self) -> bool:
        return self.answer.done() and self.answer.result() is not None

    @property
    def is_open(self) -> bool:
        """See ``Change.is_expected``."""
        if self._answered_at is None:
            return True
        return not self.is_refused and self.answer.get_loop().time() < self._answered_at + _TOLD_IN

    def _answered(self, _: object) -> None:
        self._answered_at = self.answer.get_loop().time()


async def _apart(size: int, work: Callable[[], T]) -> T:
    """The result of ``work`` on a text of ``size``: in a thread when that is large."""
    return await asyncio.to_thread(work) if size > SMALL else work()


def _lines(conflicts: Sequence[Conflict]) -> str:
    """``line 3, lines 7-9``, as they are in the editor."""
    named: list[str] = []
    for conflict in conflicts:
        last = conflict.line + len(conflict.ours) - 1
        named.append(f"lines {conflict.line}-{last}" if last > conflict.line else f"line {conflict.line}")
    return ", ".join(named)
