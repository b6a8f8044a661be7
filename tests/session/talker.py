"""Long conversations with a scripted model, which writes summaries when it is asked for one."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from marvin_server.events import Compacted, Event
from marvin_server.providers.base import ModelRequest, StreamEvent
from marvin_server.session.opening import OpenSession
from tests.agent.scripted import Scripted, Step
from tests.session.turns import turn

SUMMARY = "## Task\nCount the letters."
LONG = "word " * 1_500  # about 1,900 tokens
SHORT = "some words, " * 50


class Talker(Scripted):
    """Plays a script, and writes summaries when it is asked for one."""

    def __init__(self) -> None:
        super().__init__()
        self.summary: Sequence[Step] = [SUMMARY]
        self.limits: list[Sequence[Step]] = []
        self.summarised: list[ModelRequest] = []

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent]:
        if "You write the memory of Marvin" not in request.system:
            stream = super().stream(request)
        else:
            self.summarised.append(request)
            stream = Scripted(self.limits.pop() if self.limits else self.summary).stream(request)
        async with aclosing(stream) as events:
            async for event in events:
                yield event


async def talk(opened: OpenSession, provider: Talker, turns: int, text: str = LONG) -> list[Event]:
    """So many turns; the events of all."""
    events: list[Event] = []
    for number in range(turns):
        provider.add([f"Answer {number}."])
        events += await turn(opened, f"Prompt {number}: {text}")
    return events


def compactions(events: list[Event]) -> list[Compacted]:
    return [event for event in events if isinstance(event, Compacted)]


def seen(provider: Talker) -> str:
    """All text of the conversation in the latest request."""
    return "\n".join(message.text for message in provider.requests[-1].history)
