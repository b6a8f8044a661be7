"""Open questions as rows of the store, so that a person may answer them from another process."""

import asyncio
import hashlib
import json
import logging
from collections.abc import Callable
from datetime import UTC, datetime
from typing import get_args

import msgspec
from msgspec import Struct

from marvin_server.agent.permissions import Answer
from marvin_server.errors import NotOffered, StoreError
from marvin_server.events import Decision, Permission
from marvin_server.session.database import Database
from marvin_server.session.lease import Leases
from marvin_server.session.transcript import storable

_LOOKS_EVERY = 0.15
_log = logging.getLogger("marvin.session")


class Question(Struct, frozen=True):
    """A question that is open in the session; ``at`` is when it was put (ISO 8601 in UTC)."""

    session_id: str
    at: str
    permission: Permission


class Questions:
    """The table of open questions in ``database``.

    A question counts while the process that put it holds the session's lease. Its row never changes but for the one
    answer that it gets, and that names the digest of what was shown.
    """

    def __init__(self, database: Database, leases: Leases) -> None:
        self._db = database
        self._leases = leases

    def put(self, session_id: str, permission: Permission) -> str:
        """Keep an open question, and give the digest of it."""
        text = storable(json.dumps(msgspec.to_builtins(permission), ensure_ascii=False))
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        with self._db.transaction() as database:
            database.execute(
                "INSERT INTO questions (id, session_id, at, permission) VALUES (?, ?, ?, ?)",
                (permission.id, session_id, now, text),
            )
        return _digest(text)

    def claim(self, question_id: str) -> bool:
        """Let no other process answer any more; False when one has."""
        with self._db.transaction() as database:
            removed = database.execute("DELETE FROM questions WHERE id = ? AND decision IS NULL", (question_id,))
        return removed.rowcount == 1

    def withdraw(self, question_id: str) -> None:
        """Forget the question, answered or not."""
        with self._db.transaction() as database:
            database.execute("DELETE FROM questions WHERE id = ?", (question_id,))

    def answers(self, session_id: str) -> dict[str, tuple[Answer, str]]:
        """What other processes have answered, by the questions' ids, and the digest of what they had shown."""
        rows = self._db.rows(
            """SELECT id, decision, decided_by, command, note, shown FROM questions
            WHERE session_id = ? AND decision IS NOT NULL""",
            session_id,
        )
        return {
            question_id: (Answer(decision if decision in get_args(Decision) else "deny", by, command, note), shown)
            for question_id, decision, by, command, note, shown in rows
        }

    def open(self, session_id: str | None = None) -> list[Question]:
        """The questions without an answer, the oldest first, of one session or of all."""
        rows = self._db.rows(
            """SELECT session_id, at, permission FROM questions WHERE decision IS NULL AND ? IN (session_id, '')
            ORDER BY at, id""",
            session_id or "",
        )
        dead = {row[0] for row in rows} - {row[0] for row in rows if self._is_at_work(row[0])}
        for each in dead:
            self._clean(each)
        found: list[Question] = []
        for owner, at, text in rows:
            if owner not in dead and (permission := _read(text)) is not None:
                found.append(Question(owner, at, permission))
        return found

    def answer(
        self, question_id: str, decision: Decision, by: str, command: str | None = None, note: str | None = None
    ) -> bool:
        """Answer a question of whichever process, as its row shows it; False when it is settled already or nobody
        waits for the answer any more. Raises ``NotOffered`` for a decision that the question does not take."""
        rows = self._db.rows(
            "SELECT session_id, permission FROM questions WHERE id = ? AND decision IS NULL", question_id
        )
        if not rows or not self._is_at_work(rows[0][0]):
            return False
        permission = _read(rows[0][1])
        if permission is None:
            return False
        if decision not in permission.options:
            raise NotOffered(decision, permission.options)
        with self._db.transaction() as database:
            changed = database.execute(
                """UPDATE questions SET decision = ?, decided_by = ?, command = ?, note = ?, shown = ?
                WHERE id = ? AND decision IS NULL""",
                (
                    decision,
                    by,
                    command and storable(command),
                    note and storable(note),
                    _digest(rows[0][1]),
                    question_id,
                ),
            )
        return changed.rowcount == 1

    def _is_at_work(self, session_id: str) -> bool:
        return self._leases.is_here(session_id) or self._leases.is_elsewhere(session_id)

    def _clean(self, session_id: str) -> None:
        """Forget the questions of a process that is gone. A new owner writes its own after it has the lease, so that
        within a transaction the lease says whose rows these are."""
        with self._db.transaction() as database:
            if not self._is_at_work(session_id):
                database.execute("DELETE FROM questions WHERE session_id = ?", (session_id,))


class Board:
    """Where the questions of one session stand for other processes; see ``permissions.Board``.

    ``changes`` gives a number that is another one once another process has written to the store.
    """

    def __init__(self, questions: Questions, session_id: str, changes: Callable[[], int]) -> None:
        self._questions = questions
        self._session_id = session_id
        self._changes = changes
        self._posted: dict[str, tuple[str, Callable[[Answer], None]]] = {}
        self._watching: asyncio.Task[None] | None = None

    def post(self, permission: Permission, settle: Callable[[Answer], None]) -> None:
        self._posted[permission.id] = self._questions.put(self._session_id, permission), settle
        if self._watching is None:
            self._watching = asyncio.create_task(self._watch())

    def claim(self, permission_id: str) -> bool:
        return self._questions.claim(permission_id)

    def withdraw(self, permission_id: str) -> None:
        self._posted.pop(permission_id, None)
        if not self._posted and self._watching is not None:
            self._watching.cancel()
            self._watching = None
        self._questions.withdraw(permission_id)

    async def _watch(self) -> None:
        """Settle what another process has answered; an answer to anything else than what was put is a no."""
        seen: int | None = None
        while True:
            try:
                if (now := self._changes()) != seen:
                    for question_id, (answer, shown) in self._questions.answers(self._session_id).items():
                        if question_id in self._posted:
                            digest, settle = self._posted[question_id]
                            settle(answer if shown == digest else Answer("deny", answer.by))
                    seen = now
            except StoreError as error:
                _log.warning("answers of other processes cannot be read: %s", error)
            await asyncio.sleep(_LOOKS_EVERY)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _read(text: str) -> Permission | None:
    try:
        return msgspec.json.decode(text, type=Permission)
    except msgspec.MsgspecError as error:
        _log.warning("a question in the store cannot be read: %s", error)
        return None
