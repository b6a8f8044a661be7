"""The SQLite file that the store keeps everything in: made, upgraded, read, and written in transactions."""

import os
import sqlite3
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import Any

from marvin_server.errors import StoreError
from marvin_server.session import schema

_BUSY_SECONDS = 5.0


class Database:
    """The file ``path``. What a transaction has written is durable once its block has ended.

    Several processes may use one file at the same time. One ``Database`` may be used from any thread, by one at a time.
    Every method raises ``StoreError``, one line that says what to do, when the file cannot be used. Whoever wrote it,
    what is read is text or a number: ``is_damaged`` once U+FFFD had to stand for bytes that are no text.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self.is_damaged = False
        self._connection = connection
        connection.text_factory = self._text

    @classmethod
    def open(cls, path: Path) -> "Database":
        """Open the file with the tables of ``schema``, and make it (mode 0600, missing folders 0700) when there is
        none."""
        try:
            for folder in (folder for folder in reversed(path.parents) if not folder.exists()):
                folder.mkdir(0o700, exist_ok=True)
            with suppress(FileExistsError):
                os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except OSError as error:
            raise StoreError(f"{path} cannot be made ({error.strerror}); sessions are kept there") from None
        with _reported(path):
            connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        database = cls(path, connection)
        try:
            with _reported(path):
                database._prepare()
        except BaseException:
            connection.close()
            raise
        return database

    def close(self) -> None:
        """Let go of the file. What was written stays written without it."""
        self._connection.close()

    def rows(self, query: str, *values: object) -> list[Any]:
        """All that ``query`` finds, each a tuple; ``values`` are for its question marks."""
        with _reported(self.path):
            rows = self._connection.execute(query, values).fetchall()
        if any(bytes in map(type, row) for row in rows):
            rows = [tuple(self._text(each) if isinstance(each, bytes) else each for each in row) for row in rows]
        return rows

    @contextmanager
    def transaction(self) -> Generator[sqlite3.Connection]:
        """Write by what is yielded: all of it is kept, or nothing when the block raises."""
        with _reported(self.path), self._connection as connection:
            connection.execute("BEGIN IMMEDIATE")
            yield connection

    def _text(self, content: bytes) -> str:
        try:
            return content.decode()
        except UnicodeDecodeError:
            self.is_damaged = True
            return content.decode(errors="replace")

    def _prepare(self) -> None:
        self._connection.execute("PRAGMA synchronous = FULL")
        self._connection.execute("PRAGMA foreign_keys = ON")
        version = self._version()
        if version == 0:
            self._create()
        elif version < schema.VERSION:
            self._upgrade()
        elif version > schema.VERSION:
            raise StoreError(f"{self.path} was made by a newer Marvin: update Marvin to use it")

    def _create(self) -> None:
        # SQLite does not wait for the lock that changes the journal's mode, so that two creators need this loop.
        deadline = time.monotonic() + _BUSY_SECONDS
        while True:
            try:
                self._connection.execute("PRAGMA journal_mode = WAL")
                break
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
                time.sleep(0.002)
        with self.transaction() as database:
            if self._version() == 0:
                for statement in schema.TABLES:
                    database.execute(statement)

    def _upgrade(self) -> None:
        with self.transaction() as database:
            for statement in chain(*schema.UPGRADES[self._version() - 1 :]):
                database.execute(statement)
            database.execute(f"PRAGMA user_version = {schema.VERSION}")

    def _version(self) -> int:
        return self._connection.execute("PRAGMA user_version").fetchone()[0]


@contextmanager
def _reported(path: Path) -> Generator[None]:
    """Turn SQLite's errors into one line that says what to do."""
    try:
        yield
    except sqlite3.Error as error:
        match getattr(error, "sqlite_errorcode", 0) & 0xFF:
            case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
                text = f"{path} is damaged: move it aside, with {path.name}-wal beside it, and Marvin starts a new one"
            case sqlite3.SQLITE_FULL | sqlite3.SQLITE_IOERR:
                text = f"{path} cannot be written ({error}): make room on its disk and try again"
            case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
                text = f"{path} is kept busy by another process: try again when that has finished"
            case sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM:
                text = f"{path} cannot be used ({error}): check who may write it and its folder"
            case _:
                text = f"{path}: {error}"
        raise StoreError(text) from error
