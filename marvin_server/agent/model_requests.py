"""The model requests of a turn: each is made to fit, put to a model, paid for, and asked again where that helps."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing

from msgspec.structs import replace

from marvin_server.agent.compactor import Compactor, applied
from marvin_server.agent.fitting import Abilities, fitted
from marvin_server.agent.recovery import Recovery, Step
from marvin_server.errors import ContextOverflow, Interrupted, ProviderError
from marvin_server.events import Event, MessageDelta, MessageFinished, Notice, ThoughtDelta, UsageChanged
from marvin_server.messages import Charge, Message, Part, Text, Thinking, Usage, new_id
from marvin_server.providers.base import ModelRequest, Provider

_AT_ONCE = Step(0.0, "")


class ModelRequests:
    """Those of one turn, to the provider that ``recovery`` names.

    ``abilities`` gives what a provider's model can take, ``spent`` says in a line why no more may be spent, ``account``
    books the tokens of a finished message and says what they cost. ``usage`` is that of all of them so far.
    """

    def __init__(
        self,
        recovery: Recovery,
        abilities: Callable[[Provider], Awaitable[Abilities]],
        spent: Callable[[], str | None],
        account: Callable[[Provider, Message], Awaitable[Charge]],
        compactor: Compactor,
    ) -> None:
        self.usage = Usage()
        self.is_spent = False
        self._recovery = recovery
        self._abilities = abilities
        self._spent = spent
        self._account = account
        self._compactor = compactor
        self._partial = _Partial()
        self._toolless: set[str] = set()
        self._cost: float | None = 0.0
        self._saved: float | None = None

    async def ask(self, request: ModelRequest) -> AsyncGenerator[Event]:
        """One request and what it cost, asked again as often as the recovery says.

        Text that was shown before a failure stays, as an interrupted message; the next try does not get to see it. A
        history that is too long is made smaller first, and when a vendor says so, whose models read no more. Once a cap
        is reached, by a summary too, nothing is asked and it ``is_spent``. Raises ``ProviderError``, with what had
        arrived left for ``take_partial``.
        """
        too_long: ContextOverflow | None = None
        while True:
            if spent := self._spent():
                yield Notice("warning", spent)
                self.is_spent = True
                return
            provider = self._recovery.provider
            abilities = await self._abilities(provider)
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

    def take_partial(self) -> Message | None:
        """What has arrived of a message that was broken off, and forget it; None when nothing had."""
        return self._partial.take(self._recovery.provider)

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
        self.usage += (message.usage or Usage()).plausible
        self._cost = None if charge.cost is None or self._cost is None else self._cost + charge.cost
        if charge.saved is not None:
            self._saved = (self._saved or 0.0) + charge.saved
        yield UsageChanged(self.usage, self._cost, self._saved)
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
