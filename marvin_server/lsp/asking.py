"""A session's questions by the editor's own means: a message with answers to choose from."""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, cast

from marvin_server.events import (
    Decision,
    Permission,
    PermissionRequested,
    PermissionResolved,
)
from marvin_server.lsp import boxes
from marvin_server.lsp.boxes import Box, Question
from marvin_server.lsp.pages import Pages, Request
from marvin_server.lsp.refusals import Refusal
from marvin_server.session.session import Session

ANSWER_SECONDS = 900.0
_WARNING = 2
_log = logging.getLogger("marvin.lsp")


class Asking:
    """Puts the questions of ``session`` before the person as ``window/showMessageRequest``.

    Only an allowing answer, chosen in time from a box that came after all of the question was shown, is a yes; whatever
    else happens is a no. ``request`` sends a request to the client; an answer is waited for ``seconds``.
    """

    def __init__(self, session: Session, request: Request, pages: Pages, *, seconds: float = ANSWER_SECONDS) -> None:
        self._session = session
        self._subscription = session.subscribe()
        self._request = request
        self._pages = pages
        self._seconds = seconds
        self._open: dict[str, asyncio.Task[None]] = {}

    async def run(self) -> None:
        """Ask until the session is closed."""
        try:
            async for _, event in self._subscription:
                match event:
                    case PermissionRequested(permission=permission):
                        self._begin(permission.id, self._permit(permission))
                    case PermissionResolved(permission_id=settled):
                        self._end(settled)
                    case _:
                        pass
        finally:
            for question_id in tuple(self._open):
                self._end(question_id)

    def _begin(self, question_id: str, work: Coroutine[Any, Any, None]) -> None:
        task = self._open[question_id] = asyncio.create_task(work)
        task.add_done_callback(lambda _: self._open.pop(question_id, None))

    def _end(self, question_id: str) -> None:
        """It was settled otherwise: an answer that still comes is passed over."""
        if task := self._open.get(question_id):
            task.cancel()

    async def _permit(self, permission: Permission) -> None:
        decision: Decision = "deny"
        try:
            chosen = await self._choose(boxes.of_permission(permission))
            decision = boxes.DECISIONS.get(chosen or "", decision)
        finally:
            self._session.answer(permission.id, decision)

    async def _choose(self, question: Question) -> str | None:
        """The title that the person chose, None for no answer."""
        box = boxes.first(question)
        while (chosen := await self._put(box)) in {boxes.SHOW, boxes.SHOW_PART}:
            box = await self._show(question)
        return chosen

    async def _put(self, box: Box) -> str | None:
        actions = [{"title": title} for title in box.answers]
        asked = {"type": _WARNING, "message": box.message, "actions": actions}
        try:
            answer = await self._request("window/showMessageRequest", asked, self._seconds)
        except (Refusal, TimeoutError) as error:
            _log.info("a question was left without an answer: %s", error or "it took too long")
            return None
        chosen = cast("dict[str, Any]", answer).get("title") if isinstance(answer, dict) else None
        return chosen if chosen in box.answers else None

    async def _show(self, question: Question) -> Box:
        try:
            page = self._pages.write(f"question{question.suffix}", question.page)
        except OSError as error:
            return boxes.unshown(question, f"It cannot be shown: {error}")
        if await self._pages.show(page):
            return boxes.shown(question, page)
        advice = "allow such calls by a rule in config.yaml if you want them"
        return boxes.unshown(question, f"This editor cannot show it; read it in {page}, and {advice}.")
