"""The session that a terminal is in: opened, changed, and left for another one."""

import asyncio
import dataclasses
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from marvin_server.errors import MarvinError, UsageError
from marvin_server.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from marvin_server.providers.selection import Choice
    from marvin_server.session.opening import OpenSession
    from marvin_server.session.options import Option
    from marvin_server.session.session import Session
    from marvin_server.session.store import SessionRecord, Store
    from marvin_server.session.usage import Tally

# Rounds, and seconds for a request, outside of coding mode and in it.
_ROUNDS = {False: 10, True: 50}
_SECONDS = {False: 180.0, True: 900.0}
_CLOSING_SECONDS, _MOMENT = 2.0, 0.25
_LISTED = 200


class Conversation:
    """One session at a time in ``directory``. ``settings`` are as the person has changed them; ``person`` gives what
    they want the model to know of them; ``accepted_commands`` are digests of a project's commands that they take in
    this session. It is the ``Desk`` of the commands that every front-end has."""

    def __init__(self, settings: Settings, directory: Path, person: "Callable[[], str]", *, coding: bool) -> None:
        self.settings = settings
        self.directory = directory
        self.coding = coding
        self.accepted_commands: set[str] = set()
        self._person = person
        self._store: Store | None = None
        self._opened: OpenSession | None = None
        self._choice: Choice | None = None
        self._connecting: list[asyncio.Task[None]] = []

    @property
    def store(self) -> "Store":
        assert self._store is not None
        return self._store

    @property
    def opened(self) -> "OpenSession":
        assert self._opened is not None
        return self._opened

    @property
    def is_open(self) -> bool:
        return self._opened is not None

    @property
    def session(self) -> "Session":
        return self.opened.session

    @property
    def choice(self) -> "Choice":
        assert self._choice is not None
        return self._choice

    @property
    def record(self) -> "SessionRecord":
        return self.store.find(self.session.id)

    async def open(
        self,
        resume: str | None = None,
        *,
        latest: bool = False,
        profile: str | None = None,
        coding: bool | None = None,
    ) -> tuple[str, ...]:
        """Begin a session, or go on with the one whose id begins with ``resume``, or with the ``latest`` one of the
        directory; in another ``profile``, and in coding mode or not, where that is given. Lines for the person are
        given. The session before is left. Raises ``MarvinError``, and stays in it."""
        settings = dataclasses.replace(self.settings, profile=profile or self.settings.profile)
        is_coding = self.coding if coding is None else coding
        store, choice, opened, warnings = await asyncio.to_thread(self._open, settings, is_coding, resume, latest)
        await self.leave(next_id=opened.session.id)
        if self._store not in (None, store):
            self._store.close()
        self.settings, self.coding = settings, is_coding
        self._store, self._choice, self._opened = store, choice, opened
        self.accepted_commands.clear()
        self._connecting.append(asyncio.create_task(choice.provider.connect()))
        return warnings

    def _open(
        self, settings: Settings, coding: bool, resume: str | None, latest: bool
    ) -> "tuple[Store, Choice, OpenSession, tuple[str, ...]]":
        from marvin_server.providers import selection
        from marvin_server.session import models
        from marvin_server.session.opening import open_session
        from marvin_server.session.store import Store

        settings = _timed(settings, coding)
        choice = selection.choose(settings)
        models.check_price(settings, choice)
        is_here = self._store is not None and settings.profile == self.settings.profile
        store = self.store if is_here else Store.open(settings.paths.database(settings.profile))
        if latest:
            found = next(iter(sessions(store, str(self.directory))), None)
            if found is None:
                raise MarvinError(f"there is no session in {self.directory} to continue; leave --continue out")
            resume = found.id
        opened = open_session(
            settings, choice, store, self.directory, rounds=_ROUNDS[coding], resume=resume, person=self._person
        )
        return store, choice, opened, (*((choice.notice,) if choice.notice else ()), *opened.warnings)

    async def options(self) -> "Sequence[Option]":
        """What may be changed of the session, as it stands."""
        from marvin_server.session import options

        return options.options(self.settings, self.choice.provider)

    async def change(self, name: str, value: str) -> None:
        """Give an option another value. Raises ``MarvinError``, with nothing changed."""
        from marvin_server.providers import selection
        from marvin_server.session import models, options

        changed = options.changed(self.settings, self.choice.provider, name, value)
        choice = None
        if (changed.provider, changed.model) != (self.settings.provider, self.settings.model):
            timed = _timed(changed, self.coding)
            choice = await asyncio.to_thread(selection.choose, timed)
            await asyncio.to_thread(models.check_price, timed, choice)
        self.settings = changed
        self.opened.go_on_with(changed, choice)
        if choice is not None:
            self._choice = choice
            self._connecting.append(asyncio.create_task(choice.provider.connect()))

    def tally(self) -> "Tally":
        """All that the session has used, in all processes."""
        from marvin_server.session.usage import Tally

        return Tally(self.store.usage(self.session.id))

    def check_idle(self) -> None:
        """Raises ``UsageError`` while a turn runs."""
        if self.is_open and self.session.running is not None:
            raise UsageError("a turn is running: wait for it, or stop it with Ctrl+C")

    async def leave(self, next_id: str | None = None) -> None:
        """End what runs in the session, keep what waits as drafts, and forget one in which nothing was said, unless it
        is the next one, too."""
        if self._opened is None:
            return
        opened, self._opened = self._opened, None
        await opened.session.close()
        opened.processes.kill_all()
        connecting, self._connecting = self._connecting, []
        _, late = await asyncio.wait(connecting, timeout=_MOMENT)
        for task in late:
            task.cancel()
        with suppress(TimeoutError):
            async with asyncio.timeout(_CLOSING_SECONDS):
                await opened.ledger.aclose()
        if opened.sandbox is not None:
            opened.sandbox.close()
        session_id = opened.session.id
        with suppress(MarvinError):
            is_empty = self.store.catalogue.state(session_id)[0] is None and not self.store.drafts.left(session_id)
            if is_empty and session_id != next_id:
                self.store.catalogue.delete(session_id)

    async def close(self) -> None:
        """Leave the session, and let go of the store."""
        await self.leave()
        if self._store is not None:
            self._store.close()
            self._store = None


def _timed(settings: Settings, coding: bool) -> Settings:
    return dataclasses.replace(settings, request_timeout=settings.request_timeout or _SECONDS[coding])


def sessions(store: "Store", cwd: str | None = None, query: str | None = None) -> "list[SessionRecord]":
    """The sessions in which something was said, the latest first."""
    return [record for record in store.sessions(cwd, query, _LISTED) if record.messages]
