"""Text files read and changed whole: encoding, byte order mark, line ends and mode stay as they are."""

import asyncio
import errno
import os
import posixpath
import stat
import threading
from collections.abc import Generator
from contextlib import contextmanager

from msgspec import Struct

from marvin_server.errors import ToolError
from marvin_server.workspace import encodings
from marvin_server.workspace.confine import Root, write_all
from marvin_server.workspace.encodings import Encoding, amount
from marvin_server.workspace.line_ranges import LineRange, read_range
from marvin_server.workspace.listing import top_level
from marvin_server.workspace.names import printable

LARGEST = 20_000_000
SMALL = 200_000  # bytes; what takes longer than this is work for a thread
_FULL = {errno.ENOSPC, errno.EDQUOT}
_WHY = {
    errno.EFBIG: "it would be larger than a file may be",
    errno.EROFS: "the file system is read-only",
    errno.ETXTBSY: "it is a program that is running",
    errno.ENOTDIR: "a part of its path is a file, not a folder",
}


class Document(Struct, frozen=True):
    """A text file as it was read. ``path`` is relative to the root; ``text`` keeps every line end as it is on disk and
    lacks the byte order mark, which ``encoding`` implies except for utf-8 and latin-1; bytes that are not UTF-8 are
    surrogate escapes in it. ``digest`` is the SHA-256 of the bytes, in hex; None where the text is that of a file that
    was open in the editor, with the line ends that it has there."""

    path: str
    text: str
    encoding: Encoding
    digest: str | None


def read(root: Root, path: str) -> Document:
    """The text file at ``path``, in the encoding that ``encodings.detect`` finds.

    Raises ToolError for what is missing, no file, unreadable, binary or over 20 MB, besides what ``Root`` refuses.
    """
    with _open(root, path, os.O_RDONLY) as fd:
        encoding = encodings.detect(fd, path)
        content = _read_all(fd, path, LARGEST)
    return Document(path, encodings.decode(content, encoding, path), encoding, _digest(content))


def read_bytes(root: Root, path: str, limit: int = LARGEST) -> bytes:
    """The whole file at ``path``, text or not, of at most ``limit`` bytes. Raises ToolError as ``read`` does."""
    with _open(root, path, os.O_RDONLY) as fd:
        return _read_all(fd, path, limit)


async def read_lines(root: Root, path: str, start: int, end: int) -> LineRange:
    """See ``read_range``: lines of a file of any size. Raises ToolError as ``read`` does, but for the size."""
    stopped = threading.Event()
    with _open(root, path, os.O_RDONLY) as fd:
        if os.fstat(fd).st_size <= SMALL:
            return read_range(fd, encodings.detect(fd, path), start, end, stopped.is_set)
        file = os.fdopen(os.dup(fd), "rb", buffering=0)

    def read_apart() -> LineRange:
        with file:
            return read_range(file.fileno(), encodings.detect(file.fileno(), path), start, end, stopped.is_set)

    try:
        return await asyncio.to_thread(read_apart)
    finally:
        stopped.set()


def write(root: Root, document: Document, text: str) -> Document:
    """Give the file that ``document`` was read from the whole new ``text``, in the same encoding and mode.

    It happens at once or not at all. A file with several hard links is overwritten in place, so that all of them see
    the change, and gets its bytes back when that fails. Raises ToolError when the file is no longer as it was read.
    """
    path = document.path
    content = encodings.encode(text, document.encoding, path)
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
        case FileExistsError() | FileNotFoundError() if target := _dangling(root, path):
            text = f"'{name}' is a symbolic link to '{printable(target)}', where there is nothing."
        case FileExistsError():
            text = f"File already exists: '{name}'. Use apply_patch to modify existing files."
        case FileNotFoundError():
            text = f"File not found: '{name}'. {_nearest(root, path)}"
        case IsADirectoryError():
            text = f"'{name}' is a folder, not a file. It holds:\n{top_level(root, path)}"
        case PermissionError():
            text = f"Permission denied {doing} '{name}'. Check file permissions."
        case _ if error.errno in _FULL:
            left = "there is no such file" if doing == "creating" else "the file is as it was"
            text = f"No space left on the disk while {doing} '{name}'; {left}. Free some space first."
        case _:
            text = f"Failed {doing} '{name}': {_WHY.get(error.errno or 0, error.strerror)}."
    return text


def _dangling(root: Root, path: str) -> str | None:
    """Where the symbolic link ``path`` points, when it leads nowhere."""
    try:
        if target := root.link(path):
            try:
                root.stat(path)
            except FileNotFoundError:
                return target
    except (OSError, ToolError):
        pass
    return None


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
    while max(len(content), os.fstat(fd).st_size) <= limit and (piece := os.read(fd, limit + 1 - len(content))):
        content += piece
    size = max(len(content), os.fstat(fd).st_size)
    if size > limit:
        raise ToolError(
            f"'{printable(path)}' has {amount(size)}, over the limit of {amount(limit)}. "
            "Text can be read in ranges (start_line, end_line) or searched (code_grep)."
        )
    return bytes(content)


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


def _digest(content: bytes) -> str:
    import hashlib

    return hashlib.sha256(content).hexdigest()
