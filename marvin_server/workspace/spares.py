"""Spare files: what is in a folder on the way to a change only, and what a killed process has left of it.

A spare is called ``.marvin-PLACE-PID-START-RANDOM.new.tmp`` or ``….old.tmp``: new content that is not in its place yet,
or the old file for as long as it may have to be put back. The first three say who made it. Only on Linux can it be told
for sure that a process is no more; elsewhere they are ``0``, and nothing is swept.
"""

import os
import re
import stat
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Literal

Kind = Literal["new", "old"]

_FORM = re.compile(r"\.marvin-([0-9a-f]{16})-([1-9][0-9]{0,9})-([0-9]{1,20})-[0-9a-f]{16}\.(new|old)\.tmp")
_NOBODY = "0-0-0"


def name(kind: Kind) -> str:
    """A name that nobody has, for a spare of this process."""
    start = _start(os.getpid())
    maker = f"{_place()}-{os.getpid()}-{start}" if start else _NOBODY
    return f".marvin-{maker}-{os.urandom(8).hex()}.{kind}.tmp"


def sweep(folder: int) -> None:
    """Remove the spares that killed processes have left in the open ``folder``.

    That is every new one, and an old one whose content has another name too. An old one that is the last name of what
    it holds stays: it is a person's file. So does what was made in another boot of the system, on another machine or
    in another container, since nobody here knows whether its maker lives.
    """
    with suppress(OSError):
        for each in os.listdir(folder):
            if (match := _FORM.fullmatch(each)) and match[1] == _place() and _is_over(int(match[2]), match[3]):
                with suppress(OSError):
                    _remove(folder, each, is_old=match[4] == "old")


def _remove(folder: int, spare: str, *, is_old: bool) -> None:
    status = os.stat(spare, dir_fd=folder, follow_symlinks=False)
    is_needed = is_old and status.st_nlink == 1
    if not is_needed and (stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode)):
        os.unlink(spare, dir_fd=folder)


def _is_over(pid: int, start: str) -> bool:
    """Whether the process ``pid`` that began at ``start`` is no more; another one may have its number by now."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    return _start(pid) not in {None, start}


def _start(pid: int) -> str | None:
    """When the process began, in ticks since the system did (proc_pid_stat(5)); None when that cannot be known."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return None


@cache
def _place() -> str:
    """Where process numbers mean what they mean here: this boot of this system, and the namespace of this process."""
    import hashlib

    with suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text()
        return hashlib.sha256(f"{boot} {Path('/proc/self/ns/pid').readlink()}".encode()).hexdigest()[:16]
    return "0"
