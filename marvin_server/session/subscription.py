"""What a front-end hears of a session: its events, in order, at the pace of the one who reads."""

import asyncio
from collections import deque

from marvin_server.events import Event


class Subscription:
    """The events of a session as an async iterator of ``(seq, event)``; it ends when the session is closed."""

    def __init__(self, backlog: list[tuple[int, Event]]) -> None:
        self._events = deque(backlog)
        self._changed = asyncio.Event()
        self._closed = False

    def push(self, seq: int, event: Event) -> None:
        """Hand over one event; never waits for the reader."""
        self._events.append((seq, event))
        self._changed.set()

    def close(self) -> None:
        """Let the iterator end after what is still in it."""
        self._closed = True
        self._changed.set()

    @property
    def is_drained(self) -> bool:
        """Whether the reader has everything that has happened so far."""
        return not self._events

    def take(self) -> list[tuple[int, Event]]:
        """All that has happened so far and was not read yet, without waiting."""
        taken = list(self._events)
        self._events.clear()
        return taken

    def __aiter__(self) -> "Subscription":
        return self

    async def __anext__(self) -> tuple[int, Event]:
        while not self._events:
            if self._closed:
                raise StopAsyncIteration
            self._changed.clear()
            await self._changed.wait()
        return self._events.popleft()
