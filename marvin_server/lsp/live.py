"""The sessions that this process has in its hands: each is opened when its first turn begins, and stays open."""

import asyncio
import dataclasses
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from marvin_server.errors import NoSession, SessionOwned
from marvin_server.lsp.feed import Feed, OnTurn, Outlet
from marvin_server.messages import new_id
from marvin_server.protocol.turns import TurnStartResult
from marvin_server.session.store import SessionRecord, Store
from marvin_server.settings import Settings

if TYPE_CHECKING:
    from marvin_server.providers.selection import Choice
    from marvin_server.session.opening import OpenSession
    from marvin_server.session.session import Activity
    from marvin_server.workspace.editor import Editor

# A person is there and files are at hand: the limits of coding mode.
_ROUNDS, _SECONDS = 50, 900.0
_MOMENT = 0.25


class LiveSession:
    """One session and what runs in it. ``lock`` is held by whoever changes it, ``commands`` by whoever carries out one
    in it, which may take as long as an answer. ``turns`` are the answers that were given to ``clientTurnId``s, and
    ``cancels`` counts the times that somebody cancelled what had not begun yet. ``choice`` is who answers, None until
    that matters; ``settings`` and it are changed by ``go_on_with``; without one the offline search stands in, which no
    turn may be left to. An ``ephemeral`` session is deleted with the process."""

    def __init__(self, session_id: str, settings: Settings, *, ephemeral: bool = False) -> None:
        self.id = session_id
        self.settings = settings
        self.ephemeral = ephemeral
        self.lock = asyncio.Lock()
        self.commands = asyncio.Lock()
        self.turns: dict[str, TurnStartResult] = {}
        self.cancels = 0
        self.choice: Choice | None = None
        self.opened: OpenSession | None = None
        self.feed: Feed | None = None
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def running(self) -> str | None:
        """The id of the turn that runs."""
        return self.opened.session.running if self.opened else None

    @property
    def activity(self) -> "Activity | None":
        """What is at work in it that is no turn."""
        return self.opened.session.activity if self.opened else None

    async def open(
        self,
        store: Store,
        record: SessionRecord,
        outlet: Outlet,
        silent: tuple[str, ...],
        on_turn: OnTurn,
        *,
        on_activity: Callable[[], None],
        editor: "Editor",
        can_review: bool,
    ) -> tuple[str, ...]:
        """Make it ready, and give lines for the person; ``can_review`` says whether the client answers for each hunk of
        a patch. Raises what ``open_session`` raises."""
        from pathlib import Path

        from marvin_server.providers import selection
        from marvin_server.session import titles
        from marvin_server.session.opening import open_session

        if self.opened is not None:
            return ()
        choice = self.choice or selection.stand_in()
        # In the loop: the store's connection serves one at a time.
        opened = self.opened = open_session(
            self.settings,
            choice,
            store,
            Path(record.cwd),
            rounds=_ROUNDS,
            resume=self.id,
            editor=editor,
            can_review=can_review,
        )
        opened.session.on_activity(on_activity)
        self.feed = Feed(self.id, opened.session.subscribe(), outlet, silent, on_turn)
        running = [self.feed.run(), choice.provider.connect()]
        if not self.ephemeral:
            running.append(titles.follow(opened, store, self.settings))
        self._tasks = [asyncio.create_task(each) for each in running]
        return opened.warnings

    def go_on_with(self, settings: Settings, choice: "Choice | None") -> None:
        """Let other settings hold, and another ``choice`` answer where one is given; see ``OpenSession``."""
        self.settings = settings
        self.choice = choice or self.choice
        if self.opened is not None:
            self.opened.go_on_with(settings, choice)
            if choice is not None:
                self._tasks.append(asyncio.create_task(choice.provider.connect()))

    async def close(self) -> None:
        """Cancel what runs, deny what is asked, and see the last events off. It waits for the turn's end."""
        if self.opened is None:
            return
        opened, self.opened = self.opened, None
        await opened.session.close()
        if self.feed is not None:
            self.feed.catch_up()
        for task in self._tasks:
            task.cancel()
        await opened.ledger.aclose()
        if opened.sandbox is not None:
            opened.sandbox.close()


