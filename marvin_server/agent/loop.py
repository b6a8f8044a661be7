"""A turn: rounds of one model request and the tool calls that it asks for, until the model has answered."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from marvin_server.agent.calls import CallRunner, unanswered
from marvin_server.agent.compactor import Compactor, applied
from marvin_server.agent.fitting import Abilities, fitted
from marvin_server.agent.prompt import Prompt
from marvin_server.agent.recovery import Recovery, Step
from marvin_server.errors import ContextOverflow, Interrupted, ProviderError
from marvin_server.events import (
    Compacted,
    Event,
    Failure,
    MessageDelta,
    MessageFinished,
    Notice,
    RoundStarted,
    Stop,
    ThoughtDelta,
    TurnFinished,
    UsageChanged,
)
from marvin_server.messages import Charge, Message, Part, Text, Thinking, ToolCall, ToolSpec, Usage, new_id
from marvin_server.providers.base import ModelRequest, Provider
from marvin_server.settings import Effort

_AT_ONCE = Step(0.0, "")
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
        self._recovery = recovery
        self._runner = runner
        self._inputs = inputs
        self._limits = limits
        self._account = account
        self._compactor = compactor
        self._partial = _Partial()
        self._toolless: set[str] = set()
        self._stop: Stop | None = None
        self._usage = Usage()
        self._cost: float | None = 0.0
        self._saved: float | None = None

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
            if interrupted := self._partial.take(self._recovery.provider):
                yield MessageFinished(interrupted)
            raise
        if interrupted := self._partial.take(self._recovery.provider):
            yield MessageFinished(interrupted)
        yield TurnFinished(turn_id, self._stop or "failed", self._usage, failure)

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
        async with aclosing(self._ask(request)) as events:
            async for event in events:
                if isinstance(event, MessageFinished):
                    calls = event.message.tool_calls
                yield event
        if not calls:
            self._stop = self._stop or "completed"
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
        async with aclosing(self._ask(request)) as events:
            async for event in events:
                if not isinstance(event, MessageFinished):
                    yield event
                elif answer := tuple(part for part in event.message.parts if not isinstance(part, ToolCall)):
                    yield MessageFinished(replace(event.message, parts=answer, finish="stop"))
        self._stop = self._stop or "round_limit"

    def _request(self, messages: Sequence[Message], system: Prompt, tools: Sequence[ToolSpec]) -> ModelRequest:
        schema, effort = self._inputs.schema, self._inputs.effort
        return ModelRequest(system.text, tuple(messages), tools, schema, effort, system.stable)

    async def _ask(self, request: ModelRequest) -> AsyncGenerator[Event]:
        """One model request and what it cost, asked again as often as the recovery says.

        Text that was shown before a failure stays, as an interrupted message; the next try does not get to see it. A
        history that is too long is made smaller first, and when a vendor says so, whose models read no more. Once a cap
        is reached, by a summary too, nothing is asked.
        """
        too_long: ContextOverflow | None = None
        while True:
            if spent := self._limits.spent():
                yield Notice("warning", spent)
                self._stop = "budget"
                return
            provider = self._recovery.provider
            abilities = await self._inputs.abilities(provider)
            if request.tools and abilities.tools is False and (notice := self._without_tools(provider.model)):
                yield notice
            why = self._compactor.due(request, provider.model, abilities)
            if why:
                yield Notice("note", self._compactor.announcement(why, provider.model))
                if compacted := await self._compactor.compact(request.history, why):
                    yield compacted
                    yield Notice("note", compacted.line)
                    request, too_long = replace(request, history=tuple(applied(request.history, compacted))), None
                    continue
            if too_long:
                raise too_long
            try:
                async with aclosing(self._answer(fitted(request, abilities, provider.model), provider)) as events:
                    async for event in events:
                        yield event
            except ProviderError as error:
                step, too_long = await self._after(error)
            else:
                return
            if interrupted := self._partial.take(provider):
                yield MessageFinished(interrupted)
            if step.text:
                yield Notice("warning", step.text)
            await asyncio.sleep(step.seconds)

    async def _after(self, error: ProviderError) -> tuple[Step, ContextOverflow | None]:
        """How to go on after ``error``; with one that is given back, only with a smaller history. Raises what ends the
        turn."""
        try:
            step = await self._recovery.after(error)
        except ContextOverflow as refused:
            self._compactor.overflowed()
            return _AT_ONCE, refused
        if step is None:
            raise error
        return step, None

    def _without_tools(self, model: str) -> Notice | None:
        """What to say, once, of a model that takes none."""
        if model in self._toolless:
            return None
        self._toolless.add(model)
        return Notice("warning", f"{model} takes no tools: it can look nothing up and change nothing")

    async def _answer(self, request: ModelRequest, provider: Provider) -> AsyncGenerator[Event]:
        message: Message | None = None
        async with aclosing(provider.stream(request)) as stream:
            async for event in stream:
                if isinstance(event, MessageDelta | ThoughtDelta):
                    self._partial.add(event)
                elif isinstance(event, MessageFinished):
                    message = event.message
                    if not message.tool_calls and not message.text.strip():
                        continue
                    self._partial.take(provider)
                yield event
        if message is None:
            raise Interrupted(f"{provider.name} ended its answer without finishing it; try again")
        if message.finish == "length":
            yield Notice("warning", "the answer was cut at the model's output limit")
        charge = await self._account(provider, message)
        self._compactor.budget.answered(message)
        self._usage += (message.usage or Usage()).plausible
        self._cost = None if charge.cost is None or self._cost is None else self._cost + charge.cost
        if charge.saved is not None:
            self._saved = (self._saved or 0.0) + charge.saved
        yield UsageChanged(self._usage, self._cost, self._saved)
        if not message.tool_calls and not message.text.strip():
            raise Interrupted(f"{provider.name} gave an empty answer; try again")


class _Partial:
    """The pieces of a message that has not finished yet."""

    def __init__(self) -> None:
        self._text: list[str] = []
        self._thoughts: list[str] = []
        self._id = ""

    def add(self, event: MessageDelta | ThoughtDelta) -> None:
        (self._text if isinstance(event, MessageDelta) else self._thoughts).append(event.text)
        self._id = event.message_id

    def take(self, provider: Provider) -> Message | None:
        """What arrived from ``provider``, as an interrupted message, and forget it; None when nothing had."""
        parts: list[Part] = []
        if self._thoughts:
            parts.append(Thinking("".join(self._thoughts)))
        if self._text:
            parts.append(Text("".join(self._text)))
        self._text.clear()
        self._thoughts.clear()
        if not parts:
            return None
        return Message(
            "assistant",
            tuple(parts),
            id=self._id or new_id(),
            finish="interrupted",
            provider=provider.name,
            model=provider.model,
        )
