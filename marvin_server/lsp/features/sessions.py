"""``marvin/session/…``: begin, fork, list, load, change and delete sessions."""

import asyncio
import dataclasses
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

from marvin_server.errors import MarvinError, UsageError
from marvin_server.events import Patch, Permission
from marvin_server.lsp import opening
from marvin_server.lsp.items import items
from marvin_server.lsp.live import LiveSession
from marvin_server.lsp.refusals import Refusal
from marvin_server.protocol.base import Done
from marvin_server.protocol.errors import Code
from marvin_server.protocol.reading import read
from marvin_server.protocol.sessions import (
    Draft,
    QueuedPrompt,
    SessionDeleteParams,
    SessionForkParams,
    SessionListParams,
    SessionListResult,
    SessionLoadParams,
    SessionLoadResult,
    SessionNewParams,
    SessionResult,
    SessionUpdateParams,
)
from marvin_server.session.pages import Entry
from marvin_server.session.store import SessionRecord, Store

if TYPE_CHECKING:
    from marvin_server.lsp.server import Server

_LONGEST_PAGE, _MOST_LISTED = 1000, 200
_log = logging.getLogger("marvin.lsp")


async def new(server: "Server", params: dict[str, Any]) -> SessionResult:
    """Begin an empty session in the folder ``cwd``."""
    asked = read(params, SessionNewParams)
    folder = _folder(asked.cwd)
    settings = server.sessions.settings
    settings = dataclasses.replace(settings, mode=asked.mode or settings.mode, model=asked.model or settings.model)
    choice = await opening.choose(settings)
    provider = choice.provider
    keeper = server.sessions.keeper if asked.ephemeral else None
    record = server.sessions.store.create_session(
        str(folder), provider.name, provider.model, asked.title or "", keeper=keeper
    )
    live = LiveSession(record.id, settings, ephemeral=asked.ephemeral)
    live.choice = choice
    server.sessions.add(live)
    server.standing.watch(record.id)
    return SessionResult(server.standing.session(record.id))


async def fork(server: "Server", params: dict[str, Any]) -> SessionResult:
    """A session that shares what was said up to an item, or up to now, and goes on by itself; its options are those
    of the one that it comes from."""
    asked = read(params, SessionForkParams)
    record = server.sessions.record(asked.session_id)
    source = server.sessions.find(record.id)
    store = server.sessions.store
    keeper = server.sessions.keeper if record.id in store.catalogue.ephemeral() else None

    def forked() -> str:
        with store.beside() as beside:
            return beside.catalogue.fork(record.id, asked.at_item_id, keeper)

    session_id = await asyncio.to_thread(forked)
    settings = source.settings if source else server.sessions.settings
    server.sessions.add(LiveSession(session_id, settings, ephemeral=keeper is not None))
    server.standing.watch(session_id)
    return SessionResult(server.standing.session(session_id))


async def list_(server: "Server", params: dict[str, Any]) -> SessionListResult:
    """A page of the sessions, the latest first, without archived ones unless words are looked for."""
    asked = read(params, SessionListParams)
    limit = min(max(asked.limit, 1), _MOST_LISTED)
    before = None
    if asked.cursor is not None:
        at, _, session_id = asked.cursor.partition(" ")
        before = (at, session_id)
    cwd = str(_folder(asked.cwd, must_exist=False)) if asked.cwd is not None else None
    store, query = server.sessions.store, asked.query

    def search() -> list[SessionRecord]:
        with store.beside() as beside:
            return beside.sessions(cwd, query, limit + 1, before=before)

    if query:
        # It takes 30 ms for a word that 50,000 messages have.
        found = await asyncio.to_thread(search)
    else:
        found = store.sessions(cwd, None, limit + 1, before=before, archived=False)
    page = found[:limit]
    sessions = tuple(server.standing.described(record) for record in page)
    return SessionListResult(sessions, f"{page[-1].updated_at} {page[-1].id}" if len(found) > limit else None)


