"""What a front-end reads of stored sessions, page by page, and what it changes of them as a whole."""

import sqlite3
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct

from marvin_server.errors import NoSession, StoreError
from marvin_server.messages import Message, new_id
from marvin_server.session import transcript

_TITLE_LENGTH = 80
# Gives each entry of a session that other sessions share to the oldest of these.
_HAND_OVER = """WITH RECURSIVE shared (id, parent_id, heir) AS (
        SELECT own.id, own.parent_id, next.session_id
            FROM entries AS own JOIN entries AS next ON next.parent_id = own.id
            WHERE own.session_id = :session AND next.session_id != :session
        UNION SELECT own.id, own.parent_id, sessions.id FROM entries AS own JOIN sessions ON sessions.head = own.id
            WHERE own.session_id = :session AND sessions.id != :session
        UNION SELECT own.id, own.parent_id, heir FROM entries AS own JOIN shared ON own.id = shared.parent_id
            WHERE own.session_id = :session)
    UPDATE entries SET session_id = (SELECT min(heir) FROM shared WHERE shared.id = entries.id)
    WHERE session_id = :session AND id IN (SELECT id FROM shared)"""


class Entry(Struct, frozen=True):
    """A stored message: when it was kept (ISO 8601 in UTC), and the entry that it follows."""

    at: str
    parent_id: str | None
    message: Message


class Catalogue:
    """The stored sessions in the database ``connection``; ``Store`` says how it is read and written."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        rows: Callable[..., list[Any]],
        transaction: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self._db = connection
        self._rows = rows
        self._transaction = transaction

    def page(self, session_id: str, limit: int, before: str | None = None) -> list[Entry]:
        """The latest ``limit`` messages that lead to the session's head, oldest first; with ``before``, an entry of the
        session, those that lead to that one, without it. Raises ``StoreError`` for an entry that is not there."""
        entry_id = before or self.state(session_id)[0]
        if entry_id is None:
            return []
        rows = self._rows(
            """WITH RECURSIVE path (id, parent_id, depth) AS (
                SELECT id, parent_id, 0 FROM entries WHERE id = ?
                UNION ALL
                SELECT entries.id, entries.parent_id, depth + 1 FROM entries JOIN path ON entries.id = path.parent_id
                WHERE depth < ?)
            SELECT at, path.parent_id, body FROM path JOIN entries USING (id) WHERE kind = 'message' AND depth >= ?
            ORDER BY depth DESC""",
            entry_id,
            limit if before else limit - 1,
            1 if before else 0,
        )
        if before and not rows and not self._rows("SELECT 1 FROM entries WHERE id = ?", before):
            raise StoreError(f"the session has no entry {before!r}: load it without `before`")
        try:
            return [Entry(at, parent_id, transcript.decode(body)) for at, parent_id, body in rows]
        except ValueError as error:
            raise StoreError(f"session {session_id} has a message that this Marvin cannot read: {error}") from error

    def state(self, session_id: str) -> tuple[str | None, str, bool]:
        """The session's head and title, and whether it is archived."""
        rows = self._rows("SELECT head, title, archived FROM sessions WHERE id = ?", session_id)
        if not rows:
            raise NoSession(f"there is no session {session_id!r}")
        head, text, archived = rows[0]
        return head, text, bool(archived)

    def fork(self, session_id: str, at: str | None = None) -> str:
        """Start a session that shares the entries of this one up to ``at``, a message or a tool call on the way to the
        head (None: the head), and give its id. A message takes the results of its tool calls along.

        Raises ``StoreError`` for an entry that is not there.
        """
        head = self.state(session_id)[0]
        entry_id = head if at is None else self._end_of_round(session_id, at)
        fork_id, now = new_id(), datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        with self._transaction():
            self._db.execute(
                """INSERT INTO sessions (id, title, cwd, provider, model, created_at, updated_at, head, parent_id)
                SELECT ?, title, cwd, provider, model, ?, ?, ?, id FROM sessions WHERE id = ?""",
                (fork_id, now, now, entry_id, session_id),
            )
        return fork_id

    def _end_of_round(self, session_id: str, at: str) -> str:
        """The entry with the message ``at``, or the latest tool call of that id, and with what answers its calls."""
        rows = self._rows(
            """WITH RECURSIVE path (id, parent_id, depth) AS (
                SELECT entries.id, entries.parent_id, 0 FROM entries JOIN sessions ON entries.id = head
                WHERE sessions.id = ?
                UNION ALL
                SELECT entries.id, entries.parent_id, depth + 1 FROM entries JOIN path ON entries.id = path.parent_id)
            SELECT id, body FROM path JOIN entries USING (id) WHERE kind = 'message' ORDER BY depth DESC""",
            session_id,
        )
        named = [number for number, (entry_id, body) in enumerate(rows) if entry_id == at or _calls(body, at)]
        if not named:
            raise StoreError(f"the session has no item {at!r}: marvin/session/load shows them")
        number = named[-1]
        following = rows[number + 1 :][:1]
        is_answered = any(transcript.decode(body).role == "tool" for _, body in following)
        return rows[number + 1 if is_answered else number][0]

    def rename(self, session_id: str, text: str) -> None:
        """Give the session a title."""
        self._change("UPDATE sessions SET title = ? WHERE id = ?", title(text), session_id)

    def archive(self, session_id: str, *, archived: bool) -> None:
        """Leave the session out of lists, or take it in again."""
        self._change("UPDATE sessions SET archived = ? WHERE id = ?", archived, session_id)

    def delete(self, session_id: str) -> None:
        """Remove the session with all that is known of it. Sessions that came from it stay, with what they share."""
        with self._transaction():
            self._db.execute(_HAND_OVER, {"session": session_id})
            self._db.execute(
                "UPDATE sessions SET parent_id = (SELECT parent_id FROM sessions WHERE id = ?) WHERE parent_id = ?",
                (session_id, session_id),
            )
            for statement in (
                "UPDATE sessions SET head = NULL WHERE id = ?",
                "DELETE FROM entry_text WHERE rowid IN (SELECT seq FROM entries WHERE session_id = ?)",
                "DELETE FROM usage WHERE session_id = ?",
                "DELETE FROM checkpoints WHERE session_id = ?",
                "DELETE FROM questions WHERE session_id = ?",
                "DELETE FROM drafts WHERE session_id = ?",
                "DELETE FROM entries WHERE session_id = ?",
                "DELETE FROM sessions WHERE id = ?",
            ):
                self._db.execute(statement, (session_id,))

    def _change(self, statement: str, value: object, session_id: str) -> None:
        with self._transaction():
            self._db.execute(statement, (value, session_id))


def _calls(body: str, call_id: str) -> bool:
    """Whether the stored message has a tool call of this id."""
    return call_id in body and any(call.id == call_id for call in transcript.decode(body).tool_calls)


def title(text: str) -> str:
    """``text`` as one short line."""
    line = " ".join(transcript.storable(text[:1000]).replace("\0", " ").split())
    return line if len(line) <= _TITLE_LENGTH else f"{line[: _TITLE_LENGTH - 1].rstrip()}…"
