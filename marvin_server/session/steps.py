"""What turns have changed in workspaces, step by step, in the store."""

import sqlite3
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import astuple

StepKind = Literal["edit", "command", "undo", "redo"]

TABLE = """CREATE TABLE checkpoints (
    id INTEGER PRIMARY KEY, session_id TEXT NOT NULL REFERENCES sessions (id), turn_id TEXT NOT NULL,
    kind TEXT NOT NULL, root TEXT NOT NULL, before TEXT NOT NULL, after TEXT, at TEXT NOT NULL)"""
_TIME = "%Y-%m-%dT%H:%M:%S.%fZ"


class Step(Struct, frozen=True):
    """A change to the files of the workspace ``root``, from the checkpoint ``before`` to another.

    An ``edit`` is what one of Marvin's own tools wrote, a ``command`` all that changed while one ran; ``undo`` and
    ``redo`` took the steps of the turn back. ``after`` is None while it is at work, and when Marvin was killed then.
    """

    session_id: str
    turn_id: str
    kind: StepKind
    root: str
    before: str
    after: str | None = None


class KeptStep(Step, frozen=True, kw_only=True):
    """A step in the store; the ids of later ones are higher."""

    id: int


class Steps:
    """The table of steps in the database ``connection``; ``Store`` says how it is read and written."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        rows: Callable[..., list[Any]],
        transaction: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self._db = connection
        self._rows = rows
        self._transaction = transaction

    def begin(self, step: Step) -> int:
        """Keep that this is done, and give the step's id."""
        with self._transaction():
            inserted = self._db.execute(
                """INSERT INTO checkpoints (session_id, turn_id, kind, root, before, after, at)
                VALUES (?, ?, ?, ?, ?, ?, ?)""",
                (*astuple(step), datetime.now(UTC).strftime(_TIME)),
            )
        return inserted.lastrowid or 0

    def end(self, step_id: int, after: str) -> None:
        """Keep what a step has led to; one that has changed nothing is forgotten."""
        with self._transaction():
            self._db.execute("UPDATE checkpoints SET after = ? WHERE id = ?", (after, step_id))
            self._db.execute("DELETE FROM checkpoints WHERE id = ? AND before = after", (step_id,))

    def all(self, *, session_id: str | None = None, root: str | None = None) -> list[KeptStep]:
        """The steps in their order: those of one session or of all, in one workspace or in all."""
        rows = self._rows(
            """SELECT id, session_id, turn_id, kind, root, before, after FROM checkpoints
            WHERE ? IN (session_id, '') AND ? IN (root, '') ORDER BY id""",
            session_id or "",
            root or "",
        )
        return [KeptStep(*fields, id=number) for number, *fields in rows]

    def forget(self, root: str, *, days: int, most: int) -> None:
        """Drop the steps in a workspace that are older than ``days``, and all but the newest ``most``."""
        oldest = (datetime.now(UTC) - timedelta(days=days)).strftime(_TIME)
        with self._transaction():
            self._db.execute(
                """DELETE FROM checkpoints WHERE root = ? AND (at < ? OR id NOT IN
                (SELECT id FROM checkpoints WHERE root = ? ORDER BY id DESC LIMIT ?))""",
                (root, oldest, root, most),
            )
