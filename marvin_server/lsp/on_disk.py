"""The file beneath an open document: what it held when it was looked at, and whether it may hold something else now."""

import os
import stat
import time
from io import BufferedReader
from pathlib import Path

from msgspec import Struct

from marvin_server.errors import ToolError
from marvin_server.workspace import encodings
from marvin_server.workspace.documents import LARGEST

# What is written within a tick of the file system's clock may leave the same times behind.
_TICK_NS = 50_000_000


class Stamp(Struct, frozen=True):
    """What tells one content of a file from another: when it was written, its size in bytes, and which file it is."""

    written_ns: int
    changed_ns: int
    size: int
    inode: int


class OnDisk(Struct, frozen=True):
    """``text`` is the file's, with LF as its line ends; None for one that is not there, no text, or over 20 MB.

    ``stamp`` is None without a file, or while that was not looked at. ``is_settled`` says that the file was not written
    right before.
    """

    text: str | None
    stamp: Stamp | None = None
    is_settled: bool = True

    def is_at(self, path: str) -> bool:
        """Whether the file at ``path`` seems to be the one that was looked at."""
        return stamp(path) == self.stamp


def stamp(path: str) -> Stamp | None:
    """That of the file at ``path``, None without one."""
    try:
        return _stamp(Path(path).stat())
    except OSError:
        return None


def look(path: str) -> OnDisk:
    """The file at ``path`` as it is now. A large one takes time."""
    began = time.time_ns()
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return OnDisk(None, stamp(path))
    with os.fdopen(fd, "rb") as file:
        status = os.fstat(fd)
        return OnDisk(
            _text(file, path) if stat.S_ISREG(status.st_mode) and status.st_size <= LARGEST else None,
            _stamp(status),
            began - max(status.st_mtime_ns, status.st_ctime_ns) > _TICK_NS,
        )


def as_on_disk(text: str) -> str:
    """``text`` with LF as its line ends."""
    return text.replace("\r\n", "\n")


def _text(file: BufferedReader, path: str) -> str | None:
    try:
        encoding = encodings.detect(file.fileno(), path)
        return as_on_disk(encodings.decode(file.read(), encoding, path))
    except (OSError, ToolError):
        return None


def _stamp(status: os.stat_result) -> Stamp:
    return Stamp(status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino)
