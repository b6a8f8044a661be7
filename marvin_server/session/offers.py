"""What every provider offers: how it stands with it, and its models with what holds for each."""

from msgspec import Struct

from marvin_server.errors import UsageError
from marvin_server.providers import model_list, selection, vendors
from marvin_server.providers.readiness import Readiness, readiness
from marvin_server.providers.selection import Terms
from marvin_server.session import models
from marvin_server.session.models import ModelFacts
from marvin_server.settings import Settings


class OfferedModel(Struct, frozen=True):
    """A model, by the ``terms`` of who offers it."""

    name: str
    facts: ModelFacts
    terms: Terms


class Offer(Struct, frozen=True):
    """``own`` is the model that would answer, None where none is named; ``listed`` are those of the latest listing,
    which was made ``at`` a time (ISO 8601, UTC), None where there is none. ``problem`` says why there can be none."""

    provider: str
    state: Readiness
    own: OfferedModel | None
    listed: tuple[OfferedModel, ...] = ()
    at: str | None = None
    problem: str | None = None


def offer(name: str, settings: Settings, *, asked_for: bool) -> Offer:
    """What is known of the provider of this name; it may block for a second.

    For one that is unknown, or whose file or address is wrong, ``UsageError`` is raised where it was ``asked_for``; in
    a list it counts as not ready.
    """
    try:
        state = readiness(name, settings)
    except UsageError as error:
        if asked_for:
            raise
        return Offer(name, Readiness(False, str(error)), None)
    own = _model(state.model, state, settings) if state.model else None
    if name in selection.OTHERS:
        return Offer(name, state, own)
    try:
        vendor = vendors.load(name, settings)
        listing = model_list.cached(vendor, settings)
    except UsageError as error:
        return Offer(name, state, own, problem=str(error))
    if listing is None:
        return Offer(name, state, own)
    terms = selection.vendor_terms(vendor, listing.url)
    listed = tuple(_model(model, terms, settings) for model in listing.models)
    return Offer(name, state, own, listed, listing.at)


def _model(model: str, terms: Terms, settings: Settings) -> OfferedModel:
    return OfferedModel(model, models.facts(settings, terms, model), terms)
