"""Prompts that wait for their turn, in the store, so that none is lost when their process ends first."""

from datetime import UTC, datetime

from msgspec import Struct

from marvin_server.errors import StoreError
from marvin_server.messages import Message, new_id
from marvin_server.session import transcript
from marvin_server.session.database import Database
from marvin_server.session.lease import Leases


class Draft(Struct, frozen=True):
    """A prompt that waited and was never started, since its process has ended or the person stopped the turn that it
    was for. Nothing starts it by itself.

    Its ``id`` is the message's; ``at`` is when it was queued (ISO 8601 in UTC).
    """

    id: str
    session_id: str
    at: str
    message: Message


class Queued(Struct, frozen=True):
    """A prompt that waits for a turn of its own, ``turn_id``."""

    turn_id: str
    message: Message


class Drafts:
    """The table of waiting prompts in ``database``.

    ``Store.append`` removes a prompt as it becomes an entry. A prompt names its ``keeper``, a lease that its process
    holds: a draft is one without.
    """

    def __init__(self, database: Database, leases: Leases) -> None:
        self._db = database
        self._leases = leases

    def keep(self, session_id: str, keeper: str, message: Message, turn_id: str | None = None) -> None:
        """Keep a prompt that will be started later, in place of the draft of it that is there; ``turn_id`` is None for
        one that is handed to the turn of another."""
        with self._db.transaction() as database:
            database.execute(
                "INSERT OR REPLACE INTO drafts (id, session_id, keeper, at, body, turn_id) VALUES (?, ?, ?, ?, ?, ?)",
                (message.id, session_id, keeper, _now(), transcript.encode(message), turn_id),
            )

    def put_last(self, draft_id: str, turn_id: str) -> None:
        """Let the prompt wait for this turn, after all others."""
        with self._db.transaction() as database:
            database.execute("UPDATE drafts SET turn_id = ?, at = ? WHERE id = ?", (turn_id, _now(), draft_id))

    def has(self, draft_id: str) -> bool:
        """Whether nobody, in any process, has dropped the prompt."""
        return bool(self._db.rows("SELECT 1 FROM drafts WHERE id = ?", draft_id))

    def leave(self, draft_id: str) -> None:
        """Let nobody keep the prompt any more, so that it is a draft."""
        with self._db.transaction() as database:
            database.execute("UPDATE drafts SET keeper = ? WHERE id = ?", (new_id(), draft_id))

    def drop(self, draft_id: str) -> None:
        """Forget a prompt that the person does not want started."""
        with self._db.transaction() as database:
            database.execute("DELETE FROM drafts WHERE id = ?", (draft_id,))

    def left(self, session_id: str | None = None) -> list[Draft]:
        """The drafts of one session or of all, the oldest first."""
        rows = self._db.rows(
            "SELECT id, session_id, at, body, keeper FROM drafts WHERE ? IN (session_id, '') ORDER BY at, id",
            session_id or "",
        )
        return [
            Draft(draft_id, owner, at, _message(body))
            for draft_id, owner, at, body, keeper in rows
            if not self._is_kept(keeper)
        ]

    def queued(self, session_id: str) -> list[Queued]:
        """What waits for a turn of its own, in whichever process; those of one process in the order of their turns."""
        rows = self._db.rows(
            "SELECT turn_id, body, keeper FROM drafts WHERE session_id = ? AND turn_id IS NOT NULL ORDER BY at, id",
            session_id,
        )
        return [Queued(turn_id, _message(body)) for turn_id, body, keeper in rows if self._is_kept(keeper)]

    def _is_kept(self, keeper: str) -> bool:
        return self._leases.is_here(keeper) or self._leases.is_elsewhere(keeper)


def _message(body: str) -> Message:
    try:
        return transcript.decode(body)
    except ValueError as error:
        raise StoreError(f"a prompt that waits cannot be read by this Marvin: {error}") from error


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
