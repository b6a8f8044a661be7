"""Text files read, made and changed whole: encoding, byte order mark, line ends and mode stay as they are."""

import codecs
import errno
import os
import posixpath
import stat
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Literal, TextIO

from msgspec import Struct

from marvin_server.errors import ToolError
from marvin_server.workspace.confine import Root, write_all
from marvin_server.workspace.listing import top_level
from marvin_server.workspace.names import printable

Encoding = Literal["utf-8", "utf-8-sig", "utf-16-le", "utf-16-be", "latin-1"]

LARGEST = 20_000_000
_SAMPLE = 8192
_LONGEST_LINE = 2000
_MARKS: dict[Encoding, bytes] = {"utf-16-le": codecs.BOM_UTF16_LE, "utf-16-be": codecs.BOM_UTF16_BE}
_FULL = {errno.ENOSPC, errno.EDQUOT}
_WHY = {
    errno.EFBIG: "it would be larger than a file may be",
    errno.EROFS: "the file system is read-only",
    errno.ETXTBSY: "it is a program that is running",
    errno.ENOTDIR: "a part of its path is a file, not a folder",
}


class Document(Struct, frozen=True):
    """A text file as it was read. ``path`` is relative to the root; ``text`` keeps every line end as it is on disk and
    lacks the byte order mark, which ``encoding`` implies except for utf-8 and latin-1; ``digest`` is the SHA-256 of the
    bytes, in hex."""

    path: str
    text: str
    encoding: Encoding
    digest: str


def read(root: Root, path: str) -> Document:
    """The text file at ``path``: UTF-8, UTF-16 with a byte order mark, else Latin-1, which keeps any byte as it is.

    Raises ToolError for what is missing, no file, unreadable, binary (a NUL in the first 8 KB) or over 20 MB, besides
    what ``Root`` refuses.
    """
    content = read_bytes(root, path)
    encoding = _sniffed(content[:_SAMPLE], path, len(content))
    try:
        text = content.removeprefix(_MARKS.get(encoding, b"")).decode(encoding)
    except UnicodeDecodeError as error:
        if encoding in _MARKS:
            raise _binary(path, len(content)) from error
        encoding, text = "latin-1", content.decode("latin-1")
    return Document(path, text, encoding, _digest(content))


def read_bytes(root: Root, path: str, limit: int = LARGEST) -> bytes:
    """The whole file at ``path``, text or not, of at most ``limit`` bytes. Raises ToolError as ``read`` does."""
    with _open(root, path, os.O_RDONLY) as fd:
        return _read_all(fd, path, limit)


def read_lines(root: Root, path: str, start: int, end: int) -> tuple[list[str], int]:
    r"""Lines ``start`` to ``end`` (from 1, both included), without ``\n`` or ``\r\n``, and how many lines there are.

    The file may be of any size. A line over 2,000 characters is cut, with a note. Raises ToolError as ``read`` does,
    but for the size.
    """
    lines: list[str] = []
    total = 0
    with _open(root, path, os.O_RDONLY) as fd:
        encoding = _sniffed(os.pread(fd, _SAMPLE, 0), path, os.fstat(fd).st_size)
        with os.fdopen(fd, encoding=encoding, errors="backslashreplace", newline="\n", closefd=False) as stream:
            for total, line in enumerate(_cut_lines(stream), 1):
                if start <= total <= end:
                    lines.append(line.removeprefix("\ufeff") if total == 1 else line)
    return lines, total


def create(root: Root, path: str, text: str) -> Document:
    """Make the UTF-8 file ``path`` and the folders that it is in. Raises ToolError, as when it exists."""
    content = _encoded(path, text, "utf-8")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    with explained(root, path, "creating"):
        try:
            fd = root.open(path, flags)
        except FileNotFoundError:
            root.make_directory(posixpath.dirname(path))
            fd = root.open(path, flags)
        try:
            write_all(fd, content)
            os.fsync(fd)
        except OSError:
            root.remove(path)
            raise
        finally:
            os.close(fd)
    return Document(path, text, "utf-8", _digest(content))


def append(root: Root, path: str, text: str) -> Document:
    """Put ``text`` at the end of the existing file ``path``, exactly as it is. Raises ToolError as ``write`` does."""
    document = read(root, path)
    return write(root, document, document.text + text)


def write(root: Root, document: Document, text: str) -> Document:
    """Give the file that ``document`` was read from the whole new ``text``, in the same encoding and mode.

    It happens at once or not at all. A file with several hard links is overwritten in place, so that all of them see
    the change, and gets its bytes back when that fails. Raises ToolError when the file is no longer as it was read.
    """
    path = document.path
    content = _encoded(path, text, document.encoding)
    with _open(root, path, os.O_RDWR, "writing") as fd:
        old = _read_all(fd, path, LARGEST)
        if _digest(old) != document.digest:
            raise ToolError(f"'{printable(path)}' has changed on disk since it was read. Read it again.")
        if os.fstat(fd).st_nlink > 1:
            _overwrite(fd, old, content)
        else:
            root.replace(path, fd, content)
    return Document(path, text, document.encoding, _digest(content))