async def load(server: "Server", params: dict[str, Any]) -> SessionLoadResult:
    """One moment of a session: its latest messages, or those before the item ``before``, and what is going on in it.

    All events up to ``seq`` are in it, and none after.
    """
    asked = read(params, SessionLoadParams)
    limit = min(max(asked.limit, 1), _LONGEST_PAGE)
    record, store = server.sessions.record(asked.session_id), server.sessions.store

    def older() -> list[Entry]:
        with store.beside() as beside:
            return beside.pages.of(record.id, limit, asked.before)

    await _recover(server, record.id)
    # It takes 100 ms to find the way from the head to the first of 50,000 messages. What is there never changes.
    entries = await asyncio.to_thread(older) if asked.before is not None else None
    live = server.sessions.find(record.id)
    feed = live.feed if live else None
    if feed is not None:
        feed.catch_up()
    record = server.sessions.record(record.id)
    is_newest = entries is None
    if entries is None:
        entries = store.pages.of(record.id, limit)
    server.standing.watch(record.id)
    session = server.standing.described(record)
    return SessionLoadResult(
        session,
        items(entries, feed.finished if feed else {}, is_at_work=is_newest and session.busy and not session.activity),
        feed.seq if feed else 0,
        _questions(server, live, record.id),
        live.opened.session.patches.pending if live and live.opened else _kept(store, record.id),
        tuple(QueuedPrompt(queued.turn_id, queued.message) for queued in store.drafts.queued(record.id)),
        tuple(Draft(draft.id, draft.at, draft.message) for draft in store.drafts.left(record.id)),
        entries[0].message.id if entries and entries[0].parent_id is not None else None,
        live.running if live else None,
        feed.unfinished() if feed else None,
    )


async def _recover(server: "Server", session_id: str) -> None:
    """See to patches in the middle of which a process was killed. What is said in the session can be loaded without."""
    if not server.sessions.store.patches.left(session_id):
        return
    live = server.sessions.get(session_id)
    try:
        async with live.lock:
            session = await opening.ready_without_turns(server, live)
        await session.patches.kept.recover()
    except (MarvinError, OSError) as error:
        _log.warning("session %s: patches that were left behind cannot be looked at: %s", session_id, error)


def _questions(server: "Server", live: LiveSession | None, session_id: str) -> tuple[Permission, ...]:
    """The session's open questions, of whichever process."""
    if live is not None and live.feed is not None and live.running is not None:
        return tuple(live.feed.questions.values())
    return tuple(question.permission for question in server.sessions.store.questions.open(session_id))


def _kept(store: Store, session_id: str) -> tuple[Patch, ...]:
    """What a session that is not opened in this process has for review."""
    return tuple(kept.pending for kept in store.patches.of(session_id))


async def update(server: "Server", params: dict[str, Any]) -> SessionResult:
    """Give a session another title, or leave it out of lists."""
    asked = read(params, SessionUpdateParams)
    record = server.sessions.record(asked.session_id)
    catalogue = server.sessions.store.catalogue
    if asked.title is not None:
        catalogue.rename(record.id, asked.title)
    if asked.archived is not None:
        catalogue.archive(record.id, archived=asked.archived)
    server.standing.tell_session(record.id)
    return SessionResult(server.standing.session(record.id))


async def delete(server: "Server", params: dict[str, Any]) -> Done:
    """Remove a session and all that was said in it; not while a turn runs, here or in another process."""
    live = server.sessions.get(read(params, SessionDeleteParams).session_id)
    async with live.lock:
        if live.running is not None:
            raise Refusal(Code.TURN_ACTIVE, "a turn is running: cancel it, then delete the session", retryable=True)
        store = server.sessions.store
        store.own(live.id)
        try:
            await live.close()
            store.catalogue.delete(live.id)
        finally:
            store.disown(live.id)
        server.sessions.remove(live)
        server.standing.forget(live.id)
    return Done()


def _folder(name: str, *, must_exist: bool = True) -> Path:
    path = Path(name)
    if not path.is_absolute():
        raise UsageError(f"cwd must be an absolute path, not {name!r}")
    try:
        folder = path.resolve(strict=must_exist)
    except (OSError, RuntimeError, ValueError) as error:
        raise UsageError(f"cwd {name!r} cannot be used: {error}") from None
    if must_exist and not folder.is_dir():
        raise UsageError(f"cwd {name!r} is not a directory")
    return folder