class LiveSessions:
    """All of them, over the profile's store. ``settings`` are those of sessions that ask for nothing else; whoever
    changes them holds ``lock``."""

    def __init__(self, settings: Settings) -> None:
        seconds = settings.request_timeout or _SECONDS
        self.settings = dataclasses.replace(settings, approve=None, request_timeout=seconds)
        self.lock = asyncio.Lock()
        self._store: Store | None = None
        self._keeper: str | None = None
        self._live: dict[str, LiveSession] = {}
        self._closing: set[asyncio.Task[None]] = set()

    @property
    def store(self) -> Store:
        """The profile's store. Raises ``StoreError`` while it cannot be opened."""
        if self._store is None:
            self._store = Store.open(self.settings.paths.database(self.settings.profile))
            _sweep(self._store)
        return self._store

    @property
    def keeper(self) -> str:
        """The lease that says that this process is there, for sessions that go with it. Raises ``StoreError``."""
        if self._keeper is None:
            keeper = new_id()
            self.store.leases.take(keeper)
            self._keeper = keeper
        return self._keeper

    @property
    def all(self) -> tuple[LiveSession, ...]:
        return tuple(self._live.values())

    def record(self, session_id: str) -> SessionRecord:
        """What is stored of the session. Raises ``NoSession``, for the start of an id too."""
        try:
            record = self.store.find(session_id)
        except NoSession:
            record = None
        if record is None or record.id != session_id:
            raise NoSession(f"there is no session {session_id!r}: marvin/session/list shows them")
        return record

    def find(self, session_id: str) -> LiveSession | None:
        """The session, when something was done in it in this process."""
        return self._live.get(session_id)

    def get(self, session_id: str) -> LiveSession:
        """The session, live from now on. Raises ``NoSession``, also when another process has just deleted it."""
        record = self.record(session_id)
        if record.id not in self._live:
            self.add(LiveSession(record.id, self.settings))
        return self._live[record.id]

    def add(self, live: LiveSession) -> None:
        self._live[live.id] = live

    def remove(self, live: LiveSession) -> None:
        del self._live[live.id]

    def forget(self, session_id: str) -> None:
        """Another process has deleted the session: nothing runs in it, and nothing can any more."""
        live = self._live.pop(session_id, None)
        if live is not None:
            closing = asyncio.create_task(live.close())
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)

    def shut(self) -> None:
        """Begin no turn any more; ``close`` is to follow."""
        for live in self.all:
            if live.opened is not None:
                live.opened.session.shut()

    async def close(self, seconds: float) -> None:
        """Close every session. What has not ended within ``seconds`` is killed, and has a moment to be stored."""
        closing = [asyncio.create_task(live.close()) for live in self.all]
        if closing:
            started = [live.opened.processes for live in self.all if live.opened]
            _, late = await asyncio.wait(closing, timeout=seconds)
            for processes in started:
                processes.kill_all()
            if late:
                logging.getLogger("marvin.lsp").warning("%d sessions did not end within %g s", len(late), seconds)
                await asyncio.wait(late, timeout=_MOMENT)
        for live in self.all:
            if live.ephemeral:
                with suppress(NoSession):
                    self.store.catalogue.delete(live.id)
        self._live.clear()
        if self._store is not None:
            self._store.close()
            self._store = None


def _sweep(store: Store) -> None:
    """Remove the ephemeral sessions of processes that were killed."""
    for session_id, keeper in store.catalogue.ephemeral().items():
        if not store.leases.is_elsewhere(keeper):
            with suppress(NoSession, SessionOwned):
                store.own(session_id)
                store.catalogue.delete(session_id)
                store.disown(session_id)
