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


class Drafts:
    """The table of waiting prompts in ``database``.

    ``Store.append`` removes a prompt as it becomes an entry. A prompt names its ``keeper``, a lease that its process
    holds: a draft is one without.
    """

    def __init__(self, database: Database, leases: Leases) -> None:
        self._db = database
        self._leases = leases

    def keep(self, session_id: str, keeper: str, message: Message) -> None:
        """Keep a prompt that will be started later, in place of the draft of it that is there."""
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        with self._db.transaction() as database:
            database.execute(
                "INSERT OR REPLACE INTO drafts (id, session_id, keeper, at, body) VALUES (?, ?, ?, ?, ?)",
                (message.id, session_id, keeper, now, transcript.encode(message)),
            )

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
        try:
            return [
                Draft(draft_id, owner, at, transcript.decode(body))
                for draft_id, owner, at, body, keeper in rows
                if not self._leases.is_here(keeper) and not self._leases.is_elsewhere(keeper)
            ]
        except ValueError as error:
            raise StoreError(f"a prompt that waits cannot be read by this Marvin: {error}") from error
