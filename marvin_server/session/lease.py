"""Which process is at work in a session: a byte lock of the operating system's, which goes when its process does."""

import os
import struct
import sys
from pathlib import Path
from zlib import crc32

from marvin_server.errors import SessionOwned, StoreError

# struct flock: (type, whence, start, length, process), or (start, length, process, type, whence).
_LAYOUT = "@qqihh" if sys.platform == "darwin" else "@hhqqi4x"


class Leases:
    """The leases of this process in the file ``place``: one byte for each name.

    A name ends in 15 hexadecimal digits, as ids do. There is one ``Leases`` for a file in a process, since
    closing the file anywhere lets go of all its locks. Every method raises ``StoreError`` when it cannot be used.
    """

    def __init__(self, place: Path) -> None:
        self._place = place
        self._file: int | None = None
        self._held: set[str] = set()

    def take(self, name: str) -> None:
        """Hold the lease until it is given back or the process ends. Raises ``SessionOwned`` while it is held, in
        this process too."""
        import fcntl

        if name in self._held:
            raise SessionOwned(f"a turn is at work in session {name}: wait for it, or cancel it")
        try:
            fcntl.lockf(self._opened(), fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _byte(name))
        except (BlockingIOError, PermissionError):
            raise _owned(name, self._holder(name)) from None
        except OSError as error:
            raise self._unusable(error) from None
        self._held.add(name)

    def give_back(self, name: str) -> None:
        """Let others take it; nothing happens when it is not held."""
        import fcntl

        if name in self._held:
            self._held.remove(name)
            fcntl.lockf(self._opened(), fcntl.LOCK_UN, 1, _byte(name))

    def check(self, name: str) -> None:
        """Raises ``SessionOwned`` while another process holds it."""
        if name not in self._held and (process := self._holder(name)) is not None:
            raise _owned(name, process)

    def is_here(self, name: str) -> bool:
        """Whether this process holds it."""
        return name in self._held

    def is_elsewhere(self, name: str) -> bool:
        """Whether another process holds it."""
        return name not in self._held and self._holder(name) is not None

    def close(self) -> None:
        """Give everything back."""
        self._held.clear()
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _holder(self, name: str) -> int | None:
        """The id of the other process that holds it; 0 where the system does not tell (another container's)."""
        import fcntl

        at = _byte(name)
        kind, whence = fcntl.F_WRLCK, os.SEEK_SET
        asked = (at, 1, 0, kind, whence) if sys.platform == "darwin" else (kind, whence, at, 1, 0)
        try:
            answer = fcntl.fcntl(self._opened(), fcntl.F_GETLK, struct.pack(_LAYOUT, *asked))
        except OSError as error:
            raise self._unusable(error) from None
        told = struct.unpack(_LAYOUT, answer)
        kind, process = (told[3], told[2]) if sys.platform == "darwin" else (told[0], told[4])
        return None if kind == fcntl.F_UNLCK else max(process, 0)

    def _opened(self) -> int:
        if self._file is None:
            try:
                self._file = os.open(self._place, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            except OSError as error:
                raise self._unusable(error) from None
        return self._file

    def _unusable(self, error: OSError) -> StoreError:
        return StoreError(f"{self._place} cannot be used ({error.strerror}): check who may write it and its folder")


def _owned(name: str, process: int | None) -> SessionOwned:
    which = f"another marvin (process {process})" if process else "another marvin"
    return SessionOwned(f"{which} is at work in session {name}: wait for it, or end it")


def _byte(name: str) -> int:
    """Which byte of the file is the lease: all processes agree on it, also where this Marvin has not given the name."""
    try:
        return int(name[-15:], 16)
    except ValueError:
        return crc32(name.encode())
