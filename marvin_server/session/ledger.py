"""The models that a session asks: what each can, which one goes on when it fails, and what they have cost."""

import asyncio

from marvin_server.agent.recovery import Larger, Ways
from marvin_server.errors import UsageError
from marvin_server.messages import Charge, Message, Usage
from marvin_server.providers.base import Provider
from marvin_server.providers.selection import Choice, fallbacks
from marvin_server.session import models
from marvin_server.session.models import ModelFacts
from marvin_server.session.store import Store
from marvin_server.session.usage import Tally
from marvin_server.settings import Settings


class Ledger:
    """The models of the session ``session_id``; the one of ``choice`` answers its turns.

    ``tally`` counts what this process has used; a cost limit holds for the session, whichever process works in it.
    """

    def __init__(self, settings: Settings, store: Store, session_id: str, choice: Choice) -> None:
        self.tally = Tally()
        self._settings = settings
        self._store = store
        self._session_id = session_id
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
        if self._settings.max_cost is None:
            return
        unpriced = next((row.model for row in self._store.usage(self._session_id) if row.unpriced), None)
        if unpriced is not None:
            raise UsageError(
                f"--max-cost cannot hold: this session has used {unpriced}, whose price is unknown; begin a new session"
            )

    def is_spent(self) -> bool:
        """Whether no more may be spent: the cost limit is reached, or cannot be told since a price was unknown."""
        limit = self._settings.max_cost
        if limit is None:
            return False
        used = Tally(self._store.usage(self._session_id))
        return any(row.unpriced for row in used.rows) or used.cost >= limit

    async def book(self, asked: Provider, message: Message) -> Charge:
        """Count the tokens of a finished message and keep what they cost."""
        choice = self._choices[asked.name, asked.model]
        model, usage = message.model or asked.model, (message.usage or Usage()).plausible
        charge = Charge(0.0 if choice.free else None)
        if message.usage is not None:
            charge = await asyncio.to_thread(models.charge, self._settings, choice, usage, model, asked.model)
        self.tally.add(asked.name, model, usage, charge)
        self._store.record_usage(self._session_id, asked.name, model, usage, charge)
        return charge

    async def abilities(self, asked: Provider) -> ModelFacts:
        """What a provider's model can take."""
        choice = self._choices[asked.name, asked.model]
        return await asyncio.to_thread(models.facts, self._settings, choice, asked.model)

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
