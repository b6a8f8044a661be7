"""What was found in a workspace the last time, in a SQLite file of its own that may be deleted, or broken, at any time.

Several processes may use it; each writes what it has found, and the stamps say what still holds.
"""

import hashlib
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, suppress
from pathlib import Path

import msgspec

from marvin_server.workspace.repo_map.scan import Facts
from marvin_server.workspace.repo_map.survey import Folder, Stamp, Survey

VERSION = 1  # of what scan finds, too
_KEPT = 30 * 86_400  # seconds
_PATIENCE = 2.0  # seconds that one process waits for another
_TABLES = """
CREATE TABLE folders (path BLOB PRIMARY KEY, found BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE files (path BLOB PRIMARY KEY, mtime INTEGER, size INTEGER, inode INTEGER, facts BLOB) WITHOUT ROWID;
"""

Known = dict[str, tuple[Stamp, Facts]]  # by path


class Cache:
    """The file for the workspace ``root`` in ``folder``. No method raises for the state of that file: what cannot be
    read is nothing, and what cannot be written is found again the next time."""

    def __init__(self, folder: Path, root: Path) -> None:
        self._path = folder / f"{hashlib.sha256(os.fsencode(root)).hexdigest()[:32]}.db"

    def load(self) -> tuple[Survey, Known]:
        """The folders and the files as they were found."""
        if not self._path.exists():
            return {}, {}
        try:
            with closing(self._open()) as database:
                survey = {
                    os.fsdecode(path): _folder(found)
                    for path, found in database.execute("SELECT path, found FROM folders")
                }
                decode = msgspec.msgpack.Decoder(Facts).decode
                known = {
                    os.fsdecode(path): ((mtime, size, inode), decode(facts))
                    for path, mtime, size, inode, facts in database.execute("SELECT * FROM files")
                }
        except (sqlite3.Error, msgspec.MsgspecError, OSError, TypeError):
            self._delete()
            return {}, {}
        return survey, known

    def store(self, survey: Survey, changed: Known, gone: Iterable[str]) -> None:
        """Keep ``survey`` as what is there now, the ``changed`` files, and none of those that are ``gone``."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            if not self._path.exists():
                _sweep(self._path.parent)
            encode = msgspec.msgpack.encode
            rows = [(os.fsencode(path), *stamp, encode(facts)) for path, (stamp, facts) in changed.items()]
            with closing(self._open()) as database, database:
                database.execute("DELETE FROM folders")
                database.executemany("INSERT INTO folders VALUES (?, ?)", _rows(survey))
                database.executemany("DELETE FROM files WHERE path = ?", ((os.fsencode(path),) for path in gone))
                database.executemany("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?)", rows)
        except sqlite3.OperationalError:
            return  # another process writes, or the disk is full
        except (sqlite3.Error, OSError):
            self._delete()

    def _open(self) -> sqlite3.Connection:
        database = sqlite3.connect(self._path, timeout=_PATIENCE)
        try:
            database.executescript("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;")
            (version,) = database.execute("PRAGMA user_version").fetchone()
            if version != VERSION:
                database.executescript(
                    f"BEGIN IMMEDIATE; DROP TABLE IF EXISTS folders; DROP TABLE IF EXISTS files; {_TABLES}"
                    f"PRAGMA user_version = {VERSION}; COMMIT;"
                )
        except BaseException:
            database.close()
            raise
        return database

    def _delete(self) -> None:
        for suffix in ("", "-wal", "-shm"):
            with suppress(OSError):
                Path(f"{self._path}{suffix}").unlink()


def _rows(survey: Mapping[str, Folder]) -> Iterator[tuple[bytes, bytes]]:
    for path, folder in survey.items():
        files = {os.fsencode(name): stamp for name, stamp in folder.files.items()}
        yield os.fsencode(path), msgspec.msgpack.encode((folder.stamp, files))


def _folder(row: bytes) -> Folder:
    stamp, files = msgspec.msgpack.decode(row, type=tuple[Stamp, dict[bytes, Stamp]])
    return Folder(stamp, {os.fsdecode(name): found for name, found in files.items()})


def _sweep(folder: Path) -> None:
    """Delete the files of workspaces that nobody has asked about for a month."""
    for file in folder.iterdir():
        with suppress(OSError):
            if time.time() - file.stat().st_mtime > _KEPT:
                file.unlink()
