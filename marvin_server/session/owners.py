"""Which process runs the turns of a session."""

import os
from pathlib import Path

from marvin_server.errors import StoreError


class Owners:
    """The sessions that this process owns. The file at ``path`` holds the locks of all sessions, a byte for each, so
    that the system lets go of them when a process dies.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: int | None = None

    def own(self, session_id: str) -> None:
        """Take the session for this process, until it ends or lets go.

        Raises ``StoreError`` while another process owns it, and when the file cannot be used.
        """
        import fcntl

        try:
            if self._file is None:
                self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, int(session_id[:15], 16))
        except (BlockingIOError, PermissionError):
            raise StoreError(f"another marvin is at work in session {session_id}: wait for it, or end it") from None
        except OSError as error:
            raise StoreError(f"{self._path} cannot be used ({error.strerror})") from None

    def let_go(self) -> None:
        """Let go of all sessions."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
