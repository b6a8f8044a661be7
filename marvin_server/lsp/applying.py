"""Edits on their way into the editor: sent, and waited for until the documents show them."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, cast

from marvin_server.errors import ToolError
from marvin_server.lsp.change import Change, Sending
from marvin_server.lsp.document import Document
from marvin_server.lsp.documents import Documents
from marvin_server.lsp.refusals import Refusal

Ask = Callable[[str, Any, float], Awaitable[Any]]

TRIES = 2
_SECONDS = 2.0
# Neovim tells 150 ms later what was typed, and of an edit that it has skipped that it was applied.
_SETTLES_IN = 0.25
# Eglot tells after 500 ms.
_REFUSED_IN = 0.75
# A person may be asked by the editor; what they say after that is of no interest.
_ANSWER_SECONDS = 60.0


class Applying:
    """Sends edits to the client, one after the other, until it ``is_stopped``.

    They are LSP's versioned ``documentChanges`` for every client. Neovim takes them without announcing it; one that
    does not take them shows no edit, whereas plain ``changes`` could replace what was typed while they travelled.
    """

    def __init__(self, documents: Documents, ask: Ask) -> None:
        self.is_stopped = False
        self._documents = documents
        self._ask = ask
        self._answers: set[asyncio.Task[str | None]] = set()
        self._news = asyncio.Event()

    def stop(self) -> None:
        """Nobody answers any more: no edit is waited for."""
        self.is_stopped = True
        self._news.set()

    async def make(self, label: str, changes: Sequence[Change]) -> bool:
        """Make ``changes`` as one edit, and say whether the documents show them.

        Raises ToolError for what can never be made, and where the client has refused it and nothing was typed that
        would explain it.
        """
        for _ in range(TRIES):
            pending = await self._planned(changes)
            if not pending:
                return True
            await self._run(label, pending)
            if self.is_stopped:
                break
        return not await self._planned(changes)

    async def _planned(self, changes: Sequence[Change]) -> list[Change]:
        return [change for change in changes if await change.plan(self._documents.encoding)]

    async def _run(self, label: str, changes: Sequence[Change]) -> None:
        def look(document: Document) -> None:
            for change in changes:
                if change.document is document:
                    change.see()
            self._news.set()

        self._news = asyncio.Event()
        answer = asyncio.create_task(self._answer(label, changes))
        self._answers.add(answer)
        answer.add_done_callback(self._answers.discard)
        answer.add_done_callback(lambda _: self._news.set())
        sending = Sending(answer)
        for change in changes:
            change.sent(sending)
        self._documents.watchers.append(look)
        try:
            await self._wait(changes, sending)
        finally:
            self._documents.watchers.remove(look)

    async def _wait(self, changes: Sequence[Change], sending: Sending) -> None:
        """Return when all are made, or will not be."""
        loop, answer = asyncio.get_running_loop(), sending.answer
        deadline = loop.time() + _SECONDS
        is_refused = False
        while not self.is_stopped and (left := [change for change in changes if not change.is_made]):
            is_missed = all(change.is_missed for change in left)
            if answer.done():
                reason = answer.result()
                if reason is None:
                    for change in left:
                        change.see_alike()
                elif is_missed:
                    return
                if reason is not None and not is_refused:
                    is_refused = True
                    deadline = min(deadline, loop.time() + _REFUSED_IN)
                elif is_missed:
                    deadline = min(deadline, loop.time() + _SETTLES_IN)
            try:
                async with asyncio.timeout_at(deadline):
                    await self._news.wait()
            except TimeoutError:
                if is_refused and not any(change.is_missed for change in left):
                    raise ToolError(f"The editor has refused the edit: {answer.result()}") from None
                return
            self._news.clear()

    async def _answer(self, label: str, changes: Sequence[Change]) -> str | None:
        """Why the client refuses the edit, None when it does not, or never says."""
        listed = [
            {"textDocument": {"uri": change.document.uri, "version": change.version}, "edits": change.edits}
            for change in changes
        ]
        try:
            params = {"label": label, "edit": {"documentChanges": listed}}
            result = await self._ask("workspace/applyEdit", params, _ANSWER_SECONDS)
        except TimeoutError:
            return None
        except Refusal as refused:
            return str(refused)
        said = cast("dict[str, Any]", result) if isinstance(result, dict) else {}
        return None if said.get("applied") is True else str(said.get("failureReason") or "it does not say why")
