"""What arrives from the client, cut into messages; where that cannot be done any more, the connection is broken."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from functools import partial

from marvin_server.lsp.framing import BrokenFrame, Frames

# A message that is not whole after so long a silence never will be: its length was wrong.
_SILENCE_SECONDS = 10.0
_log = logging.getLogger("marvin.lsp")


class Intake:
    """Gives every message to ``take``, in the order of arrival: what one has begun makes its first step before the next
    one is given. ``end`` is called at the end of the input, ``break_off`` with the reason when the place where the next
    message begins is lost."""

    def __init__(
        self, take: Callable[[bytes], None], end: Callable[[], None], break_off: Callable[[str], None]
    ) -> None:
        self._take = take
        self._end = end
        self._break_off = break_off
        self._frames = Frames()
        self._silence: asyncio.TimerHandle | None = None
        self._line: deque[Callable[[], None]] = deque()
        self._is_held = False

    def receive(self, chunk: bytes) -> None:
        """Take what the client has sent; ``b""`` is the end of it."""
        if self._silence is not None:
            self._silence.cancel()
            self._silence = None
        try:
            for body in self._frames.feed(chunk):
                self._queue(partial(self._take, body))
        except BrokenFrame as error:
            self._queue(partial(self._break_off, str(error)))
            return
        if not chunk:
            if self._frames.is_within:
                _log.error("the input ended within a message")
            self._queue(self._end)
        elif self._frames.is_within:
            loop = asyncio.get_running_loop()
            self._silence = loop.call_later(_SILENCE_SECONDS, self._break_off, "a message is shorter than it says")

    def _queue(self, call: Callable[[], None]) -> None:
        self._line.append(call)
        if not self._is_held:
            self._next()

    def _next(self) -> None:
        """Do the first in the line. A task that it starts is one step of the loop ahead of the next in the line."""
        self._is_held = bool(self._line)
        if self._line:
            try:
                self._line.popleft()()
            finally:
                asyncio.get_running_loop().call_soon(self._next)
