"""Events on their way to the client: in order, numbered, deltas in batches."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from marvin_server.events import (
    Event,
    MessageDelta,
    Notice,
    Patch,
    PatchProposed,
    Permission,
    PermissionRequested,
    ThoughtDelta,
    ToolOutput,
    TurnFinished,
    TurnStarted,
)
from marvin_server.lsp.feed import INTERVAL, Feed
from marvin_server.messages import Usage
from marvin_server.protocol.sessions import PartialMessage
from marvin_server.session.subscription import Subscription
from tests.patience import SECONDS

NEVER = 3600.0  # seconds: what is sent is not sent because time went by, however slow the machine is


class Pipe:
    """A client that reads when it is told to."""

    def __init__(self) -> None:
        self.is_full = False
        self.told: list[Any] = []
        self.changed = asyncio.Event()
        self._waiting: list[Callable[[], None]] = []

    def when_not_full(self, call: Callable[[], None]) -> None:
        self._waiting.append(call)

    def tell(self, method: str, params: Any) -> None:
        assert method == "marvin/turn/events"
        self.told.append(params)
        self.changed.set()

    async def count(self, wanted: int) -> None:
        """Wait until so many notifications were sent."""
        async with asyncio.timeout(SECONDS):
            while len(self.told) < wanted:
                self.changed.clear()
                await self.changed.wait()

    def read(self) -> None:
        self.is_full = False
        waiting, self._waiting = self._waiting, []
        for call in waiting:
            call()

    @property
    def events(self) -> list[list[Any]]:
        return [params["events"] for params in self.told]


class Stream:
    """A feed between a subscription and a pipe."""

    def __init__(self, *silent: str, interval: float = NEVER) -> None:
        self.pipe = Pipe()
        self.subscription = Subscription([])
        self.turns = 0
        self.feed = Feed("s", self.subscription, self.pipe, silent, self._on_turn, interval=interval)
        self._number = 0
        self.push(TurnStarted("t", "s", "p", "m"))

    def _on_turn(self, _: object) -> None:
        self.turns += 1

    def push(self, *events: Event) -> None:
        for event in events:
            self._number += 1
            self.subscription.push(self._number, event)


def delta(text: str, message_id: str = "m") -> MessageDelta:
    return MessageDelta(message_id, text)


def wire(text: str, message_id: str = "m") -> dict[str, str]:
    return {"type": "message.delta", "messageId": message_id, "text": text}


async def turns_of_the_loop() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


@asynccontextmanager
async def streaming(interval: float) -> AsyncGenerator[Stream]:
    stream = Stream(interval=interval)
    running = asyncio.create_task(stream.feed.run())
    await turns_of_the_loop()
    yield stream
    stream.subscription.close()
    await running


@pytest.fixture
async def stream() -> AsyncIterator[Stream]:
    async with streaming(NEVER) as stream:
        yield stream


async def test_deltas_wait_for_the_interval_after_something_was_sent() -> None:
    started = asyncio.get_running_loop().time()
    async with streaming(INTERVAL) as stream:
        stream.push(delta("a"), delta("b"))
        await stream.pipe.count(2)
        assert stream.pipe.events[1] == [wire("ab")]
        assert asyncio.get_running_loop().time() - started >= INTERVAL


async def test_deltas_that_come_one_by_one_meanwhile_wait_with_the_first(stream: Stream) -> None:
    for text in ("a", "b", "c"):
        stream.push(delta(text))
        await turns_of_the_loop()
    assert len(stream.pipe.told) == 1
    stream.feed.catch_up()
    assert stream.pipe.events[1] == [wire("abc")]


async def test_the_first_delta_after_a_pause_is_sent_at_once() -> None:
    async with streaming(0.0) as stream:
        stream.push(delta("a"))
        await turns_of_the_loop()
        stream.push(delta("b"))
        await turns_of_the_loop()
        assert stream.pipe.events[1:] == [[wire("a")], [wire("b")]]


async def test_any_other_event_takes_the_deltas_before_it_along(stream: Stream) -> None:
    stream.push(delta("a"))
    await turns_of_the_loop()
    stream.push(delta("b"), Notice("note", "hm"), delta("c"))
    await turns_of_the_loop()
    notice = {"type": "notice", "level": "note", "text": "hm"}
    assert stream.pipe.events[1:] == [[wire("ab"), notice, wire("c")]]


async def test_four_thousand_characters_are_not_kept_waiting(stream: Stream) -> None:
    stream.push(delta("x" * 4095))
    await turns_of_the_loop()
    assert len(stream.pipe.told) == 1
    stream.push(delta("y"))
    await turns_of_the_loop()
    assert stream.pipe.events[1:] == [[wire("x" * 4095 + "y")]]


async def test_notifications_are_numbered_and_name_their_turn(stream: Stream) -> None:
    stream.push(TurnFinished("queued", "cancelled", Usage()), Notice("note", "1"), TurnFinished("t", "failed", Usage()))
    await turns_of_the_loop()
    assert [(told["sessionId"], told["seq"], told["turnId"], len(told["events"])) for told in stream.pipe.told] == [
        ("s", 1, "t", 1),
        ("s", 2, "queued", 1),
        ("s", 3, "t", 2),
    ]
    assert stream.turns == 3


async def test_for_a_client_that_does_not_read_deltas_are_put_together_and_nothing_is_lost(stream: Stream) -> None:
    stream.pipe.is_full = True
    for number in range(1000):
        stream.push(delta(f"{number},"), ToolOutput("c", "."), ThoughtDelta("m", "?"))
    stream.push(Notice("note", "between"))
    await turns_of_the_loop()
    for number in range(1000):
        stream.push(delta(f"{number},"))
        await turns_of_the_loop()
    assert len(stream.pipe.told) == 1
    stream.pipe.read()
    text = "".join(f"{number}," for number in range(1000))
    assert stream.pipe.events[1:] == [
        [
            wire(text),
            {"type": "tool.output", "toolCallId": "c", "text": "." * 1000},
            {"type": "thought.delta", "messageId": "m", "text": "?" * 1000},
            {"type": "notice", "level": "note", "text": "between"},
            wire(text),
        ]
    ]


async def test_a_snapshot_has_all_that_was_sent_and_the_text_so_far(stream: Stream) -> None:
    question = Permission("q", "command", "ls", "why", "rule")
    stream.push(ThoughtDelta("m", "hm"), delta("a"), delta("b"), PermissionRequested(question))
    stream.feed.catch_up()
    assert stream.feed.seq == 2 == len(stream.pipe.told)
    assert stream.feed.unfinished() == PartialMessage("m", "ab", "hm")
    assert stream.feed.questions == {"q": question}
    stream.push(TurnFinished("t", "cancelled", Usage()))
    stream.feed.catch_up()
    assert stream.feed.unfinished() is None


async def test_kinds_of_events_can_be_silenced_but_not_turns_questions_and_reviews() -> None:
    stream = Stream("thought", "notice", "turn", "permission", "patch")
    question = PermissionRequested(Permission("q", "command", "ls", "why", "rule"))
    proposed, end = PatchProposed(Patch("p", "title", ())), TurnFinished("t", "completed", Usage())
    stream.push(ThoughtDelta("m", "?"), Notice("note", "x"), question, proposed, end)
    stream.feed.catch_up()
    told = [event["type"] for events in stream.pipe.events for event in events]
    assert told == ["turn.started", "permission.requested", "patch.proposed", "turn.finished"]
