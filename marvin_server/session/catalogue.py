"""What a front-end finds in stored sessions, and what it changes of them as a whole."""

from datetime import UTC, datetime

from msgspec import Struct

from marvin_server.errors import NoSession, StoreError
from marvin_server.messages import Message, new_id
from marvin_server.session import transcript
from marvin_server.session.database import Database
from marvin_server.session.transcript import storable

_TITLE_LENGTH = 80
# The entries from a session's head, whose depth is 0, back to the first one.
_WAY_TO_HEAD = """WITH RECURSIVE path (id, parent_id, depth) AS (
        SELECT entries.id, entries.parent_id, 0 FROM entries JOIN sessions ON entries.id = head WHERE sessions.id = ?
        UNION ALL
        SELECT entries.id, entries.parent_id, depth + 1 FROM entries JOIN path ON entries.id = path.parent_id)
    SELECT depth, id, body FROM path JOIN entries USING (id) WHERE"""
# Gives each entry of a session that other sessions share to the oldest of these.
_HAND_OVER = """WITH RECURSIVE shared (id, parent_id, heir) AS (
        SELECT own.id, own.parent_id, next.session_id
            FROM entries AS own JOIN entries AS next ON next.parent_id = own.id
            WHERE own.session_id = :session AND next.session_id != :session
        UNION SELECT own.id, own.parent_id, sessions.id FROM entries AS own JOIN sessions ON sessions.head = own.id
            WHERE own.session_id = :session AND sessions.id != :session
        UNION SELECT own.id, own.parent_id, heir FROM entries AS own JOIN shared ON own.id = shared.parent_id
            WHERE own.session_id = :session)
    UPDATE entries SET turn_id = NULL, session_id = (SELECT min(heir) FROM shared WHERE shared.id = entries.id)
    WHERE session_id = :session AND id IN (SELECT id FROM shared)"""


class Hit(Struct, frozen=True):
    """A message that a search has found; ``snippet`` is a line from around the words."""

    session_id: str
    entry_id: str
    title: str
    snippet: str


