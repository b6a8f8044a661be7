"""What a person has chosen for the prompt of a session: files that are kept in it, and blocks that it goes without."""

from typing import Literal

from marvin_server.session.database import Database
from marvin_server.session.transcript import storable

Choice = Literal["pin", "drop"]


class ContextChoices:
    """The choices in ``database``; a fork of a session begins with those of the session."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def of(self, session_id: str) -> dict[Choice, tuple[str, ...]]:
        """The paths of pins, relative to the root, and the names of dropped blocks, in the order of the choices."""
        rows = self._db.rows("SELECT choice, name FROM context_choices WHERE session_id = ? ORDER BY rowid", session_id)
        return {
            "pin": tuple(name for choice, name in rows if choice == "pin"),
            "drop": tuple(name for choice, name in rows if choice == "drop"),
        }

    def add(self, session_id: str, choice: Choice, name: str) -> None:
        """Choose it; nothing happens when it is chosen already."""
        with self._db.transaction() as database:
            database.execute(
                "INSERT OR IGNORE INTO context_choices VALUES (?, ?, ?)", (session_id, choice, storable(name))
            )

    def remove(self, session_id: str, choice: Choice, name: str) -> None:
        """Choose it no more."""
        with self._db.transaction() as database:
            database.execute(
                "DELETE FROM context_choices WHERE session_id = ? AND choice = ? AND name = ?",
                (session_id, choice, storable(name)),
            )
