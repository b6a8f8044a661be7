"""Lines from a descriptor, in the event loop: a terminal, a pipe or a file."""

import asyncio
import codecs
import os
from collections.abc import Callable

_AT_ONCE = 65_536
# Lines of a paste follow each other at once, which no fingers do, in seconds.
_TOGETHER = 0.03


class Lines:
    """``on_line`` gets each line without its end, ``on_end`` comes once after the last. A line whose end is escaped by
    a backslash goes on. Where it ``joins``, lines that come together are one, as they were pasted."""

    def __init__(
        self, descriptor: int, on_line: Callable[[str], None], on_end: Callable[[], None], *, joins: bool
    ) -> None:
        self._descriptor = descriptor
        self._on_line = on_line
        self._on_end = on_end
        self._joins = joins
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""
        self._together: list[str] = []
        self._timer: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()
        self._is_file = False
        self._has_ended = False

    def start(self) -> None:
        """Read from now on."""
        if self._has_ended:
            return
        try:
            self._loop.add_reader(self._descriptor, self._read)
        except PermissionError:
            # A file is always ready, and no selector takes it.
            self._is_file = True
            self._loop.call_soon(self._read)

    def stop(self) -> None:
        """Leave what comes to others."""
        if not self._is_file and not self._has_ended:
            self._loop.remove_reader(self._descriptor)

    def _read(self) -> None:
        try:
            read = os.read(self._descriptor, _AT_ONCE)
        except OSError:
            read = b""
        *lines, self._rest = (self._rest + self._decoder.decode(read, final=not read)).split("\n")
        for line in lines:
            self._take(line.removesuffix("\r"))
        if read:
            if self._is_file:
                self._loop.call_soon(self._read)
            return
        self.stop()
        self._has_ended = True
        if self._rest:
            self._together.append(self._rest)
        if self._timer:
            self._timer.cancel()
        self._hand_on()
        self._on_end()

    def _take(self, line: str) -> None:
        self._together.append(line)
        if not self._joins:
            self._hand_on()
            return
        if self._timer:
            self._timer.cancel()
        self._timer = self._loop.call_later(_TOGETHER, self._hand_on)

    def _hand_on(self) -> None:
        if not self._together:
            return
        last = self._together[-1]
        if last.endswith("\\") and not self._has_ended:
            self._together[-1] = last[:-1]
            return
        text = "\n".join(self._together)
        self._together.clear()
        self._on_line(text)
