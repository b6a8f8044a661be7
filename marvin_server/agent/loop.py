"""A turn: rounds of one model request and the tool calls that it asks for, until the model has answered."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from marvin_server.agent.calls import CallRunner, unanswered
from marvin_server.agent.compactor import Compactor, applied
from marvin_server.agent.fitting import Abilities
from marvin_server.agent.model_requests import ModelRequests
from marvin_server.agent.prompt import Prompt
from marvin_server.agent.recovery import Recovery
from marvin_server.errors import ProviderError
from marvin_server.events import Compacted, Event, Failure, MessageFinished, Notice, RoundStarted, Stop, TurnFinished
from marvin_server.messages import Charge, Message, ToolCall, ToolSpec
from marvin_server.providers.base import ModelRequest, Provider
from marvin_server.settings import Effort

_ANSWER_NOW = "\n\nThe limit of rounds is reached. Call no more tools: answer now with what you know."


class Inputs(Struct, frozen=True):
    """What each round asks the session for, since a tool call may have changed it.

    ``system`` is the system prompt, ``tools`` what may be called, ``steering`` the prompts that the person typed into
    the running turn (each is handed over once), ``abilities`` what a provider's model can take. ``schema`` is what the
    final answer must match, where that is asked; ``effort`` is how much the model shall think.
    """

    system: Callable[[], Prompt]
    tools: Callable[[], Sequence[ToolSpec]]
    steering: Callable[[], Sequence[Message]]
    abilities: Callable[[Provider], Awaitable[Abilities]]
    schema: Mapping[str, Any] | None = None
    effort: Effort | None = None


class Limits(Struct, frozen=True):
    """``rounds`` with tools, after which one more asks for an answer. ``spent`` says in a line why no more may be
    spent, None while more may; ``nearly_spent`` gives lines about that, each once."""

    rounds: int
    spent: Callable[[], str | None]
    nearly_spent: Callable[[], Sequence[str]]


class Agent:
    """Answers one turn with one provider.

    ``account`` books the tokens of a finished message that a provider has given, and says what they cost; ``compactor``
    makes the conversation smaller where it is too long for the model.
    """

    def __init__(
        self,
        recovery: Recovery,
        runner: CallRunner,
        inputs: Inputs,
        limits: Limits,
        account: Callable[[Provider, Message], Awaitable[Charge]],
        *,
        compactor: Compactor,
    ) -> None:
        self._requests = ModelRequests(recovery, inputs.abilities, limits.spent, account, compactor)
        self._runner = runner
        self._inputs = inputs
        self._limits = limits
        self._stop: Stop | None = None

    async def run(self, turn_id: str, history: Sequence[Message]) -> AsyncGenerator[Event]:
        """Yield the events of the turn that answers ``history``; ``TurnFinished`` is the last, whatever happens.

        A cancelled task gets its last events too: the text that had arrived as an interrupted message, an answer to
        every tool call, and the end of the turn.
        """
        messages = list(history)
        failure: Failure | None = None
        try:
            async with aclosing(self._rounds(messages)) as rounds:
                async for event in rounds:
                    if isinstance(event, MessageFinished):
                        messages.append(event.message)
                    elif isinstance(event, Compacted):
                        messages[:] = applied(messages, event)
                    yield event
        except asyncio.CancelledError:
            self._stop = "cancelled"
            if task := asyncio.current_task():
                task.uncancel()
        except ProviderError as error:
            failure = Failure(type(error).__name__, str(error), error.retryable)
        except Exception:
            if interrupted := self._requests.take_partial():
                yield MessageFinished(interrupted)
            raise
        if interrupted := self._requests.take_partial():
            yield MessageFinished(interrupted)
        yield TurnFinished(turn_id, self._stop or "failed", self._requests.usage, failure)

    async def _rounds(self, messages: Sequence[Message]) -> AsyncGenerator[Event]:
        """The rounds themselves; ``messages`` grows, as they pass, by the messages that this yields."""
        number = 0
        while self._stop is None:
            number += 1
            for message in self._inputs.steering():
                yield MessageFinished(message)
            if why := self._limits.spent():
                yield Notice("warning", why)
                self._stop = "budget"
                return
            for line in self._limits.nearly_spent():
                yield Notice("warning", line)
            yield RoundStarted(number)
            is_last = number > self._limits.rounds
            async with aclosing(self._last_round(messages) if is_last else self._round(messages)) as events:
                async for event in events:
                    yield event

    async def _round(self, messages: Sequence[Message]) -> AsyncGenerator[Event]:
        calls: tuple[ToolCall, ...] = ()
        request = self._request(messages, self._inputs.system(), self._inputs.tools())
        async with aclosing(self._requests.ask(request)) as events:
            async for event in events:
                if isinstance(event, MessageFinished):
                    calls = event.message.tool_calls
                yield event
        if not calls:
            self._stop = "budget" if self._requests.is_spent else "completed"
            return
        if why := self._limits.spent():
            yield MessageFinished(unanswered(calls, "Not run: the cost limit is reached."))
            yield Notice("warning", why)
            self._stop = "budget"
            return
        async with aclosing(self._runner.run_all(calls)) as events:
            async for event in events:
                yield event
        if self._runner.stop_asked:
            self._stop = "denied"

    async def _last_round(self, messages: Sequence[Message]) -> AsyncGenerator[Event]:
        """Ask for an answer without tools; a model that calls some all the same is not heard."""
        system = self._inputs.system()
        request = self._request(messages, replace(system, text=system.text + _ANSWER_NOW), ())
        async with aclosing(self._requests.ask(request)) as events:
            async for event in events:
                if not isinstance(event, MessageFinished):
                    yield event
                elif answer := tuple(part for part in event.message.parts if not isinstance(part, ToolCall)):
                    yield MessageFinished(replace(event.message, parts=answer, finish="stop"))
        self._stop = "budget" if self._requests.is_spent else "round_limit"

    def _request(self, messages: Sequence[Message], system: Prompt, tools: Sequence[ToolSpec]) -> ModelRequest:
        schema, effort = self._inputs.schema, self._inputs.effort
        return ModelRequest(system.text, tuple(messages), tools, schema, effort, system.stable)
