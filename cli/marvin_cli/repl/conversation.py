"""The session that a terminal is in: opened, changed, and left for another one."""

import asyncio
import dataclasses
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from marvin_server.errors import MarvinError, UsageError
from marvin_server.messages import new_id, user_message
from marvin_server.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Sequence

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
    """One session at a time in ``directory``. ``settings`` are as the person has changed them, ``accepted_commands``
    digests of a project's commands that they take in this session. Where somebody ``can_review``, changes of files wait
    for their word. It is the ``Desk`` of the commands that every front-end has."""

    def __init__(self, settings: Settings, directory: Path, *, coding: bool, can_review: bool) -> None:
        self.settings = settings
        self.directory = directory
        self.coding = coding
        self.accepted_commands: set[str] = set()
        self._can_review = can_review
        self._store: Store | None = None
        self._opened: OpenSession | None = None
        self._choice: Choice | None = None
        self._beside: list[asyncio.Task[None]] = []

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
        from marvin_server.session import titles

        settings = dataclasses.replace(self.settings, profile=profile or self.settings.profile)
        is_coding = self.coding if coding is None else coding
        store, choice, opened, warnings = await asyncio.to_thread(self._open, settings, is_coding, resume, latest)
        await self.leave(next_id=opened.session.id)
        if self._store not in (None, store):
            self._store.close()
        self.settings, self.coding = settings, is_coding
        self._store, self._choice, self._opened = store, choice, opened
        self.accepted_commands.clear()
        if store.patches.left(opened.session.id):
            await opened.session.patches.kept.recover()
        self._beside.append(asyncio.create_task(choice.provider.connect()))
        self._beside.append(asyncio.create_task(titles.follow(opened, store, settings)))
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
            settings,
            choice,
            store,
            self.directory,
            rounds=_ROUNDS[coding],
            resume=resume,
            can_review=self._can_review,
            coding=coding,
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
            self._beside.append(asyncio.create_task(choice.provider.connect()))

    def tally(self) -> "Tally":
        """All that the session has used, in all processes."""
        from marvin_server.session.usage import Tally

        return Tally(self.store.spending.of_session(self.session.id))

    def usage(self) -> str:
        """What the session has used and all of them, see ``Spending.report``."""
        return self.store.spending.report(self.session.id)

    def check_idle(self) -> None:
        """Raises ``UsageError`` while a turn runs."""
        if self.is_open and self.session.running is not None:
            raise UsageError("a turn is running: wait for it, or stop it with Ctrl+C")

    def leave_draft(self, text: str) -> None:
        """Leave behind a prompt that was not handed to the session. Raises ``StoreError``."""
        keeper = new_id()  # holds no lease
        self.store.drafts.keep(self.session.id, keeper, user_message(text))

    async def leave(self, next_id: str | None = None) -> None:
        """End what runs in the session, keep what waits as drafts, and forget one in which nothing was said, unless it
        is the next one, too."""
        if self._opened is None:
            return
        opened, self._opened = self._opened, None
        await opened.session.close()
        opened.processes.kill_all()
        beside, self._beside = self._beside, []
        _, late = await asyncio.wait(beside, timeout=_MOMENT)
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
