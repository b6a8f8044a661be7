"""What the suites of sessions see of a turn."""

import asyncio
from collections.abc import Callable

from marvin_server.events import (
    Event,
    ToolFinished,
    TurnFinished,
)
from marvin_server.session.opening import OpenSession
from marvin_server.session.subscription import Subscription
from tests.patience import SECONDS

Opener = Callable[..., OpenSession]


async def finish(subscription: Subscription) -> list[Event]:
    """The events up to the end of the turn."""
    seen: list[Event] = []
    async with asyncio.timeout(SECONDS):
        async for _, event in subscription:
            seen.append(event)
            if isinstance(event, TurnFinished):
                return seen
    raise AssertionError("the session was closed before its turn ended")


async def turn(opened: OpenSession, prompt: str = "Go on") -> list[Event]:
    """The events of a turn."""
    subscription = opened.session.subscribe()
    opened.session.submit(prompt)
    events = await finish(subscription)
    opened.session.unsubscribe(subscription)
    return events


async def wait_for(subscription: Subscription, kind: type[Event]) -> Event:
    async with asyncio.timeout(SECONDS):
        async for _, event in subscription:
            if isinstance(event, kind):
                return event
    raise AssertionError("the session was closed")


def kinds(events: list[Event]) -> list[str]:
    return [event.type for event in events]


def results(events: list[Event]) -> list[tuple[str, str]]:
    return [(event.name, event.status) for event in events if isinstance(event, ToolFinished)]


def stop(events: list[Event]) -> tuple[str, str | None]:
    end = events[-1]
    assert isinstance(end, TurnFinished)
    return end.stop_reason, end.error.kind if end.error else None
