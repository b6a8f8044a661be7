"""Sessions on disk: one SQLite file, in which the entries of a session form a tree and are never rewritten."""

import json
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct, to_builtins

from marvin_server.errors import NoSession, StoreError
from marvin_server.messages import Message, new_id
from marvin_server.session import catalogue, transcript
from marvin_server.session.catalogue import Catalogue
from marvin_server.session.database import Database
from marvin_server.session.lease import Leases
from marvin_server.session.steps import Steps
from marvin_server.session.transcript import storable

if TYPE_CHECKING:
    from marvin_server.session.compactions import Compactions
    from marvin_server.session.context_choices import ContextChoices
    from marvin_server.session.drafts import Drafts
    from marvin_server.session.open_patches import OpenPatches
    from marvin_server.session.pages import Pages
    from marvin_server.session.questions import Questions
    from marvin_server.session.spending import Spending

_RECORD = """SELECT id, title, cwd, provider, model, created_at, updated_at, head, parent_id,
    (SELECT count(*) FROM entries WHERE session_id = sessions.id AND kind = 'message') + CASE
        WHEN parent_id IS NULL THEN 0 ELSE (WITH RECURSIVE path (id, parent_id, owner) AS (
            SELECT id, parent_id, session_id FROM entries WHERE id = sessions.head
            UNION ALL SELECT entries.id, entries.parent_id, session_id
                FROM entries JOIN path ON entries.id = path.parent_id)
            SELECT count(*) FROM path JOIN entries USING (id)
            WHERE owner != sessions.id AND kind = 'message') END FROM sessions"""
_SHORTEST_PREFIX = 6


class SessionRecord(Struct, frozen=True):
    """A session as it is listed. Times are ISO 8601 in UTC; ``head`` is the entry that was appended last.

    ``provider`` and ``model`` are those of the latest answer; ``messages`` counts all branches.
    """

    id: str
    title: str
    cwd: str
    provider: str
    model: str
    created_at: str
    updated_at: str
    head: str | None
    parent_id: str | None
    messages: int


