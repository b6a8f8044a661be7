"""What was said in stored sessions, page by page."""

from collections.abc import Sequence
from itertools import pairwise

from msgspec import Struct, structs

from marvin_server.errors import NoSession, StoreError
from marvin_server.events import Compacted
from marvin_server.messages import Message
from marvin_server.session import transcript
from marvin_server.session.database import Database


class Compaction(Struct, frozen=True):
    """A stored compaction: when it was kept (ISO 8601 in UTC), and the session's own turn that it belongs to."""

    at: str
    compaction: Compacted
    turn_id: str | None = None


class Entry(Struct, frozen=True):
    """A stored message: when it was kept (ISO 8601 in UTC), and the message that it follows; where that answers tool
    calls, it is the one that made them. ``turn_id`` is that of the session's own turn that it belongs to.
    ``compactions`` came between it and the next message."""

    at: str
    parent_id: str | None
    message: Message
    turn_id: str | None = None
    compactions: tuple[Compaction, ...] = ()


class Pages:
    """Those of the sessions in ``database``."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def of(self, session_id: str, limit: int, before: str | None = None) -> list[Entry]:
        """The latest ``limit`` messages that lead to the session's head, oldest first; with ``before``, a message among
        them, those that lead to that one, without it. One more where the oldest answers tool calls: the message that
        made them. Raises ``StoreError`` for a ``before`` that does not lead to the head."""
        entry_id = before or self._head(session_id)
        if entry_id is None:
            return []
        if before and not self._leads_to_head(session_id, before):
            raise StoreError(f"the session has no entry {before!r}: load it without `before`")
        rows = self._db.rows(
            """WITH RECURSIVE path (id, parent_id, depth, steps) AS (
                SELECT id, parent_id, iif(kind = 'message', 0, -1), 0 FROM entries WHERE id = ?
                UNION ALL
                SELECT entries.id, entries.parent_id, depth + (kind = 'message'), steps + 1
                FROM entries JOIN path ON entries.id = path.parent_id WHERE depth < ?)
            SELECT at, path.parent_id, kind, body, iif(session_id = ?, turn_id, NULL) FROM path JOIN entries USING (id)
            WHERE kind IN ('message', 'compaction') AND NOT (kind = 'message' AND depth < ?) ORDER BY steps DESC""",
            entry_id,
            # The two more are what the oldest may answer, and an answer that this may follow.
            limit + (2 if before else 1),
            session_id,
            1 if before else 0,
        )
        try:
            entries = _entries(rows)
        except ValueError as error:
            raise StoreError(f"session {session_id} has an entry that this Marvin cannot read: {error}") from error
        # A compaction may be on the way between two messages.
        entries[1:] = [structs.replace(entry, parent_id=before.message.id) for before, entry in pairwise(entries)]
        callers = {entry.message.id: entry.parent_id for entry in entries if entry.message.role == "tool"}
        first = max(0, len(entries) - limit)
        first -= bool(first and entries[first].message.role == "tool")
        return [
            structs.replace(entry, parent_id=callers.get(entry.parent_id or "", entry.parent_id))
            for entry in entries[first:]
        ]

    def of_first_turn(self, session_id: str, turn_id: str) -> list[Message]:
        """The messages of a turn, oldest first; none where the session did not begin with it. Raises ``StoreError``."""
        rows = self._db.rows(
            """SELECT parent_id, body FROM entries WHERE session_id = ? AND turn_id = ? AND kind = 'message'
            ORDER BY rowid""",
            session_id,
            turn_id,
        )
        if not rows or rows[0][0] is not None:
            return []
        try:
            return [transcript.decode(body) for _, body in rows]
        except ValueError as error:
            raise StoreError(f"session {session_id} has an entry that this Marvin cannot read: {error}") from error

    def _leads_to_head(self, session_id: str, entry_id: str) -> bool:
        rows = self._db.rows(
            """WITH RECURSIVE path (id, parent_id) AS (
                SELECT entries.id, entries.parent_id FROM entries JOIN sessions ON entries.id = head
                WHERE sessions.id = ?1
                UNION ALL
                SELECT entries.id, entries.parent_id FROM entries JOIN path ON entries.id = path.parent_id
                WHERE path.id != ?2)
            SELECT 1 FROM path WHERE id = ?2""",
            session_id,
            entry_id,
        )
        return bool(rows)

    def _head(self, session_id: str) -> str | None:
        rows = self._db.rows("SELECT head FROM sessions WHERE id = ?", session_id)
        if not rows:
            raise NoSession(f"there is no session {session_id!r}")
        return rows[0][0]


def _entries(rows: Sequence[tuple[str, str | None, str, str, str | None]]) -> list[Entry]:
    """The messages of rows ``(at, parent_id, kind, body, turn_id)``, oldest first, each with the compactions after it;
    those before the first one are another page's. Raises ``ValueError``."""
    from marvin_server.session import compactions

    entries: list[Entry] = []
    for at, parent_id, kind, body, turn_id in rows:
        if kind == "message":
            entries.append(Entry(at, parent_id, transcript.decode(body), turn_id))
        elif entries:
            made = Compaction(at, compactions.decode(body).compaction, turn_id)
            entries[-1] = structs.replace(entries[-1], compactions=(*entries[-1].compactions, made))
    return entries
