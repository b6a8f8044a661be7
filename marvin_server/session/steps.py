"""What turns have changed in workspaces, step by step, in the store."""

from datetime import UTC, datetime, timedelta
from typing import Literal

from msgspec import Struct
from msgspec.structs import astuple

from marvin_server.session.database import Database

StepKind = Literal["edit", "command", "undo", "redo"]

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
    """The table of steps in ``database``."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def begin(self, step: Step) -> int:
        """Keep that this is done, and give the step's id."""
        with self._db.transaction() as database:
            inserted = database.execute(
                """INSERT INTO checkpoints (session_id, turn_id, kind, root, before, after, at)
                VALUES (?, ?, ?, ?, ?, ?, ?)""",
                (*astuple(step), datetime.now(UTC).strftime(_TIME)),
            )
        return inserted.lastrowid or 0

    def end(self, step_id: int, after: str) -> None:
        """Keep what a step has led to; one that has changed nothing is forgotten."""
        with self._db.transaction() as database:
            database.execute("UPDATE checkpoints SET after = ? WHERE id = ?", (after, step_id))
            database.execute("DELETE FROM checkpoints WHERE id = ? AND before = after", (step_id,))

    def all(self, *, session_id: str | None = None, root: str | None = None) -> list[KeptStep]:
        """The steps in their order: those of one session or of all, in one workspace or in all."""
        rows = self._db.rows(
            """SELECT id, session_id, turn_id, kind, root, before, after FROM checkpoints
            WHERE ? IN (session_id, '') AND ? IN (root, '') ORDER BY id""",
            session_id or "",
            root or "",
        )
        return [KeptStep(*fields, id=number) for number, *fields in rows]

    def forget(self, root: str, *, days: int, most: int) -> None:
        """Drop the steps in a workspace that are older than ``days``, and all but the newest ``most``."""
        oldest = (datetime.now(UTC) - timedelta(days=days)).strftime(_TIME)
        with self._db.transaction() as database:
            database.execute(
                """DELETE FROM checkpoints WHERE root = ? AND (at < ? OR id NOT IN
                (SELECT id FROM checkpoints WHERE root = ? ORDER BY id DESC LIMIT ?))""",
                (root, oldest, root, most),
            )
