"""A person's files on disk: written whole or not at all, and changed by one process at a time."""

import fcntl
import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

from marvin_server.errors import MarvinError
from marvin_server.messages import new_id

_T = TypeVar("_T")
_OTHERS = 0o077


def write(path: Path, content: bytes, *, private: bool = False) -> None:
    """Put ``content`` in place of the file, durable on return; a link stays one. A file that is there keeps its mode,
    unless it is to be ``private``: its owner's alone. Raises ``OSError``, with the file as it was."""
    path = path.resolve()
    path.parent.mkdir(0o700, parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{new_id()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            if not private and path.exists():
                os.fchmod(descriptor, path.stat().st_mode & 0o777)
            file.write(content)
            file.flush()
            os.fsync(descriptor)
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


@contextmanager
def alone(path: Path) -> Generator[None]:
    """Let no other process in here for the same ``path`` meanwhile. Raises ``OSError``."""
    path.parent.mkdir(0o700, parents=True, exist_ok=True)
    descriptor = os.open(path.with_name(f".{path.name}.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def aside(path: Path) -> Path:
    """Give a file that cannot be used another name, beside the old one, and return that."""
    kept = path.with_name(f"{path.name}.broken-{new_id()[:12]}")
    path.rename(kept)
    return kept


class JsonFile(Generic[_T]):
    """A JSON file that holds a value of the type ``shape``, ``empty`` while there is none. A ``private`` one is its
    owner's alone, and is not read where others could."""

    def __init__(self, path: Path, shape: type[_T], empty: _T, *, private: bool = False) -> None:
        self.path = path
        self._shape, self._empty, self._private = shape, empty, private

    def read(self) -> _T:
        """The value. Raises ``MarvinError`` for a file that cannot be read, which stays as it is."""
        return self._convert(self._raw())

    def change(self, change: Callable[[Any], Any]) -> _T:
        """Put what ``change`` makes of the value, as JSON has it with all that is not ours, in its place.

        No other process changes it meanwhile. Raises ``MarvinError``, with the file as it was.
        """
        try:
            with alone(self.path):
                raw = change(self._raw())
                value = self._convert(raw)
                write(self.path, msgspec.json.format(msgspec.json.encode(raw)) + b"\n", private=self._private)
                return value
        except OSError as error:
            raise MarvinError(f"{self.path}: cannot be written ({error.strerror})") from error

    def _raw(self) -> Any:
        try:
            if self._private and self.path.stat().st_mode & _OTHERS:
                raise MarvinError(f"{self.path}: others may read it; `chmod 600` it, then try again")
            return msgspec.json.decode(self.path.read_bytes())
        except FileNotFoundError:
            return msgspec.to_builtins(self._empty)
        except OSError as error:
            raise MarvinError(f"{self.path}: cannot be read ({error.strerror})") from error
        except ValueError as error:
            raise MarvinError(f"{self.path}: this is not JSON ({error}); correct it, or move it away") from error

    def _convert(self, raw: Any) -> _T:
        try:
            return msgspec.convert(raw, self._shape)
        except msgspec.ValidationError as error:
            raise MarvinError(f"{self.path}: {error}; correct it, or move it away") from error
