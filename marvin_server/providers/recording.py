"""The format of a recording: JSON lines, one for each exchange with a vendor, with everything secret left out."""

import contextlib
import os
import stat
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct

from marvin_server.errors import UsageError

_MARK = b'{"recording":1,'

Ending = Literal["whole", "left", "silent", "error"]


class Speaker(Struct, frozen=True):
    """The provider that asked: its wire API, what it is made with (``options``), and what its errors say."""

    wire_api: str
    title: str
    url: str
    check_key: str
    check_url: str
    options: Mapping[str, Any]


class Asked(Struct, frozen=True):
    """A request, its body parsed."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: Any


class Chunk(Struct, frozen=True, omit_defaults=True):
    """Bytes of an answer, decompressed, ``ms`` milliseconds after its request: as text where they are whole UTF-8."""

    ms: int
    text: str | None = None
    base64: bytes | None = None

    @property
    def content(self) -> bytes:
        return self.text.encode() if self.text is not None else self.base64 or b""


class Answered(Struct, frozen=True):
    """An answer; its head came ``ms`` milliseconds after its request."""

    status: int
    headers: Mapping[str, str]
    ms: int
    chunks: tuple[Chunk, ...]


class Failure(Struct, frozen=True):
    """The ``ProviderError`` that ended an exchange."""

    type: str
    message: str


class Recorded(Struct, frozen=True):
    """One line of a recording; ``recording`` is the format's version, 1.

    ``ended`` is ``whole``, ``left`` (the reader had enough), ``silent`` (the reader waited for more in vain) or
    ``error``. There is no ``response`` when the exchange ended before the head of an answer.
    """

    recording: Literal[1]
    provider: Speaker
    request: Asked
    response: Answered | None
    ended: Ending
    error: Failure | None


def read(path: Path) -> tuple[Recorded, ...]:
    """The exchanges of a recording, in their order. Raises ``UsageError`` with the line that is wrong."""
    lines: list[Recorded] = []
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                try:
                    lines.append(msgspec.json.decode(line, type=Recorded))
                except (msgspec.DecodeError, UnicodeDecodeError) as error:
                    raise UsageError(f"{path}:{number}: this is no recorded exchange ({error})") from None
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    if not lines:
        raise UsageError(f"{path}: this recording is empty")
    return tuple(lines)


class Tape:
    """A recording that is written, one durable line after the other. Its file is its owner's alone (mode 0600).

    Raises ``UsageError`` for a file that holds anything but a recording.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with _open(path) as file:
                if problem := _problem(file):
                    raise UsageError(f"--record {path}: {problem}")
                os.fchmod(file, 0o600)
        except OSError as error:
            raise UsageError(f"--record {path}: {error.strerror}") from None

    def write(self, recorded: Recorded) -> None:
        """Add a line; it is on disk when this returns. Raises ``OSError``."""
        line = memoryview(msgspec.json.encode(recorded) + b"\n")
        with _open(self.path) as file:
            while line:
                line = line[os.write(file, line) :]
            os.fsync(file)


@contextlib.contextmanager
def _open(path: Path) -> Generator[int]:
    """A file descriptor for reading and adding; the file is made where there is none."""
    file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        yield file
    finally:
        os.close(file)


def _problem(file: int) -> str | None:
    """Why nothing may be added to this file."""
    status = os.fstat(file)
    if not stat.S_ISREG(status.st_mode):
        return "this is no ordinary file"
    if status.st_size and os.pread(file, len(_MARK), 0) != _MARK:
        return "this file is no recording, so it is left as it is; name another"
    if status.st_size and os.pread(file, 1, status.st_size - 1) != b"\n":
        return "its last line is cut short; remove that line, or name another file"
    return None
