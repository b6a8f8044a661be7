"""Every process that a command has started, and how to end them all."""

import asyncio
import os
import select
import signal
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Protocol

from marvin_server.workspace.orphans import Process, adoption, reap

TAG = "MARVIN_COMMAND"
_GRACE = 0.5
_BOUND = 3.0
_LISTS = 100  # a bound: others start processes all the time
_CALM = 3  # looks that find nobody: one look misses a process that is about to exec, and so shows no environment
_PAUSE = 0.005


class Descendants(Protocol):
    """The processes of the one command whose environment has ``tag`` in its variable ``TAG``.

    ``leader`` is the pid of the command itself, which leads a session of its own, once it runs. With ``has_leader`` it
    is a sandbox's instead: all others are killed when it ends, so it is not asked to.
    """

    leader: int | None
    has_leader: bool

    def __init__(self, tag: str) -> None: ...

    async def end(self) -> int:
        """SIGTERM, after half a second SIGKILL, until none is left; returns how many there were at first.

        A cancelled ``end`` kills the rest at once. What may not be signalled (a setuid program) stays.
        """
        ...

    def kill(self) -> None:
        """SIGKILL until none is left, without an event loop."""
        ...


class TaggedProcesses:
    """Finds processes in Linux's /proc by their tag, so that neither setsid nor a double fork hides one.

    One that has cleared its environment is found by its session, by its living ancestors, and as Marvin's orphan.
    """

    def __init__(self, tag: str) -> None:
        self.leader: int | None = None
        self.has_leader = False
        self._tag = tag.encode()
        self._adoption = adoption()
        self._ended: set[int] = set()

    async def end(self) -> int:
        try:
            with closing(_Stopped(self._find())) as processes:
                if not (count := processes.count):
                    return 0
                processes.send(signal.SIGTERM, but=self.leader if self.has_leader else None)
                processes.send(signal.SIGCONT)
                await processes.gone(_GRACE)
            bound = time.monotonic() + _BOUND
            calm = 0
            while calm < _CALM and time.monotonic() < bound:
                with closing(_Stopped(self._find())) as processes:
                    processes.send(signal.SIGKILL)
                    calm = 0 if processes.count else calm + 1
                    await processes.gone(_PAUSE if calm else _GRACE)
        except asyncio.CancelledError:
            self.kill()
            raise
        reap(self._ended)
        return count

    def kill(self) -> None:
        bound = time.monotonic() + _BOUND
        calm = 0
        while calm < _CALM and time.monotonic() < bound:
            with closing(_Stopped(self._find())) as processes:
                processes.send(signal.SIGKILL)
                calm = 0 if processes.count else calm + 1
                processes.wait(_PAUSE if calm else _GRACE)
        reap(self._ended)

    def _find(self) -> Iterator[int]:
        for pid in self._living():
            if pid != self.leader:
                self._ended.add(pid)
            yield pid

    def _living(self) -> Iterator[int]:
        """The pids, each as soon as it is known: a process may fork and end while the others are looked at.

        So the list is taken again until it has none that was not looked at.
        """
        parents: dict[int, int] = {}
        found: set[int] = set()
        looked_at: set[int] = set()
        for _ in range(_LISTS):
            new = _pids() - looked_at
            looked_at |= new
            for process in _processes(new):
                pid = process.pid
                is_orphan = self._adoption.is_orphan(process, self.leader)
                if not process.is_running:
                    if is_orphan:
                        reap([pid])
                    continue
                parents[pid] = process.parent
                if process.session == self.leader or is_orphan or self._is_tagged(pid):
                    found.add(pid)
                    yield pid
            for pid in parents:
                line = [pid]
                while line[-1] not in found and (parent := parents.get(line[-1])):
                    line.append(parent)
                if line[-1] in found:
                    yield from line[:-1]
                    found.update(line)
            if not new:
                return

    def _is_tagged(self, pid: int) -> bool:
        try:
            return self._tag in Path(f"/proc/{pid}/environ").read_bytes()
        except OSError:
            return False


