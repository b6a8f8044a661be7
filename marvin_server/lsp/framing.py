"""Cuts a stream of bytes into JSON-RPC messages and makes them into bytes again.

The format is the "base protocol" of https://microsoft.github.io/language-server-protocol/specifications/lsp/3.17/specification/.
Names of headers may be in any case, lines may end in LF alone, a byte order mark is passed over, and so are blank lines
before a message. Anything else that is wrong with a header loses the place where the next message begins.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from marvin_server.session.transcript import storable

LARGEST_BODY = 256 * 1024 * 1024
_LONGEST_LINE, _MOST_HEADERS = 8192, 64
_BOM = b"\xef\xbb\xbf"
_NAME = re.compile(rb"[A-Za-z0-9-]+")
_DIGITS = re.compile(rb"[0-9]{1,16}")
_HALF_PAIR = re.compile(rb"\\u[dD][89a-fA-F]")


class BrokenFrame(Exception):
    """The stream cannot be followed any further; the message says what was wrong with it."""


class Frames:
    """The reader's side: it takes bytes as they arrive and gives the bodies that are whole."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._headers = 0
        self._length: int | None = None
        self._in_body = False

    @property
    def is_within(self) -> bool:
        """Whether the last byte so far stands within a message."""
        return bool(self._buffer) or self._headers > 0 or self._in_body

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Each body that is whole with ``chunk``. Raises ``BrokenFrame``, after all that came before."""
        self._buffer += chunk
        while True:
            body = self._body() if self._in_body else None
            if body is not None:
                yield body
            elif self._in_body or not self._header():
                return

    def _body(self) -> bytes | None:
        length = self._length or 0
        if len(self._buffer) < length:
            return None
        body = bytes(memoryview(self._buffer)[:length])
        del self._buffer[:length]
        self._headers, self._length, self._in_body = 0, None, False
        return body

    def _header(self) -> bool:
        """Take one line of the header; False when it is not whole yet."""
        end = self._buffer.find(b"\n", 0, _LONGEST_LINE)
        if end < 0:
            if len(self._buffer) >= _LONGEST_LINE:
                raise BrokenFrame(f"a header line is longer than {_LONGEST_LINE} bytes")
            return False
        line = bytes(memoryview(self._buffer)[:end]).removeprefix(_BOM).removesuffix(b"\r")
        del self._buffer[: end + 1]
        if line:
            self._field(line)
        elif self._headers:
            if self._length is None:
                raise BrokenFrame("a message came without Content-Length")
            self._in_body = True
        return True

    def _field(self, line: bytes) -> None:
        name, colon, value = line.partition(b":")
        if not colon or not _NAME.fullmatch(name.rstrip()):
            raise BrokenFrame(f"this is no header line: {line[:60]!r}")
        self._headers += 1
        if self._headers > _MOST_HEADERS:
            raise BrokenFrame(f"a message has more than {_MOST_HEADERS} header lines")
        if name.rstrip().lower() != b"content-length":
            return
        if not _DIGITS.fullmatch(value.strip()):
            raise BrokenFrame(f"Content-Length must be a number of bytes, not {value.strip()[:60]!r}")
        length = int(value)
        if length > LARGEST_BODY:
            raise BrokenFrame(f"Content-Length is {length:,}; a message has {LARGEST_BODY:,} bytes at most")
        if self._length not in (None, length):
            raise BrokenFrame(f"Content-Length is given twice: {self._length} and {length}")
        self._length = length


def decode(body: bytes) -> Any:
    """The JSON value that ``body`` is; U+FFFD stands for a half of a surrogate pair. Raises ``ValueError``."""
    try:
        value = json.loads(body.removeprefix(_BOM).decode(), parse_constant=_refuse)
        return json.loads(storable(json.dumps(value, ensure_ascii=False))) if _HALF_PAIR.search(body) else value
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def encode(message: Any) -> bytes:
    """``message`` as a frame. What a tool has put into it that JSON does not know is told as text, and NaN as null."""
    try:
        text = _text(message)
    except ValueError:
        text = _text(json.loads(json.dumps(message, default=str), parse_constant=lambda _: None))
    body = storable(text).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def _text(message: Any) -> str:
    return json.dumps(message, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=str)


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is not JSON")
