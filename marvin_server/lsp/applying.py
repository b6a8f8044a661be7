"""One edit on its way into the editor: sent, and waited for until the documents show it."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, cast

from marvin_server.edits.merge import Conflict, merge
from marvin_server.errors import ToolError
from marvin_server.lsp.client import Client
from marvin_server.lsp.document import Document
from marvin_server.lsp.documents import Documents
from marvin_server.lsp.refusals import Refusal
from marvin_server.lsp.text_edits import text_edits
from marvin_server.workspace.names import printable

Ask = Callable[[str, Any, float], Awaitable[Any]]

_SECONDS = 2.0
# Neovim tells 150 ms later what was typed, and of an edit that it has skipped that it was applied.
_SETTLES_IN = 0.25
# Eglot tells after 500 ms.
_REFUSED_IN = 0.75
# A person may be asked by the editor; what they say after that is of no interest.
_ANSWER_SECONDS = 60.0


class Change:
    """What was made for the text ``old`` of a document, and is to become part of what it shows. ``is_made`` says that
    this has happened."""

    def __init__(self, document: Document, old: str, new: str) -> None:
        self.document = document
        self.old = old
        self.new = new
        self.before = self.target = old
        self.version = document.version
        self.is_made = False

    def plan(self) -> bool:
        """Find out what the document is to show, and give whether it does not yet.

        Raises ToolError where it was closed, or the person has changed the same lines.
        """
        shown = self.document.text
        if self.is_made:
            return False
        if shown is None:
            raise ToolError(f"'{printable(self.document.path or '')}' was closed in the editor. Read it again.")
        self.before, self.version = shown, self.document.version
        if shown == self.old:
            self.target = self.new
        else:
            merged = merge(self.old, shown, self.new)
            if merged.conflicts:
                raise ToolError(
                    f"The person has changed the same lines of '{printable(self.document.path or '')}' meanwhile: "
                    f"{_lines(merged.conflicts)}. Read the file again."
                )
            self.target = merged.text
        self.is_made = self.target == shown
        return not self.is_made

    def see(self) -> None:
        """Look at the document once more."""
        if not self.is_made and self.document.shows(self.target):
            self.is_made = True
            self.document.edited(self.before)

    @property
    def is_missed(self) -> bool:
        """Whether the document has come to show something else."""
        return not self.is_made and not self.document.shows(self.before)


class Applying:
    """Sends edits to one client. ``may_repeat`` says whether the last one could be sent again without harm: a client
    that knows no versions may still be about to make it."""

    def __init__(self, documents: Documents, ask: Ask, client: Client) -> None:
        self.may_repeat = True
        self._documents = documents
        self._ask = ask
        self._is_versioned = client.can("workspace", "workspaceEdit", "documentChanges")
        self._answers: set[asyncio.Task[str | None]] = set()

    async def run(self, label: str, changes: Sequence[Change]) -> bool:
        """Send ``changes``, which are planned, as one edit, and say whether all documents have shown them in time.

        Raises ToolError where the client has refused them and nothing was typed that would explain it.
        """
        news = asyncio.Event()

        def look(document: Document) -> None:
            for change in changes:
                if change.document is document:
                    change.see()
            news.set()

        answer = asyncio.create_task(self._answer(label, changes))
        self._answers.add(answer)
        answer.add_done_callback(self._answers.discard)
        answer.add_done_callback(lambda _: news.set())
        self._documents.watchers.append(look)
        try:
            await self._wait(changes, answer, news)
        finally:
            self._documents.watchers.remove(look)
        is_silent = not any(change.is_missed for change in changes)
        self.may_repeat = self._is_versioned or not is_silent
        return all(change.is_made for change in changes)

    async def _wait(self, changes: Sequence[Change], answer: "asyncio.Task[str | None]", news: asyncio.Event) -> None:
        """Return when all are made, or will not be."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + _SECONDS
        is_refused = False
        while not all(change.is_made for change in changes):
            left = [change for change in changes if not change.is_made]
            is_missed = all(change.is_missed for change in left)
            if answer.done():
                reason = answer.result()
                if reason is not None and is_missed:
                    return
                if reason is not None and not is_refused:
                    is_refused = True
                    deadline = min(deadline, loop.time() + _REFUSED_IN)
                elif is_missed:
                    deadline = min(deadline, loop.time() + _SETTLES_IN)
            try:
                async with asyncio.timeout_at(deadline):
                    await news.wait()
            except TimeoutError:
                if is_refused and not any(change.is_missed for change in left):
                    raise ToolError(f"The editor has refused the edit: {answer.result()}") from None
                return
            news.clear()

    async def _answer(self, label: str, changes: Sequence[Change]) -> str | None:
        """Why the client refuses the edit, None when it does not, or never says."""
        edits = {change: text_edits(change.before, change.target, self._documents.encoding) for change in changes}
        if self._is_versioned:
            listed = [
                {"textDocument": {"uri": change.document.uri, "version": change.version}, "edits": edits[change]}
                for change in changes
            ]
            edit: dict[str, Any] = {"documentChanges": listed}
        else:
            edit = {"changes": {change.document.uri: edits[change] for change in changes}}
        try:
            result = await self._ask("workspace/applyEdit", {"label": label, "edit": edit}, _ANSWER_SECONDS)
        except TimeoutError:
            return None
        except Refusal as refused:
            return str(refused)
        said = cast("dict[str, Any]", result) if isinstance(result, dict) else {}
        return None if said.get("applied") is True else str(said.get("failureReason") or "it does not say why")


def _lines(conflicts: Sequence[Conflict]) -> str:
    """``line 3, lines 7-9``, as they are in the editor."""
    named: list[str] = []
    for conflict in conflicts:
        last = conflict.line + len(conflict.ours) - 1
        named.append(f"lines {conflict.line}-{last}" if last > conflict.line else f"line {conflict.line}")
    return ", ".join(named)
