"""What was found in a workspace the last time, in a SQLite file of its own that may be deleted, or broken, at any time.

Several processes may use it; each adds what it has found, and the stamps say what still holds.
"""

import hashlib
import os
import sqlite3
import time
from collections.abc import Iterable
from contextlib import closing, suppress
from pathlib import Path
from zlib import crc32

import msgspec

from marvin_server.workspace.repo_map.segment import Segment
from marvin_server.workspace.repo_map.survey import Folder, Stamp, Survey

_VERSION = 2  # of what is in it; each has a file of its own
_KEPT = 30 * 86_400  # seconds
_PATIENCE = 2.0  # seconds that one process waits for another
# Another process writes, the disk is full, or the folder may not be written.
_HINDRANCES = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY}
_SURVEY, _SEGMENT = 0, 1
_BEGIN = (
    "PRAGMA page_size = 65536; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
    "CREATE TABLE IF NOT EXISTS parts (checksum INTEGER PRIMARY KEY, kind INTEGER NOT NULL, content BLOB);"
)
_INSERT = "INSERT OR REPLACE INTO parts VALUES (?, ?, ?)"

Segments = dict[int, Segment]  # by checksum
_Packed = tuple[int, dict[bytes, tuple[Stamp, dict[bytes, Stamp]]]]  # a survey


class Cache:
    """The file for the workspace ``root`` in ``folder``. No method raises for the state of that file: what cannot be
    read is nothing, and what cannot be written is found again the next time."""

    def __init__(self, folder: Path, root: Path) -> None:
        self._path = folder / f"{hashlib.sha256(os.fsencode(root)).hexdigest()[:32]}-{_VERSION}.db"

    def load(self) -> tuple[Survey, Segments]:
        """The folders and the segments as they were found."""
        found, segments = Survey(), Segments()
        try:
            if not self._path.exists():
                return found, segments
            with closing(self._open()) as database:
                for checksum, kind, content in database.execute("SELECT checksum, kind, content FROM parts"):
                    if crc32(content) != checksum:
                        raise sqlite3.DatabaseError("a part is not what was written")
                    if kind == _SURVEY:
                        found = _unpacked(content)
                    else:
                        segments[checksum] = msgspec.msgpack.decode(content, type=Segment)
        except (sqlite3.Error, msgspec.MsgspecError, OSError, TypeError) as error:
            self._give_up(error)
            return Survey(), Segments()
        return found, segments

    def store(self, survey: Survey, dropped: Iterable[int]) -> None:
        """Keep ``survey`` as what is there now, and none of the segments that are ``dropped``."""
        packed = _packed(survey)
        self._write(
            ("DELETE FROM parts WHERE kind = ?", [(_SURVEY,)]),
            ("DELETE FROM parts WHERE checksum = ?", [(checksum,) for checksum in dropped]),
            (_INSERT, [(crc32(packed), _SURVEY, packed)]),
        )

    def add(self, checksum: int, encoded: bytes) -> None:
        """Keep a segment."""
        self._write((_INSERT, [(checksum, _SEGMENT, encoded)]))

    def _write(self, *statements: tuple[str, list[tuple[int | bytes, ...]]]) -> None:
        try:
            if not self._path.exists():
                self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                _sweep(self._path.parent)
            with closing(self._open()) as database, database:
                for statement, rows in statements:
                    database.executemany(statement, rows)
        except (sqlite3.Error, OSError) as error:
            self._give_up(error)

    def _open(self) -> sqlite3.Connection:
        database = sqlite3.connect(self._path, timeout=_PATIENCE)
        try:
            database.executescript(_BEGIN)
        except BaseException:
            database.close()
            raise
        return database

    def _give_up(self, error: Exception) -> None:
        """Delete the file, unless it may be as it should."""
        if isinstance(error, sqlite3.Error) and getattr(error, "sqlite_errorcode", 0) & 0xFF in _HINDRANCES:
            return
        for suffix in ("", "-wal", "-shm"):
            with suppress(OSError):
                Path(f"{self._path}{suffix}").unlink()


def _packed(survey: Survey) -> bytes:
    folders = {
        os.fsencode(path): (folder.stamp, {os.fsencode(name): stamp for name, stamp in folder.files.items()})
        for path, folder in survey.folders.items()
    }
    return msgspec.msgpack.encode((survey.left_out, folders))


def _unpacked(content: bytes) -> Survey:
    left_out, folders = msgspec.msgpack.decode(content, type=_Packed)
    found = {
        os.fsdecode(path): Folder(stamp, {os.fsdecode(name): one for name, one in files.items()})
        for path, (stamp, files) in folders.items()
    }
    return Survey(found, left_out)


def _sweep(folder: Path) -> None:
    """Delete the files of workspaces that nobody has asked about for a month."""
    for file in folder.iterdir():
        with suppress(OSError):
            if time.time() - file.stat().st_mtime > _KEPT:
                file.unlink()