class Store:
    """The sessions of one profile, in ``database``, which says how it may be used and what every method raises.

    ``steps`` are the changes to workspaces that can be undone; ``catalogue`` is what front-ends list and change.
    ``leases`` say which process is at work in which session.
    """

    def __init__(self, database: Database) -> None:
        self._db = database
        self.steps = Steps(database)
        self.catalogue = Catalogue(database)
        self.leases = Leases(database.path.with_name(f"{database.path.name}-owners"))

    @cached_property
    def questions(self) -> "Questions":
        """The questions that are open, in whichever process."""
        from marvin_server.session.questions import Questions

        return Questions(self._db, self.leases)

    @cached_property
    def drafts(self) -> "Drafts":
        """The prompts that wait for their turn, and those that were left behind."""
        from marvin_server.session.drafts import Drafts

        return Drafts(self._db, self.leases)

    @cached_property
    def patches(self) -> "OpenPatches":
        """The patches that are open for review."""
        from marvin_server.session.open_patches import OpenPatches

        return OpenPatches(self._db, self.leases)

    @cached_property
    def compactions(self) -> "Compactions":
        """The summaries that stand for what was said."""
        from marvin_server.session.compactions import Compactions

        return Compactions(self._db)

    @cached_property
    def pages(self) -> "Pages":
        """What was said in the sessions, page by page."""
        from marvin_server.session.pages import Pages

        return Pages(self._db)

    @cached_property
    def spending(self) -> "Spending":
        """What all model requests have used."""
        from marvin_server.session.spending import Spending

        return Spending(self._db)

    @cached_property
    def context_choices(self) -> "ContextChoices":
        """What people have chosen for the prompts of sessions."""
        from marvin_server.session.context_choices import ContextChoices

        return ContextChoices(self._db)

    @property
    def damage(self) -> str | None:
        """What a person should know of what was read so far; None for nothing."""
        if not self._db.is_damaged:
            return None
        return f"{self._db.path} is damaged: bytes in it that are no text are shown as \ufffd; the rest is as it was"

    @classmethod
    def open(cls, path: Path) -> "Store":
        """The store in the file ``path``, which is made when there is none."""
        return cls(Database.open(path))

    def close(self) -> None:
        """Let go of the file and of the sessions that were owned. What was written stays written without it."""
        self._db.close()
        self.leases.close()

    @contextmanager
    def beside(self) -> "Generator[Store]":
        """The same file by a connection of its own, to be read in another thread while this one goes on."""
        other = Store.open(self._db.path)
        try:
            yield other
        finally:
            other.close()

    def changes(self) -> int:
        """A number that is another one after another connection has written; it takes microseconds."""
        return self._db.rows("PRAGMA data_version")[0][0]

    def own(self, session_id: str) -> str | None:
        """Make this caller the only one, in all processes, that adds to the session, and give its head.

        It holds until ``disown`` or the end of the process. Raises ``SessionOwned`` while somebody else is at work.
        """
        self.leases.take(session_id)
        try:
            if self._db.rows("SELECT 1 FROM questions WHERE session_id = ?", session_id):
                with self._db.transaction() as database:
                    database.execute("DELETE FROM questions WHERE session_id = ?", (session_id,))
            return self._one("SELECT head FROM sessions WHERE id = ?", session_id)
        except StoreError:
            self.leases.give_back(session_id)
            raise

    def disown(self, session_id: str) -> None:
        """Let others add to the session; nothing happens when it is not owned."""
        self.leases.give_back(session_id)

    def create_session(
        self,
        cwd: str,
        provider: str,
        model: str,
        title: str = "",
        parent_id: str | None = None,
        *,
        keeper: str | None = None,
        is_chat: bool = False,
    ) -> SessionRecord:
        """Start an empty session; without a ``title`` its first prompt becomes that. ``parent_id`` is a session's;
        with a ``keeper``, a lease, it is ephemeral: in no list, and of no use once nobody holds that. It ``is_chat``
        where it is held outside coding mode."""
        session_id, now = new_id(), _now()
        names = (storable(cwd), storable(provider), storable(model))
        row = (session_id, catalogue.title(title), *names, now, now, None, parent_id)
        with self._db.transaction() as database:
            values = (*row, keeper, is_chat)
            database.execute("INSERT INTO sessions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?)", values)
        return SessionRecord(*row, messages=0)

    def append(self, session_id: str, message: Message, parent_id: str | None, *, turn_id: str | None = None) -> None:
        """Add ``message`` after the entry ``parent_id`` (None: as a root) and make it the session's head. It belongs to
        the turn ``turn_id``, where one is given.

        The entry's id is the message's. Where another process has appended to the same parent, this starts a branch.
        ``parent_id`` may also be the id of a message that ``history`` has made up. A prompt that waited for its turn
        (``drafts``) does so no more.
        """
        now = _now()
        parent_id = parent_id and parent_id.removesuffix(transcript.MADE_UP)
        text = storable(message.text).replace("\0", " ")
        body = transcript.encode(message)
        with self._db.transaction() as database:
            inserted = database.execute(
                """INSERT INTO entries (id, session_id, parent_id, kind, at, body, turn_id)
                VALUES (?, ?, ?, 'message', ?, ?, ?)""",
                (message.id, session_id, parent_id, now, body, turn_id),
            )
            if text:
                database.execute("INSERT INTO entry_text (rowid, text) VALUES (?, ?)", (inserted.lastrowid, text))
            database.execute("DELETE FROM drafts WHERE id = ?", (message.id,))
            database.execute(
                """UPDATE sessions SET head = ?, updated_at = ?, title = iif(title = '', ?, title),
                provider = coalesce(?, provider), model = coalesce(?, model) WHERE id = ?""",
                (
                    message.id,
                    now,
                    catalogue.title(message.said) if message.role == "user" else "",
                    message.provider,
                    message.model,
                    session_id,
                ),
            )

    def history(self, session_id: str, head: str | None = None, since: str | None = None) -> list[Message]:
        """The messages from the root, or from the entry ``since`` on, to the entry ``head`` (default: the session's
        head), fit to be sent.

        A tool call that was never answered, since Marvin was stopped, gets a result of status ``cancelled``. That is
        made up for the reader and not stored.
        """
        head = head or self._one("SELECT head FROM sessions WHERE id = ?", session_id)
        rows = self._db.rows(
            """WITH RECURSIVE path (id, parent_id, depth) AS (
                SELECT id, parent_id, 0 FROM entries WHERE id = ?
                UNION ALL
                SELECT entries.id, entries.parent_id, depth + 1 FROM entries JOIN path ON entries.id = path.parent_id
                WHERE path.id IS NOT ?)
            SELECT id, body FROM path JOIN entries USING (id) WHERE kind = 'message' ORDER BY depth DESC""",
            head,
            since,
        )
        if head and not rows and since is None:
            raise StoreError(f"{self._db.path} has no entry {head}")
        return transcript.answered([self._message(entry_id, body) for entry_id, body in rows])

    def sessions(
        self,
        cwd: str | None = None,
        query: str | None = None,
        limit: int = 50,
        *,
        before: tuple[str, str] | None = None,
        archived: bool = True,
    ) -> list[SessionRecord]:
        """The sessions that changed last, newest first; only those of ``cwd``, and that hold the words of ``query``.

        ``before`` is the last one's time of change and id on the page before; ``archived`` ones can be left out.
        """
        conditions, values = ["keeper IS NULL"], list[str]()
        if cwd is not None:
            conditions.append("cwd = ?")
            values.append(storable(cwd))
        if before is not None:
            conditions.append("(updated_at, id) < (?, ?)")
            values += before
        if not archived:
            conditions.append("NOT archived")
        if query:
            conditions.append(
                """(instr(lower(title), lower(?)) OR id IN (SELECT session_id FROM entries
                WHERE seq IN (SELECT rowid FROM entry_text WHERE entry_text MATCH ?)))"""
            )
            values += [storable(query), catalogue.terms(query)]
        rows = self._db.rows(
            f"{_RECORD} WHERE {' AND '.join(conditions)} ORDER BY updated_at DESC, id DESC LIMIT ?",
            *values,
            limit,
        )
        return [SessionRecord(*row) for row in rows]

    def latest(self, cwd: str) -> SessionRecord | None:
        """The session of ``cwd`` that changed last."""
        return next(iter(self.sessions(cwd, limit=1)), None)

    def find(self, prefix: str) -> SessionRecord:
        """The session with this id, or with the only id that starts so; a prefix has six characters at least."""
        if len(prefix) < _SHORTEST_PREFIX:
            raise NoSession(f"{prefix!r} is too short for a session: give {_SHORTEST_PREFIX} characters of its id")
        rows = self._db.rows(f"{_RECORD} WHERE substr(id, 1, ?) = ? ORDER BY id LIMIT 6", len(prefix), storable(prefix))
        if not rows:
            raise NoSession(f"there is no session {prefix!r}: `marvin sessions list` shows them")
        if len(rows) > 1:
            listed = "; ".join(f"{row[0]} ({row[1]})" for row in rows[:5])
            raise StoreError(f"{prefix!r} is the start of several sessions: {listed}{'; …' if rows[5:] else ''}")
        return SessionRecord(*rows[0])

    def export(self, session_id: str) -> dict[str, Any]:
        """The whole session as JSON values: its record, all entries in the order they were made, and its usage.

        ``session_id`` may be the start of one, as for ``find``.
        """
        record = self.find(session_id)
        rows = self._db.rows(
            """WITH RECURSIVE whole (id, parent_id) AS (
                SELECT id, parent_id FROM entries WHERE session_id = ?
                UNION SELECT id, parent_id FROM entries WHERE id = ?
                UNION SELECT entries.id, entries.parent_id FROM entries JOIN whole ON entries.id = whole.parent_id)
            SELECT id, entries.parent_id, kind, at, body FROM whole JOIN entries USING (id) ORDER BY seq""",
            record.id,
            record.head,
        )
        entries = [
            {"id": entry_id, "parent_id": parent_id, "kind": kind, "at": at, "body": _content(body)}
            for entry_id, parent_id, kind, at, body in rows
        ]
        usage = [to_builtins(row) for row in self.spending.of_session(record.id)]
        return {"session": to_builtins(record), "entries": entries, "usage": usage}

    def _one(self, query: str, session_id: str) -> Any:
        rows = self._db.rows(query, session_id)
        if not rows:
            raise NoSession(f"there is no session {session_id!r}: `marvin sessions list` shows them")
        return rows[0][0]

    def _message(self, entry_id: str, body: str) -> Message:
        try:
            return transcript.decode(body)
        except ValueError as error:
            raise StoreError(f"{self._db.path}: entry {entry_id} is not a message that this Marvin can read") from error


def _content(body: str) -> Any:
    """What is stored of an entry, as JSON values; what is no JSON, as it is."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return body


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