class ProcessGroup:
    """The command's process group: what a system without /proc offers. A process that leaves the group escapes."""

    def __init__(self, tag: str) -> None:
        self.leader: int | None = None
        self.has_leader = False

    async def end(self) -> int:
        """As ``Descendants.end``, but the group counts as one."""
        if not self._send(signal.SIGTERM):
            return 0
        try:
            async with asyncio.timeout(_GRACE):
                while self._send(signal.SIGCONT):  # noqa: ASYNC110  a group has no event to wait for
                    await asyncio.sleep(0.01)
        except TimeoutError:
            pass
        finally:
            self.kill()
        return 1

    def kill(self) -> None:
        self._send(signal.SIGKILL)

    def _send(self, number: signal.Signals) -> bool:
        if self.leader is None:
            return False
        try:
            os.killpg(self.leader, number)
        except (ProcessLookupError, PermissionError):
            return False
        return True


class _Stopped:
    """Processes that stand still, by pidfds: each names one process for good, and is readable when it has ended.

    They are stopped before any is ended, lest a shell go on to its next command when the one that it waits for dies.
    ``count`` leaves out those that may not be signalled.
    """

    def __init__(self, pids: Iterable[int]) -> None:
        self.count = 0
        self._open: dict[int, int] = {}
        for pid in pids:
            self.count += 1
            with suppress(ProcessLookupError):
                handle = os.pidfd_open(pid)
                try:
                    signal.pidfd_send_signal(handle, signal.SIGSTOP)
                    self._open[handle] = pid
                except OSError as error:
                    self.count -= isinstance(error, PermissionError)
                    os.close(handle)

    def send(self, number: signal.Signals, *, but: int | None = None) -> None:
        """Send a signal to all, ``but`` to the one with this pid not."""
        for handle, pid in self._open.items():
            if pid != but:
                with suppress(ProcessLookupError):
                    signal.pidfd_send_signal(handle, number)

    def close(self) -> None:
        for handle in self._open:
            os.close(handle)

    async def gone(self, seconds: float) -> None:
        """Wait until all have ended, at most ``seconds``."""
        loop = asyncio.get_running_loop()
        waiting, all_ended = set(self._open), asyncio.Event()

        def ended(handle: int) -> None:
            loop.remove_reader(handle)
            waiting.discard(handle)
            if not waiting:
                all_ended.set()

        for handle in self._open:
            loop.add_reader(handle, ended, handle)
        try:
            async with asyncio.timeout(seconds):
                await all_ended.wait()
        except TimeoutError:
            pass
        finally:
            for handle in waiting:
                loop.remove_reader(handle)

    def wait(self, seconds: float) -> None:
        """Wait until one of them has ended, at most ``seconds``, without an event loop."""
        poll = select.poll()
        for handle in self._open:
            poll.register(handle, select.POLLIN)
        poll.poll(seconds * 1000)


def best_way() -> type[Descendants]:
    """The surest way that this system has."""
    if hasattr(os, "pidfd_open") and Path("/proc/self/environ").exists():
        return TaggedProcesses
    return ProcessGroup


def _pids() -> set[int]:
    return {int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()}


def _processes(pids: Iterable[int]) -> Iterator[Process]:
    """Those that there still are, the newest first.

    One that has no memory is a zombie, or about to be: its files are closed already, and it runs no code any more.
    """
    for pid in sorted(pids, reverse=True):
        with suppress(OSError):
            stat = Path(f"/proc/{pid}/stat").read_bytes()
            fields = stat[stat.rindex(b")") + 2 :].split(b" ")
            parent, session, started, memory = int(fields[1]), int(fields[3]), int(fields[19]), fields[20]
            yield Process(pid, parent, session, started, is_running=memory != b"0")
