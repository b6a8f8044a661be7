"""Puts the open questions of a session before the person, one after the other."""

import asyncio
import logging
from collections.abc import Callable

from marvin_cli.view.base import Reply, View
from marvin_server.events import Permission


class Asking:
    """``answer`` gets each question's id with the person's reply; one that ends without a reply was none, and is
    denied."""

    def __init__(self, view: View, answer: Callable[[str, Reply], None]) -> None:
        self._view = view
        self._answer = answer
        self._open: dict[str, Permission] = {}
        self._asked: tuple[str, asyncio.Task[None]] | None = None

    def put(self, permission: Permission) -> None:
        """Ask this, after those that were put before it."""
        self._open[permission.id] = permission
        self._go_on()

    def settle(self, permission_id: str) -> None:
        """Ask it no more: it was answered, here or elsewhere."""
        self._open.pop(permission_id, None)
        if self._asked is not None and self._asked[0] == permission_id:
            self._asked[1].cancel()

    def _go_on(self) -> None:
        if self._asked is None and (permission := next(iter(self._open.values()), None)):
            task = asyncio.create_task(self._ask(permission))
            self._asked = permission.id, task
            task.add_done_callback(self._asked_one)

    async def _ask(self, permission: Permission) -> None:
        reply = Reply("deny")
        try:
            reply = await self._view.ask(permission)
        finally:
            if self._open.pop(permission.id, None) is not None:
                self._answer(permission.id, reply)

    def _asked_one(self, task: asyncio.Task[None]) -> None:
        self._asked = None
        if not task.cancelled() and (error := task.exception()) is not None:
            logging.getLogger("marvin.cli").error("a question could not be asked, so it was denied", exc_info=error)
        self._go_on()