class Catalogue:
    """The stored sessions in ``database``."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def state(self, session_id: str) -> tuple[str | None, str, bool]:
        """The session's head and title, and whether it is archived."""
        rows = self._db.rows("SELECT head, title, archived FROM sessions WHERE id = ?", session_id)
        if not rows:
            raise NoSession(f"there is no session {session_id!r}")
        head, text, archived = rows[0]
        return head, text, bool(archived)

    def turn_of(self, entry_id: str) -> str | None:
        """The turn that the entry belongs to; None where there is no such entry, or it belongs to none."""
        rows = self._db.rows("SELECT turn_id FROM entries WHERE id = ?", entry_id)
        return rows[0][0] if rows else None

    def search(self, query: str, limit: int = 20, cwd: str | None = None, within: str | None = None) -> list[Hit]:
        """The messages whose text has words that start with all those of ``query``, best first (bm25); only those in
        sessions of ``cwd``, when it is given. What was said in an ephemeral session is found where it leads to the head
        of the session ``within`` only."""
        rows = self._db.rows(
            """SELECT session_id, entries.id, title, snippet(entry_text, 0, '', '', '…', 16)
            FROM entry_text JOIN entries ON seq = entry_text.rowid JOIN sessions ON sessions.id = session_id
            WHERE entry_text MATCH ? AND ? IN (cwd, '') AND (keeper IS NULL OR entries.id IN (
                WITH RECURSIVE path (id, parent_id) AS (
                    SELECT entries.id, entries.parent_id FROM entries JOIN sessions ON entries.id = head
                    WHERE sessions.id = ?
                    UNION ALL
                    SELECT entries.id, entries.parent_id FROM entries JOIN path ON entries.id = path.parent_id)
                SELECT id FROM path))
            ORDER BY bm25(entry_text), seq DESC LIMIT ?""",
            terms(query),
            storable(cwd or ""),
            within,
            limit,
        )
        return [Hit(session_id, entry_id, title, " ".join(text.split())) for session_id, entry_id, title, text in rows]

    def ephemeral(self) -> dict[str, str]:
        """The sessions that go with a process, each with the lease that says that it is there."""
        return dict(self._db.rows("SELECT id, keeper FROM sessions WHERE keeper IS NOT NULL"))

    def fork(self, session_id: str, at: str | None = None, keeper: str | None = None) -> str:
        """Start a session that shares the entries of this one up to ``at``, a message, a tool call or a compaction on
        the way to the head (None: the head, "": nothing), and give its id. A message takes the results of its tool
        calls along. With a ``keeper`` it is ephemeral; see ``Store.create_session``.

        Raises ``StoreError`` for an entry that is not there.
        """
        head = self.state(session_id)[0]
        entry_id = head if at is None else self._end_of_round(session_id, at) if at else None
        fork_id, now = new_id(), datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        with self._db.transaction() as database:
            database.execute(
                """INSERT INTO sessions
                (id, title, cwd, provider, model, created_at, updated_at, head, parent_id, keeper, is_chat)
                SELECT ?, title, cwd, provider, model, ?, ?, ?, id, ?, is_chat FROM sessions WHERE id = ?""",
                (fork_id, now, now, entry_id, keeper, session_id),
            )
            database.execute(
                "INSERT INTO context_choices SELECT ?, choice, name FROM context_choices WHERE session_id = ?",
                (fork_id, session_id),
            )
        return fork_id

    def _end_of_round(self, session_id: str, at: str) -> str:
        """The entry ``at``, or the one with the latest tool call of that id, and with what answers its calls."""
        rows = self._db.rows(
            f"{_WAY_TO_HEAD} id = ? OR (kind = 'message' AND instr(body, ?)) ORDER BY depth",
            session_id,
            storable(at),
            storable(at),
        )
        found = next(((depth, entry_id) for depth, entry_id, body in rows if entry_id == at or _calls(body, at)), None)
        if found is None:
            raise StoreError(f"the session has no item {at!r}: marvin/session/load shows them")
        depth, entry_id = found
        rows = self._db.rows(
            f"{_WAY_TO_HEAD} kind = 'message' AND depth < ? ORDER BY depth DESC LIMIT 1", session_id, depth
        )
        return next((answer for _, answer, body in rows if transcript.decode(body).role == "tool"), entry_id)

    def rename(self, session_id: str, text: str) -> None:
        """Give the session a title."""
        self._change("UPDATE sessions SET title = ? WHERE id = ?", title(text), session_id)

    def name(self, session_id: str, text: str, instead_of: str) -> bool:
        """Give the session a title in the place of one that nobody has chosen; False where it has another by now."""
        with self._db.transaction() as database:
            changed = database.execute(
                "UPDATE sessions SET title = ? WHERE id = ? AND title = ?", (title(text), session_id, instead_of)
            )
            return changed.rowcount > 0

    def is_chat(self, session_id: str) -> bool:
        """Whether all of the session was held outside coding mode."""
        return bool(self._db.rows("SELECT 1 FROM sessions WHERE id = ? AND is_chat", session_id))

    def keep_in_place(self, session_id: str) -> None:
        """Coding mode is on in the session: what is said in it is recalled nowhere else from now on."""
        self._change("UPDATE sessions SET is_chat = ? WHERE id = ?", 0, session_id)

    def recalled(self, session_id: str, limit: int) -> list[Message]:
        """What was said last, by a person or a model, before the session began, in others outside coding mode; the
        latest first. What the session shares with the one that it was forked from is not in it."""
        rows = self._db.rows(
            """SELECT body FROM entries WHERE kind = 'message' AND session_id IN (
                SELECT id FROM sessions WHERE is_chat AND keeper IS NULL AND id != ?1
                AND id IS NOT (SELECT parent_id FROM sessions WHERE id = ?1))
            AND at < (SELECT created_at FROM sessions WHERE id = ?1)
            AND EXISTS (SELECT 1 FROM entry_text WHERE rowid = seq) ORDER BY at DESC, seq DESC LIMIT ?2""",
            session_id,
            limit,
        )
        try:
            return [transcript.decode(body) for (body,) in rows]
        except ValueError as error:
            raise StoreError(f"an earlier session has a message that this Marvin cannot read: {error}") from error

    def archive(self, session_id: str, *, archived: bool) -> None:
        """Leave the session out of lists, or take it in again."""
        self._change("UPDATE sessions SET archived = ? WHERE id = ?", archived, session_id)

    def delete(self, session_id: str) -> None:
        """Remove the session with all that is known of it but what it has cost. Sessions that came from it stay, with
        what they share."""
        with self._db.transaction() as database:
            database.execute(_HAND_OVER, {"session": session_id})
            database.execute(
                "UPDATE sessions SET parent_id = (SELECT parent_id FROM sessions WHERE id = ?) WHERE parent_id = ?",
                (session_id, session_id),
            )
            for statement in (
                "UPDATE sessions SET head = NULL WHERE id = ?",
                "DELETE FROM entry_text WHERE rowid IN (SELECT seq FROM entries WHERE session_id = ?)",
                "UPDATE usage SET session_id = NULL WHERE session_id = ?",
                "DELETE FROM checkpoints WHERE session_id = ?",
                "DELETE FROM patches WHERE session_id = ?",
                "DELETE FROM questions WHERE session_id = ?",
                "DELETE FROM drafts WHERE session_id = ?",
                "DELETE FROM context_choices WHERE session_id = ?",
                "DELETE FROM entries WHERE session_id = ?",
                "DELETE FROM sessions WHERE id = ?",
            ):
                database.execute(statement, (session_id,))

    def _change(self, statement: str, value: object, session_id: str) -> None:
        with self._db.transaction() as database:
            database.execute(statement, (value, session_id))


def _calls(body: str, call_id: str) -> bool:
    """Whether the stored message has a tool call of this id."""
    return call_id in body and any(call.id == call_id for call in transcript.decode(body).tool_calls)


def title(text: str) -> str:
    """``text`` as one short line."""
    line = " ".join(storable(text[:1000]).replace("\0", " ").split())
    return line if len(line) <= _TITLE_LENGTH else f"{line[: _TITLE_LENGTH - 1].rstrip()}…"


def terms(query: str) -> str:
    """An FTS5 query for all that a person typed, each word as a start of one; quoted, so that nothing is syntax."""
    words = storable(query).replace("\0", " ").replace('"', " ").split()
    return " ".join(f'"{word}"*' for word in words) or '""'
