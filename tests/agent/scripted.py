"""A provider that plays a script: a real implementation of the contract, without a network."""

import asyncio
from collections.abc import AsyncGenerator, Sequence

from marvin_server.errors import ProviderError
from marvin_server.events import MessageDelta, MessageFinished
from marvin_server.messages import Message, Part, Text, ToolCall, Usage, new_id
from marvin_server.providers.base import ModelRequest, StreamEvent


class Hang:
    """A step at which the model falls silent; ``reached`` is set then."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()


Step = str | ToolCall | ProviderError | Hang


def call(name: str, arguments: str = "{}", call_id: str = "") -> ToolCall:
    """A tool call with an id of its own unless one is given."""
    return ToolCall(call_id or new_id(), name, arguments)


class Scripted:
    """Answers the n-th request with the n-th list of steps; keeps what it was asked."""

    name = "scripted"
    model = "script-1"

    def __init__(self, *rounds: Sequence[Step]) -> None:
        self._rounds = list(rounds)
        self.requests: list[ModelRequest] = []
        self.closed = 0

    def add(self, *rounds: Sequence[Step]) -> None:
        """Go on with ``rounds`` when all before them were played."""
        self._rounds += rounds

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent]:
        self.requests.append(ModelRequest(request.system, tuple(request.history), tuple(request.tools)))
        message_id = new_id()
        parts: list[Part] = []
        try:
            for step in self._rounds.pop(0):
                if isinstance(step, Hang):
                    step.reached.set()
                    await asyncio.Event().wait()
                elif isinstance(step, ProviderError):
                    raise step
                elif isinstance(step, ToolCall):
                    parts.append(step)
                else:
                    parts.append(Text(step))
                    yield MessageDelta(message_id, step)
            finish = "tool_calls" if any(isinstance(part, ToolCall) for part in parts) else "stop"
            yield MessageFinished(
                Message("assistant", tuple(parts), message_id, finish, self.name, self.model, Usage(10, 2))
            )
        finally:
            self.closed += 1

    async def connect(self) -> None:
        pass

    async def aclose(self) -> None:
        pass
