"""The sessions that code actions run in: one for each folder at a time, whose turns and questions the editor shows."""

import asyncio
import logging
from pathlib import Path
from typing import TYPE_CHECKING

from marvin_server.lsp import opening, sources
from marvin_server.lsp.asking import Asking
from marvin_server.lsp.features import one_shot, sessions
from marvin_server.lsp.features.one_shot import Subject
from marvin_server.lsp.live import LiveSession
from marvin_server.lsp.pages import Pages
from marvin_server.lsp.progress import Progresses, Token
from marvin_server.lsp.telling import Telling
from marvin_server.protocol.turns import Action, OneShotResult

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from typing import Any

    from marvin_server.lsp.server import Server

# What was said before is of use to the next action, until it costs more than it brings.
_FULL_TOKENS = 40_000
_RECENT = 8
_log = logging.getLogger("marvin.lsp")


class Conversations:
    """Those of one client. What was answered in a folder is known to the next action there, and what a person has
    allowed for the session goes on to hold; one that has got long is followed by a new one."""

    def __init__(self, server: "Server") -> None:
        self._server = server
        client, ask = server.client, server.ask
        self._pages = Pages(
            server.sessions.settings.paths.pages, ask, can_show=client.can("window", "showDocument", "support")
        )
        self.progresses = Progresses(ask, server.tell, can_create=client.can("window", "workDoneProgress"))
        self._by_folder: dict[Path, LiveSession] = {}
        self._lock = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self, folder: Path, action: Action, subject: Subject, token: Token | None = None) -> OneShotResult:
        """Do the action in the conversation of ``folder``, or queue it behind those that were begun before, and have it
        told; see ``Telling`` and ``Progresses``. Raises as the beginning of a session and ``one_shot.prompt`` do."""
        async with self._lock:
            live = await self._live(folder)
            async with live.lock:
                was_open = live.opened is not None
                session = await opening.ready(self._server, live)
                if not was_open and self._server.client.version is None:
                    self._do(Asking(session, self._server.ask, self._pages).run())
                prompt = await one_shot.prompt(action, subject, sources.of(self._server, live))
                events = session.subscribe()
                turn_id = session.submit(prompt, "queue")
        title = one_shot.title(action, subject)

        async def tell() -> None:
            progress = await self.progresses.begin(f"Marvin: {title}", lambda: session.cancel(turn_id), token)
            wants_answer = not one_shot.KINDS[action].edits
            telling = Telling(title, f"{title}.md", self._pages, self._server.tell, wants_answer=wants_answer)
            try:
                await telling.run(events, turn_id, progress)
            finally:
                session.unsubscribe(events)

        self._do(tell())
        return OneShotResult(live.id, turn_id)

    async def _live(self, folder: Path) -> LiveSession:
        live = self._by_folder.get(folder)
        if live is not None and self._server.sessions.find(live.id) is live:
            if live.running is not None or self._tokens(live) < _FULL_TOKENS:
                return live
            await live.close()
            self._server.sessions.remove(live)
        made = await sessions.new(self._server, {"cwd": str(folder), "title": f"Code actions in {folder.name}"})
        live = self._by_folder[folder] = self._server.sessions.get(made.session.id)
        return live

    def _tokens(self, live: LiveSession) -> int:
        """How many the model has read and written last."""
        recent = reversed(self._server.sessions.store.pages.of(live.id, _RECENT))
        return next((usage.input + usage.output for entry in recent if (usage := entry.message.usage)), 0)

    def _do(self, work: "Coroutine[Any, Any, None]") -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()):
            _log.error("the editor could not be told: %r", error, exc_info=error)
