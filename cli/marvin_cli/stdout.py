"""Standard output for a program with an event loop: a reader that does not read never blocks it."""

import asyncio
import os
import select
import stat

# A pipe that is ready takes this much without blocking (POSIX: PIPE_BUF).
_READY = 4096


class Stalled(Exception):
    """Nobody reads, and the person has asked to stop."""


class Stdout:
    """What arrives at one time is written at one time, as UTF-8."""

    def __init__(self, descriptor: int = 1) -> None:
        self._descriptor = descriptor
        self._pieces: list[str] = []
        self.at_line_start = True

    def write(self, text: str) -> None:
        """Take ``text``; it is written with the next flush."""
        self._pieces.append(text)
        self.at_line_start = text.endswith("\n")

    def flush_now(self) -> None:
        """Write what was taken, however long that blocks. Raises ``OSError``; the text is gone then."""
        data = self._take()
        while data:
            data = data[os.write(self._descriptor, data) :]

    async def flush(self, stop: asyncio.Event) -> None:
        """Write what was taken. Raises ``OSError``, and ``Stalled`` when ``stop`` is set while nobody reads."""
        data = self._take()
        if not data:
            return
        piece = len(data) if stat.S_ISREG(os.fstat(self._descriptor).st_mode) else _READY
        poll = select.poll()
        poll.register(self._descriptor, select.POLLOUT)
        while data:
            if poll.poll(0):
                data = data[os.write(self._descriptor, data[:piece]) :]
            else:
                await self._ready(stop)

    async def _ready(self, stop: asyncio.Event) -> None:
        loop = asyncio.get_running_loop()
        ready = loop.create_future()
        stopped = asyncio.create_task(stop.wait())
        loop.add_writer(self._descriptor, lambda: ready.done() or ready.set_result(None))
        try:
            await asyncio.wait([ready, stopped], return_when=asyncio.FIRST_COMPLETED)
        finally:
            loop.remove_writer(self._descriptor)
            stopped.cancel()
        if not ready.done():
            raise Stalled

    def _take(self) -> memoryview:
        text = "".join(self._pieces)
        self._pieces.clear()
        return memoryview(text.encode("utf-8", "replace"))


def write_line(descriptor: int, line: str) -> None:
    """Write one line at once; a descriptor that takes nothing is no reason to stop."""
    data = memoryview(f"{line}\n".encode("utf-8", "replace"))
    try:
        while data:
            data = data[os.write(descriptor, data) :]
    except OSError:
        pass