@contextmanager
def _open(root: Root, path: str, flags: int, doing: str = "reading") -> Generator[int]:
    """The open regular file ``path``."""
    with explained(root, path, doing):
        fd = root.open(path, flags)
        try:
            if stat.S_ISDIR(os.fstat(fd).st_mode):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
            yield fd
        finally:
            os.close(fd)


@contextmanager
def explained(root: Root, path: str, doing: str) -> Generator[None]:
    """What the system says against ``doing`` (such as ``reading``) something with ``path`` becomes a ToolError."""
    try:
        yield
    except OSError as error:
        raise ToolError(_explanation(root, path, doing, error)) from error


def _explanation(root: Root, path: str, doing: str, error: OSError) -> str:
    name = printable(path)
    match error:
        case FileExistsError():
            return f"File already exists: '{name}'. Use apply_patch to modify existing files."
        case FileNotFoundError():
            return f"File not found: '{name}'. {_nearest(root, path)}"
        case IsADirectoryError():
            return f"'{name}' is a folder, not a file. It holds:\n{top_level(root, path)}"
        case PermissionError():
            return f"Permission denied {doing} '{name}'. Check file permissions."
        case _ if error.errno in _FULL:
            return f"No space left on the disk while {doing} '{name}'; the file is as it was. Free some space first."
        case _:
            why = _WHY.get(error.errno or 0, error.strerror)
            return f"Failed {doing} '{name}': {why}."


def _nearest(root: Root, path: str) -> str:
    """A listing of the deepest folder on the way to ``path`` that exists."""
    folder = posixpath.dirname(posixpath.normpath(path))
    while folder:
        try:
            if stat.S_ISDIR(root.stat(folder).st_mode):
                return f"Files in '{printable(folder)}':\n{top_level(root, folder)}"
        except (OSError, ToolError):
            pass
        folder = posixpath.dirname(folder)
    return f"Working dir: {printable(str(root.path))}. Files:\n{top_level(root)}"


def _read_all(fd: int, path: str, limit: int) -> bytes:
    content = bytearray()
    while len(content) <= limit and (piece := os.read(fd, limit + 1 - len(content))):
        content += piece
    if len(content) > limit:
        size = max(len(content), os.fstat(fd).st_size)
        raise ToolError(
            f"'{printable(path)}' has {_amount(size)}, over the limit of {_amount(limit)}. "
            "Text can be read in ranges (start_line, end_line) or searched (code_grep)."
        )
    return bytes(content)


def _sniffed(sample: bytes, path: str, size: int) -> Encoding:
    """The encoding that the first bytes of a file show. Raises ToolError when they are binary."""
    if sample.startswith(codecs.BOM_UTF8):
        return "utf-8-sig"
    for encoding, mark in _MARKS.items():
        if sample.startswith(mark):
            return encoding
    if b"\0" in sample:
        raise _binary(path, size)
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample)
    except UnicodeDecodeError:
        return "latin-1"
    return "utf-8"


def _encoded(path: str, text: str, encoding: Encoding) -> bytes:
    try:
        return _MARKS.get(encoding, b"") + text.encode(encoding)
    except UnicodeEncodeError as error:
        bad = printable(text[error.start : error.start + 1])
        raise ToolError(f"'{printable(path)}' is {encoding} text, which cannot hold the character '{bad}'.") from error


def _overwrite(fd: int, old: bytes, content: bytes) -> None:
    try:
        _put(fd, content)
    except OSError:
        _put(fd, old)
        raise


def _put(fd: int, content: bytes) -> None:
    os.lseek(fd, 0, os.SEEK_SET)
    write_all(fd, content)
    os.ftruncate(fd, len(content))
    os.fsync(fd)


def _cut_lines(stream: TextIO) -> Iterator[str]:
    """The lines of ``stream`` without their ends, none of them kept in memory beyond what is shown of it."""
    while piece := stream.readline(_LONGEST_LINE + 2):
        length = len(piece)
        last = piece
        while not last.endswith("\n") and (more := stream.readline(_SAMPLE)):
            last = more
            length += len(more)
        line = piece.removesuffix("\n").removesuffix("\r")
        if len(line) > _LONGEST_LINE or last is not piece:
            line = f"{line[:_LONGEST_LINE]} … [line cut: {length:,} characters in all]"
        yield line


def _binary(path: str, size: int) -> ToolError:
    return ToolError(f"'{printable(path)}' is a binary file of {_amount(size)}; only text can be read here.")


def _amount(size: int) -> str:
    return f"{size / 1_000_000:,.1f} MB" if size >= 1_000_000 else f"{size:,} bytes"


def _digest(content: bytes) -> str:
    import hashlib

    return hashlib.sha256(content).hexdigest()
