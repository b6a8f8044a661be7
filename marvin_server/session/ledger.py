"""The models that a session asks: what each can, which one goes on when it fails, and what they have cost."""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING

from marvin_server.agent.recovery import Larger, Recovery, Ways
from marvin_server.errors import BudgetSpent, Interrupted, Overloaded, RateLimited, UsageError
from marvin_server.events import MessageFinished
from marvin_server.messages import Charge, Message, Usage
from marvin_server.providers.base import ModelRequest, Provider
from marvin_server.providers.selection import Choice, fallbacks, with_model
from marvin_server.session import models
from marvin_server.session.models import ModelFacts
from marvin_server.session.store import Store
from marvin_server.session.usage import ModelUsage, Tally
from marvin_server.settings import Settings

if TYPE_CHECKING:
    from marvin_server.session.caps import Cap

_NO_OTHERS = Ways(lambda: (), lambda _: None)


class Ledger:
    """The models of the session ``session_id``; the one of ``choice`` answers its turns.

    Every model request that a session makes is counted here, and the caps on money hold for all of them, whichever
    process makes it. Requests of no session (None) have a ledger, too, and count as one session while it is there. A
    session that works for another one has the ledger of that as its ``parent``: what it uses is the parent's cost, and
    the parent's caps hold. ``tally`` counts what this process has used, for others too.
    """

    def __init__(
        self, settings: Settings, store: Store, session_id: str | None, choice: Choice, parent: "Ledger | None" = None
    ) -> None:
        self.tally = Tally()
        self._settings = settings
        self._store = store
        self._parent = parent
        self._payer: str | None = parent._payer if parent else session_id
        self._told: set[tuple[str, str, bool]] = set()
        self.provider = choice.provider
        self._choices = {(choice.provider.name, choice.provider.model): choice}

    def go_on_with(self, settings: Settings, choice: Choice) -> None:
        """Let another model, whose price was checked, answer from the next turn on."""
        made = self._choices.setdefault((choice.provider.name, choice.provider.model), choice)
        self.provider, self._settings = made.provider, settings

    async def aclose(self) -> None:
        """Close every provider that was made."""
        for choice in self._choices.values():
            await choice.provider.aclose()

    @property
    def ways(self) -> Ways:
        """How a turn goes on when a model cannot."""
        return Ways(
            lambda: [lambda make=make: self._going_on(make()) for make in fallbacks(self._settings)], self._larger
        )

    def check(self) -> None:
        """Raises ``UsageError`` where a cost limit cannot hold, since earlier runs used a model of unknown price."""
        if problem := self._unpriced():
            raise UsageError(problem)

    def spent(self) -> str | None:
        """Why no more may be spent, and what a person can do, in a line: a cap is reached, or cannot be told since a
        price was unknown. None while more may."""
        if self._parent:
            return self._parent.spent()
        reached = next((cap for cap in self._caps() if cap.is_reached), None)
        if reached is not None:
            return f"the cost limit is reached: {reached.standing}; {reached.way_on}"
        return self._unpriced()

    def nearly_spent(self) -> Sequence[str]:
        """Lines on caps that are near, or that do not count all; each warning once for its span."""
        if self._parent:
            return self._parent.nearly_spent()
        warnings = {(cap.span, cap.since, cap.is_near): cap.warning for cap in self._caps()}
        new = {key: warning for key, warning in warnings.items() if warning and key not in self._told}
        self._told.update(new)
        return list(new.values())

    async def ask(self, request: ModelRequest, choice: Choice | None = None) -> Message:
        """The answer to a request that is no round of a turn, counted like those; of ``choice``, or else of who answers
        the turns. A rate limit is waited out as in a turn; no other model is asked. Raises ``BudgetSpent``,
        ``UsageError`` where a cap cannot hold, and ``ProviderError``."""
        provider = await asyncio.to_thread(self._going_on, choice) if choice else self.provider
        waiting = Recovery(provider, _NO_OTHERS)
        while True:
            if why := self.spent():
                raise BudgetSpent(why)
            try:
                return await self._answer(provider, request)
            except (Overloaded, RateLimited) as error:
                if (step := await waiting.after(error)) is None:
                    raise
                await asyncio.sleep(step.seconds)

    async def _answer(self, provider: Provider, request: ModelRequest) -> Message:
        message: Message | None = None
        async with aclosing(provider.stream(request)) as events:
            async for event in events:
                if isinstance(event, MessageFinished):
                    message = event.message
        if message is None:
            raise Interrupted(f"{provider.name} ended its answer without finishing it; try again")
        await self.book(provider, message)
        return message

    def small(self) -> Choice | None:
        """Who writes summaries and titles: the answering provider with the setting ``small_model``; None where that is
        who answers the turns. Raises as ``selection.choose`` does; it may block."""
        answering = self._choices[self.provider.name, self.provider.model]
        name = self._settings.small_model
        if name is None or name == self.provider.model or answering.vendor is None:
            return None
        made = self._choices.get((self.provider.name, name)) or with_model(answering, name, self._settings)
        return self._choices.setdefault((made.provider.name, made.provider.model), made)

    def price(self, usage: Usage) -> float | None:
        """The USD that a request of this ``usage`` would cost, of who answers the turns; None where that is unknown. It
        may block."""
        choice = self._choices[self.provider.name, self.provider.model]
        return models.cost(self._settings, choice, self.provider.model, usage)

    async def book(self, asked: Provider, message: Message) -> Charge:
        """Count the tokens of a finished message and keep what they cost."""
        choice = self._choices[asked.name, asked.model]
        model, usage = message.model or asked.model, (message.usage or Usage()).plausible
        charge = Charge(0.0 if choice.free else None)
        if message.usage is not None:
            charge = await asyncio.to_thread(models.charge, self._settings, choice, usage, model, asked.model)
        self._count(asked.name, model, usage, charge)
        self._store.spending.record(self._payer, asked.name, model, usage, charge)
        return charge

    async def abilities(self, asked: Provider) -> ModelFacts:
        """What a provider's model can take."""
        choice = self._choices[asked.name, asked.model]
        return await asyncio.to_thread(models.facts, self._settings, choice, asked.model)

    def _count(self, provider: str, model: str, usage: Usage, charge: Charge) -> None:
        self.tally.add(provider, model, usage, charge)
        if self._parent:
            self._parent._count(provider, model, usage, charge)

    def _caps(self) -> "list[Cap]":
        """How the caps stand; none, in no time, where there are none."""
        if not self._settings.caps:
            return []
        from marvin_server.session import caps

        return caps.standing(self._settings.caps, self._store.spending, Tally(self._rows()).total)

    def _unpriced(self) -> str | None:
        """Why a cap cannot hold in this session; None where it can, or there is none."""
        rows = self._rows() if self._settings.caps else ()
        model = next((row.model for row in rows if row.unpriced), None)
        if model is None:
            return None
        limit = models.limit(self._settings)
        return f"{limit} cannot hold: this session has used {model}, whose price is unknown; begin a new session"

    def _rows(self) -> Sequence[ModelUsage]:
        """What the session has used in all processes; what belongs to none, in this one."""
        return self.tally.rows if self._payer is None else self._store.spending.of_session(self._payer)

    def _going_on(self, made: Choice) -> Provider:
        """The provider to go on with: one that was made before serves again. Raises as ``check_price`` does."""
        models.check_price(self._settings, made)
        return self._choices.setdefault((made.provider.name, made.provider.model), made).provider

    def _larger(self, asked: Provider) -> Larger | None:
        found = models.larger(self._settings, self._choices[asked.name, asked.model])
        if found is None:
            return None
        context = models.facts(self._settings, found, found.provider.model).context
        return Larger(self._going_on(found), context)
