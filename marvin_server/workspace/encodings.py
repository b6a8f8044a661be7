"""How a file's bytes are text: found out once for every way of reading, and undone byte for byte when writing."""

import codecs
import os
import re
from collections.abc import Iterable
from typing import Literal

from marvin_server.errors import ToolError
from marvin_server.workspace.names import printable

Encoding = Literal["utf-8", "utf-8-sig", "utf-16-le", "utf-16-be", "latin-1"]

MARKS: dict[Encoding, bytes] = {"utf-16-le": codecs.BOM_UTF16_LE, "utf-16-be": codecs.BOM_UTF16_BE}
_SAMPLE = 8192
_PIECE = 1_000_000
_LOOKED_AT = 20_000_000
_HALF = re.compile("[\ud800-\udfff]")
_ESCAPED = re.compile("[\udc80-\udcff]")
_UTF32 = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)


def detect(fd: int, path: str) -> Encoding:
    """The encoding of the open file ``fd``: by its byte order mark, else UTF-8, else Latin-1.

    UTF-8 may hold some bytes that are none (fewer than it has characters beyond ASCII); the first 20 MB decide.
    Raises ToolError as ``by_mark`` does.
    """
    pieces = (os.pread(fd, _PIECE, offset) for offset in range(0, _LOOKED_AT, _PIECE))
    return by_mark(fd, path) or ("utf-8" if _is_mostly_utf8(pieces) else "latin-1")


def detected(content: bytes, path: str) -> Encoding:
    """As ``detect``, of the content of a file."""
    pieces = (content[offset : offset + _PIECE] for offset in range(0, _LOOKED_AT, _PIECE))
    return _marked(content[:_SAMPLE], len(content), path) or ("utf-8" if _is_mostly_utf8(pieces) else "latin-1")


def by_mark(fd: int, path: str) -> Encoding | None:
    """The encoding that the byte order mark of the open file ``fd`` tells, None without one.

    Raises ToolError, which names ``path``, for binary content: UTF-32, or a NUL in the first 8 KB without a mark.
    """
    return _marked(os.pread(fd, _SAMPLE, 0), os.fstat(fd).st_size, path)


def _marked(head: bytes, size: int, path: str) -> Encoding | None:
    if head.startswith(codecs.BOM_UTF8):
        return "utf-8-sig"
    wide: Encoding | None = next((encoding for encoding, mark in MARKS.items() if head.startswith(mark)), None)
    if head.startswith(_UTF32) or (not wide and b"\0" in head):
        raise binary(path, size)
    return wide


def decode(content: bytes, encoding: Encoding, path: str) -> str:
    """The text without its mark; a byte that is not UTF-8 becomes a surrogate escape. Raises ToolError."""
    try:
        return content.removeprefix(MARKS.get(encoding, b"")).decode(encoding, _errors(encoding))
    except UnicodeDecodeError as error:
        raise binary(path, len(content)) from error


def encode(text: str, encoding: Encoding, path: str) -> bytes:
    """The bytes with their mark, as ``decode`` takes them. Raises ToolError for what the encoding cannot hold."""
    try:
        return MARKS.get(encoding, b"") + text.encode(encoding, _errors(encoding))
    except UnicodeEncodeError as error:
        bad = printable(text[error.start : error.start + 1])
        raise ToolError(f"'{printable(path)}' is {encoding} text, which cannot hold the character '{bad}'.") from error


def readable(text: str) -> str:
    """``text`` as it can be shown and sent: surrogate escapes become ``\\xff``, other halves of characters U+FFFD."""
    return _HALF.sub(lambda half: f"\\x{ord(half[0]) - 0xDC00:02x}" if _ESCAPED.match(half[0]) else "\ufffd", text)


def binary(path: str, size: int) -> ToolError:
    """The error for a file that is no text."""
    return ToolError(f"'{printable(path)}' is a binary file of {amount(size)}; only text can be read here.")


def amount(size: int) -> str:
    """``size`` in bytes, in words."""
    return f"{size / 1_000_000:,.1f} MB" if size >= 1_000_000 else f"{size:,} bytes"


def _errors(encoding: Encoding) -> str:
    return "surrogateescape" if encoding in {"utf-8", "utf-8-sig"} else "strict"


def _is_mostly_utf8(pieces: Iterable[bytes]) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    good = bad = 0
    for piece in pieces:
        text = decoder.decode(piece, final=not piece)
        if not text.isascii():
            wrong = len(_ESCAPED.findall(text))
            bad += wrong
            good += len(text) - len(text.encode("ascii", "ignore")) - wrong
        if not piece:
            break
    return bad == 0 or good > bad
