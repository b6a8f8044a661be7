"""What holds for a model: how much it reads, what it can, what it costs, and which one goes on where it ends.

The setting ``models`` comes first, then the vendor's file, then what is published.
"""

from msgspec import Struct

from marvin_server.errors import UsageError
from marvin_server.messages import Charge, Usage
from marvin_server.model_settings import PRICES, ModelSettings
from marvin_server.providers.selection import REPLAY, Choice, Terms, fallbacks, with_model
from marvin_server.providers.vendors import of_model
from marvin_server.session import prices, published
from marvin_server.session.prices import Rates
from marvin_server.settings import Settings


class ModelFacts(Struct, frozen=True):
    """``context`` and, of that, the longest ``output`` are in tokens. ``tools``, ``images`` and ``thinking`` say
    whether the model can; None: unknown."""

    context: int | None = None
    tools: bool | None = None
    images: bool | None = None
    thinking: bool | None = None
    output: int | None = None


def facts(settings: Settings, terms: Terms, model: str) -> ModelFacts:
    """What is known of this model of a provider's; a ``Choice`` has its provider's terms. It may block for a second."""
    said = settings.models.get(model, ModelSettings())
    known = published.find(settings.paths.cache, terms.price_vendor, model)
    listed = of_model(terms.vendor.abilities, model) if terms.vendor else None

    def can(ability: str) -> bool | None:
        if (own := getattr(said, ability)) is not None:
            return own
        if ability in terms.abilities:
            return terms.abilities[ability]
        return getattr(known, ability) if listed is None else ability in listed

    size = terms.vendor.contexts.get(model) if terms.vendor else None
    output = of_model(terms.vendor.max_output, model) if terms.vendor else None
    return ModelFacts(said.context or size or known.context, can("tools"), can("images"), can("thinking"), output)


def charge(settings: Settings, terms: Terms, usage: Usage, answered: str, asked: str) -> Charge:
    """What one request cost. A vendor may answer as a model that only it knows; then the one ``asked`` for counts."""
    rates = _rates(settings, terms, answered, asked)
    if rates is None:
        return Charge(None)
    is_cached = bool(rates and (usage.cache_read or usage.cache_write))
    return Charge(prices.cost(rates, usage), prices.saved(rates, usage) if is_cached else None)


def cost(settings: Settings, terms: Terms, model: str, usage: Usage) -> float | None:
    """The USD that a request of this ``usage`` costs, None where the price is unknown."""
    return charge(settings, terms, usage, model, model).cost


def limit(settings: Settings) -> str:
    """What the person calls the cost limit."""
    return "--max-cost" if settings.max_cost is not None else "the budget"


def check_price(settings: Settings, choice: Choice) -> None:
    """Raises ``UsageError`` where there is a cost limit and the price of the choice's model is unknown."""
    model = choice.provider.model
    if settings.caps and cost(settings, choice, model, Usage(1, 1)) is None:
        raise UsageError(
            f"{limit(settings)} cannot hold: the price of {model} is unknown; `models: {{{model}: {{input: …, "
            "output: …}}` in config.yaml tells it, in USD per million tokens"
        )


def larger(settings: Settings, choice: Choice) -> Choice | None:
    """The same provider with a model that is known to read more, to go on with when a conversation is too long.

    A recording is played by itself: what went on with another model is in it. Raises as ``selection.choose`` does.
    """
    if settings.provider == REPLAY:
        name, model = choice.provider.name, choice.provider.model
        played = [make() for make in fallbacks(settings)]
        return next((one for one in played if one.provider.name == name and one.provider.model != model), None)
    if choice.vendor is None:
        return None
    model = choice.provider.model
    said = settings.models.get(model, ModelSettings()).larger
    following = said or of_model(choice.vendor.larger, model)
    if following is None:
        return None
    size = facts(settings, choice, following).context or 0
    grows = size > (facts(settings, choice, model).context or 0)
    return with_model(choice, following, settings) if grows else None


def _rates(settings: Settings, terms: Terms, *models: str) -> Rates | None:
    """The rates of the first of ``models`` that has any, changed by what the settings say of each."""
    found = (published.find(settings.paths.cache, terms.price_vendor, model).rates for model in models)
    known: Rates | None = {} if terms.free else next((rates for rates in found if rates is not None), None)
    rates = dict(known or {})
    for model in reversed(models):
        for kind in PRICES:
            if (usd := getattr(settings.models.get(model), kind, None)) is not None:
                rates[kind] = prices.per_million(usd)
    return rates if known is not None or {"input", "output"} <= rates.keys() else None
