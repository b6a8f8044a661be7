"""Compactions as entries of the store: what stands for the messages before them, each with the one that held before.

An entry of kind ``compaction`` is on the way to a session's head like a message; the latest one on that way holds.
"""

import json
from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec
from msgspec import Struct

from marvin_server.errors import StoreError
from marvin_server.events import Compacted
from marvin_server.messages import ToolResult
from marvin_server.session import transcript
from marvin_server.session.database import Database
from marvin_server.session.transcript import storable

_LINE = 300  # characters


class Kept(Struct, frozen=True):
    """A stored compaction. ``before`` is the id of the one that holds again when this one is taken back, None for the
    whole conversation."""

    compaction: Compacted
    before: str | None = None

    @property
    def first(self) -> str | None:
        """The entry with which what is in view begins, besides the summary; None for the very first one."""
        if self.compaction.message is None:
            return None
        return self.compaction.keeps or self.compaction.id


def decode(body: str) -> Kept:
    """The stored compaction ``body``. Raises ``ValueError`` for anything else."""
    try:
        return msgspec.json.decode(body, type=Kept)
    except msgspec.MsgspecError as error:
        raise ValueError(str(error)) from error


class Compactions:
    """Those in ``database``."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def add(self, session_id: str, kept: Kept, parent_id: str | None, turn_id: str | None) -> None:
        """Add it after the entry ``parent_id`` and make it the session's head; all or nothing of that is on disk."""
        body = storable(json.dumps(msgspec.to_builtins(kept), ensure_ascii=False, separators=(",", ":")))
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        with self._db.transaction() as database:
            database.execute(
                """INSERT INTO entries (id, session_id, parent_id, kind, at, body, turn_id)
                VALUES (?, ?, ?, 'compaction', ?, ?, ?)""",
                (kept.compaction.id, session_id, parent_id, now, body, turn_id),
            )
            database.execute(
                "UPDATE sessions SET head = ?, updated_at = ? WHERE id = ?", (kept.compaction.id, now, session_id)
            )

    def holding(self, head: str | None) -> Kept | None:
        """The one that holds for what follows the entry ``head``; None where nothing was summarised."""
        rows = self._db.rows(
            """WITH RECURSIVE path (id, parent_id, depth) AS (
                SELECT id, parent_id, 0 FROM entries WHERE id = ?
                UNION ALL
                SELECT entries.id, entries.parent_id, depth + 1 FROM entries JOIN path ON entries.id = path.parent_id)
            SELECT body FROM path JOIN entries USING (id) WHERE kind = 'compaction' ORDER BY depth LIMIT 1""",
            head,
        )
        return self._read(rows[0][0]) if rows else None

    def find(self, compaction_id: str) -> Kept:
        """The one of this id."""
        rows = self._db.rows("SELECT body FROM entries WHERE id = ? AND kind = 'compaction'", compaction_id)
        if not rows:
            raise StoreError(f"{self._db.path} has no summary {compaction_id}")
        return self._read(rows[0][0])

    def search(self, session_id: str, words: Sequence[str], limit: int = 20) -> list[str]:
        """Lines with all the ``words`` of what tools returned on the way to the session's head before the latest
        summary there, the latest first. What people and models said is found by ``Catalogue.search``."""
        # Others look different in the stored JSON, or to SQLite's lower().
        plain = [word for word in words if word.isascii() and '"' not in word and "\\" not in word]
        rows = self._db.rows(
            """WITH RECURSIVE path (id, parent_id) AS (
                SELECT entries.id, entries.parent_id FROM entries JOIN sessions ON entries.id = head
                WHERE sessions.id = ?1
                UNION ALL
                SELECT entries.id, entries.parent_id FROM entries JOIN path ON entries.id = path.parent_id)
            SELECT body FROM path JOIN entries USING (id) WHERE kind = 'message'
            AND seq < (SELECT max(seq) FROM path JOIN entries USING (id) WHERE kind = 'compaction')
            AND instr(lower(body), lower(?2)) ORDER BY seq DESC""",
            session_id,
            max(plain, key=len, default=""),
        )
        wanted = [word.casefold() for word in words]
        found = [
            f"{part.name} returned: {' '.join(line.split())[:_LINE]}"
            for (body,) in rows
            for part in transcript.decode(body).parts
            if isinstance(part, ToolResult)
            for line in part.text.splitlines()
            if all(word in line.casefold() for word in wanted)
        ]
        return found[:limit]

    def _read(self, body: str) -> Kept:
        try:
            return decode(body)
        except ValueError as error:
            raise StoreError(f"{self._db.path}: a summary is not one that this Marvin can read") from error
