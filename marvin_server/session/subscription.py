"""What front-ends hear of a session: its events, in order, each at the pace of the one who reads."""

import asyncio
from collections import deque

from marvin_server.events import Event

# A subscriber that comes later is given this many of the latest events at most; the transcript is in the store.
_KEPT_EVENTS = 256


class Subscription:
    """The events of a session, or those of one kind ``only``, as an async iterator of ``(seq, event)`` for one reader.
    It ends when the session is closed."""

    def __init__(self, backlog: list[tuple[int, Event]], only: type[Event] | None = None) -> None:
        self._events = deque(backlog)
        self._only = only
        self._waiter: asyncio.Future[None] | None = None
        self._closed = False

    def push(self, seq: int, event: Event) -> None:
        """Hand over one event; never waits for the reader."""
        if self._only is None or isinstance(event, self._only):
            self._events.append((seq, event))
            self._wake()

    def close(self) -> None:
        """Let the iterator end after what is still in it."""
        self._closed = True
        self._wake()

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
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        return self._events.popleft()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


class Broadcast:
    """The events of a session, counted by one so that a gap shows, for everybody who has subscribed to them."""

    def __init__(self) -> None:
        self._seq = 0
        self._kept: deque[tuple[int, Event]] = deque(maxlen=_KEPT_EVENTS)
        self._subscriptions: list[Subscription] = []
        self._closed = False

    def publish(self, event: Event) -> None:
        """Tell every subscriber; never waits for one."""
        self._seq += 1
        self._kept.append((self._seq, event))
        for subscription in self._subscriptions:
            subscription.push(self._seq, event)

    def subscribe(self, from_seq: int | None = None, only: type[Event] | None = None) -> Subscription:
        """The events from now on, all or of one kind ``only``; with ``from_seq`` also the kept ones from that number
        on."""
        backlog = [] if from_seq is None else [kept for kept in self._kept if kept[0] >= from_seq]
        subscription = Subscription(backlog, only)
        if self._closed:
            subscription.close()
        else:
            self._subscriptions.append(subscription)
        return subscription

    def unsubscribe(self, subscription: Subscription) -> None:
        """Send it no more events, and let it end."""
        self._subscriptions.remove(subscription)
        subscription.close()

    def close(self) -> None:
        """Let every subscription end."""
        self._closed = True
        for subscription in self._subscriptions:
            subscription.close()
