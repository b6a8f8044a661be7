"""Processes that have lost their parent: Marvin adopts its own, so that no command leaves one behind unseen (Linux)."""

import os
import sys
import time
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

_PR_SET_CHILD_SUBREAPER = 36


class Process(NamedTuple):
    """What /proc/PID/stat says (proc(5)); ``started`` is in clock ticks since boot."""

    pid: int
    parent: int
    session: int
    started: int
    is_running: bool


class Adoption:
    """Tells orphans from the processes that Marvin started itself, as long as those that lead a session are commands.

    While several commands run at once, nobody knows whose an orphan is; it then counts as the last one's.
    """

    def __init__(self) -> None:
        self._commands = 0
        self._since = 0.0
        self._others: frozenset[int] = frozenset()

    @contextmanager
    def command(self) -> Generator[None]:
        """One command runs while the block does."""
        if not self._commands and sys.platform == "linux":
            self._since = time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK")
            self._others = _children()
        self._commands += 1
        try:
            yield
        finally:
            self._commands -= 1

    def is_orphan(self, process: Process, leader: int | None) -> bool:
        """Whether the only command, whose own process is ``leader``, has left ``process`` to Marvin."""
        return (
            self._commands == 1
            and process.parent == os.getpid()
            and process.pid != leader
            and process.pid not in self._others
            and process.session != os.getsid(0)
            and process.started >= int(self._since)
        )


def _children() -> frozenset[int]:
    """The children that Marvin has now, where the kernel tells (proc(5), /proc/PID/task/TID/children)."""
    pids: set[int] = set()
    for task in Path("/proc/self/task").iterdir():
        with suppress(OSError):
            pids.update(map(int, (task / "children").read_text().split()))
    return frozenset(pids)


def reap(pids: Iterable[int]) -> None:
    """Let those of ``pids`` go that have ended and are Marvin's."""
    for pid in pids:
        with suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)


@cache
def adoption() -> Adoption:
    """The one of this process, which adopts orphans from the first call on (prctl(2), PR_SET_CHILD_SUBREAPER)."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    return Adoption()
