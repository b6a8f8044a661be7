"""Writes from a thread of its own, so that a client or a terminal that does not read never stops the event loop."""

import asyncio
import os
import threading
from collections import deque
from collections.abc import Callable

FULL = 1024 * 1024


class Writer:
    """The way out to the client, in order. Its methods are for the event loop that it is made in.

    ``on_broken`` is called there once when nobody is left to read.
    """

    def __init__(self, descriptor: int, on_broken: Callable[[], None]) -> None:
        self._descriptor = descriptor
        self._on_broken = on_broken
        self._loop = asyncio.get_running_loop()
        self._frames: deque[bytes] = deque()
        self._queued = 0
        self._is_broken = False
        self._changed = threading.Condition()
        self._waiting: dict[Callable[[], None], None] = {}
        threading.Thread(target=self._run, name="marvin writer", daemon=True).start()

    @property
    def is_full(self) -> bool:
        """Whether more than ``FULL`` bytes wait for the client."""
        return self._queued > FULL

    def write(self, frame: bytes) -> None:
        """Queue ``frame``; never waits. What comes after the pipe has broken is dropped."""
        with self._changed:
            if not self._is_broken:
                self._frames.append(frame)
                self._queued += len(frame)
                self._changed.notify_all()

    def when_not_full(self, call: Callable[[], None]) -> None:
        """Call it once, as soon as there is room again."""
        self._waiting[call] = None
        if not self.is_full:
            self._loop.call_soon(self._tell_room)

    def flush(self, seconds: float) -> bool:
        """Wait until everything is written, ``seconds`` at most, and say whether it is. It blocks: for the end only."""
        with self._changed:
            return self._changed.wait_for(lambda: self._queued == 0, seconds)

    def _run(self) -> None:
        try:
            while True:
                with self._changed:
                    self._changed.wait_for(lambda: self._frames)
                    taken = b"".join(self._frames) if self._queued <= FULL else self._frames[0]
                    count = len(self._frames) if self._queued <= FULL else 1
                self._write(taken)
                with self._changed:
                    was_full = self.is_full
                    for _ in range(count):
                        self._frames.popleft()
                    self._queued -= len(taken)
                    self._changed.notify_all()
                if was_full and not self.is_full:
                    self._loop.call_soon_threadsafe(self._tell_room)
        except OSError:
            with self._changed:
                self._is_broken = True
                self._frames.clear()
                self._queued = 0
                self._changed.notify_all()
            self._loop.call_soon_threadsafe(self._on_broken)

    def _write(self, frame: bytes) -> None:
        view = memoryview(frame)
        while view:
            view = view[os.write(self._descriptor, view) :]

    def _tell_room(self) -> None:
        waiting, self._waiting = self._waiting, {}
        for call in waiting:
            call()
