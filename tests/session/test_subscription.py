"""What subscribers of a session hear."""

import asyncio

import pytest

from marvin_server.events import MessageDelta, TurnFinished
from marvin_server.messages import Usage
from marvin_server.session.subscription import Broadcast, Subscription

DELTA, END = MessageDelta("m", "text"), TurnFinished("t", "completed", Usage())


async def heard(subscription: Subscription) -> list[object]:
    return [event async for _, event in subscription]


async def test_who_wants_one_kind_of_events_is_not_woken_for_others() -> None:
    events = Broadcast()
    everything, ends = events.subscribe(), events.subscribe(only=TurnFinished)
    reading = [asyncio.create_task(heard(each)) for each in (everything, ends)]
    for event in (DELTA, DELTA, END, DELTA):
        events.publish(event)
        await asyncio.sleep(0)
    events.close()
    assert await asyncio.gather(*reading) == [[DELTA, DELTA, END, DELTA], [END]]


async def test_a_reader_that_was_cancelled_while_it_waited_misses_nothing_later() -> None:
    events = Broadcast()
    subscription = events.subscribe()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(anext(subscription), 0.01)
    events.publish(DELTA)
    assert await anext(subscription) == (1, DELTA)
