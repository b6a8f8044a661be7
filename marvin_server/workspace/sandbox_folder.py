"""The private folder of a session's commands: their temporary files and package caches, removed with the session."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

_PREFIX = "session-"
_LOCK = "lock"


def furnish(folder: str) -> None:
    """Make in the private ``folder`` what a ``Confinement`` says that it has. Its ``tmp`` is as open as /tmp is."""
    Path(folder, "cache").mkdir()
    Path(folder, "tmp").mkdir()
    Path(folder, "tmp").chmod(0o1777)
    Path(folder, "empty").touch(mode=0o444)


def variables(tmp: str, cache: str) -> dict[str, str]:
    """What makes commands keep temporary files in ``tmp``, and package tools their caches beneath ``cache``.

    Each is the variable that the tool documents.
    """
    return {
        "TMPDIR": tmp,
        "CARGO_HOME": f"{cache}/cargo",
        "GOCACHE": f"{cache}/go-build",
        "GOMODCACHE": f"{cache}/go-mod",
        "npm_config_cache": f"{cache}/npm",
        "PIP_CACHE_DIR": f"{cache}/pip",
        "UV_CACHE_DIR": f"{cache}/uv",
    }


class PrivateFolder:
    """A private folder beneath ``place``, which it makes; its lock is held as long as this process has it.

    What processes left that were killed is removed first. Raises OSError.
    """

    def __init__(self, place: Path) -> None:
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
        for old in place.glob(f"{_PREFIX}*"):
            with suppress(OSError):
                os.close(_locked(old))
                _remove(old)
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=place)).resolve()
        self._lock = _locked(self.path)
        furnish(str(self.path))

    def close(self) -> None:
        """Remove the folder."""
        _remove(self.path)
        os.close(self._lock)


def _locked(folder: Path) -> int:
    """The descriptor that holds the folder's lock. Raises OSError when another process has it."""
    lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        raise
    return lock


def _remove(folder: Path) -> None:
    """Remove a folder with all in it, read-only folders too (Go's module cache has them); what resists stays."""

    def insist(function: Callable[[str], object], path: str, _: object) -> None:
        with suppress(OSError):
            Path(path).parent.chmod(0o700)
            function(path)

    shutil.rmtree(folder, onerror=insist)
