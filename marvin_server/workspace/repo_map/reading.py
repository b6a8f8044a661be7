"""Reads what is in the files of a workspace."""

import os
import stat
from collections.abc import Iterable, Iterator
from itertools import groupby
from posixpath import basename, dirname

from marvin_server.errors import ToolError
from marvin_server.workspace.confine import Root
from marvin_server.workspace.repo_map.scan import LARGEST

_HEAD = 8192
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def content(root: Root, path: str) -> bytes:
    """What is in the file ``path``, no more of it than tells that it is too large; nothing when it cannot be read."""
    return next(text for _, text in contents(root, [path]))


def contents(root: Root, paths: Iterable[str]) -> Iterator[tuple[str, bytes]]:
    """Each of ``paths``, which hold no links, with its ``content``. ``Root`` opens their folders, once for the files of
    a folder that come one after the other: it takes longer to open a file than to read it."""
    for folder, inside in groupby(paths, dirname):
        try:
            fd = root.open(folder or ".", os.O_RDONLY | os.O_DIRECTORY)
        except (OSError, ToolError):
            yield from ((path, b"") for path in inside)
            continue
        try:
            for path in inside:
                yield path, _content(fd, basename(path))
        finally:
            os.close(fd)


def _content(folder: int, name: str) -> bytes:
    try:
        with os.fdopen(os.open(name, _FILE, dir_fd=folder), "rb", buffering=0) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return b""
            head = file.read(_HEAD)
            return head if len(head) < _HEAD or b"\0" in head else head + (file.read(LARGEST) or b"")
    except OSError:
        return b""
