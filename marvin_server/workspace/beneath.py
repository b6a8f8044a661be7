"""Opening a path beneath an open directory so that no symbolic link, ``..`` or swap in between can lead out of it.

``by_kernel`` asks Linux (openat2 with RESOLVE_BENEATH); ``by_walking`` does the same by hand on any POSIX system.
"""

import errno
import os
import stat
import struct
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    import ctypes

_OPENAT2 = 437
_NO_MAGICLINKS = 0x02
_BENEATH = 0x08
_ATTEMPTS = 128
_LINKS = 40

if sys.platform == "linux":
    NAME_ONLY = os.O_PATH
else:
    NAME_ONLY = os.O_RDONLY | os.O_NONBLOCK

_STEP = NAME_ONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Opened(Struct, frozen=True):
    """An open file: ``path`` is where it truly is, relative to the root, without links or dots (``.`` is the root)."""

    fd: int
    path: str


Opener = Callable[[int, str, int], Opened]
"""Opens what exists: (the root's descriptor, a path relative to it, flags without O_CREAT) to ``Opened``.

Raises OSError: EXDEV for a path that leads out, which every absolute symbolic link counts as, wherever it points;
ELOOP for too many links; EAGAIN when the tree changes faster than it can be followed; else what ``open`` gives.
"""


def best_opener(root: int) -> Opener:
    """``by_kernel`` where it works for the open directory ``root``, else ``by_walking``."""
    if sys.platform == "linux" and os.uname().machine in {"x86_64", "aarch64"}:
        try:
            os.close(by_kernel(root, ".", NAME_ONLY).fd)
        except OSError:
            return by_walking
        return by_kernel
    return by_walking


def by_kernel(root: int, path: str, flags: int) -> Opened:
    """One openat2(2); where the file truly is comes from /proc/self/fd."""
    import ctypes

    how = struct.pack("QQQ", flags | os.O_CLOEXEC, 0, _BENEATH | _NO_MAGICLINKS)
    for _ in range(_ATTEMPTS):
        fd = _libc().syscall(
            ctypes.c_long(_OPENAT2),
            ctypes.c_long(root),
            ctypes.c_char_p(os.fsencode(path)),
            ctypes.c_char_p(how),
            ctypes.c_size_t(len(how)),
        )
        if fd >= 0:
            try:
                return Opened(fd, _place(root, fd))
            except BaseException:
                os.close(fd)
                raise
        if ctypes.get_errno() not in {errno.EAGAIN, errno.EINTR}:
            break
    raise _error(ctypes.get_errno(), path)


def by_walking(root: int, path: str, flags: int) -> Opened:
    """One name at a time, never following a link that the system follows by itself."""
    for _ in range(_ATTEMPTS):
        try:
            return _walk(root, path, flags)
        except _Swapped:
            continue
    raise _error(errno.EAGAIN, path)


class _Swapped(Exception):
    """A name became a symbolic link between the look at it and its opening."""


def _walk(root: int, path: str, flags: int) -> Opened:
    if path.startswith("/"):
        raise _error(errno.EXDEV, path)
    pending = path.split("/")[::-1]
    names: list[str] = []
    links = 0
    here = os.dup(root)
    try:
        while pending:
            name = pending.pop()
            if name in {"", "."}:
                continue
            if name == "..":
                if not names:
                    raise _error(errno.EXDEV, path)
                pending += [*names[:-1]][::-1]
                names = []
                here = _instead(here, os.dup(root))
            elif (target := _link(here, name)) is not None:
                links += 1
                if links > _LINKS:
                    raise _error(errno.ELOOP, path)
                if target.startswith("/"):
                    raise _error(errno.EXDEV, path)
                pending += target.split("/")[::-1]
            elif pending:
                here = _instead(here, os.open(name, _STEP, dir_fd=here))
                names.append(name)
            else:
                return Opened(_open_last(here, name, flags), "/".join([*names, name]))
        return Opened(os.open(".", flags | os.O_CLOEXEC, dir_fd=here), "/".join(names) or ".")
    finally:
        os.close(here)


def _open_last(directory: int, name: str, flags: int) -> int:
    try:
        fd = os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise _Swapped from error
        raise
    if stat.S_ISLNK(os.fstat(fd).st_mode):
        os.close(fd)
        raise _Swapped
    return fd


def _link(directory: int, name: str) -> str | None:
    try:
        return os.readlink(name, dir_fd=directory)
    except OSError as error:
        if error.errno == errno.EINVAL:
            return None
        raise


def _instead(old: int, new: int) -> int:
    os.close(old)
    return new


@cache
def _libc() -> "ctypes.CDLL":
    import ctypes

    return ctypes.CDLL(None, use_errno=True)


def _place(root: int, fd: int) -> str:
    base, place = (str(Path(f"/proc/self/fd/{number}").readlink()) for number in (root, fd))
    if place == base:
        return "."
    prefix = base.rstrip("/") + "/"
    if not place.startswith(prefix):
        raise _error(errno.EXDEV, place)
    if place.endswith(" (deleted)") and os.fstat(fd).st_nlink == 0:
        raise _error(errno.ENOENT, place)
    return place.removeprefix(prefix)


def _error(number: int, path: str) -> OSError:
    return OSError(number, os.strerror(number), path)
