"""Which provider answers: the one that was named, else the first that is usable, else the embedded offline one."""

import dataclasses
from collections.abc import Callable
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from marvin_server.providers import vendors
from marvin_server.providers.base import Provider
from marvin_server.settings import Settings

OFFLINE = "offline"


class Choice(Struct, frozen=True):
    """A provider and what it costs: nothing (``free``), or what ``price_vendor`` asks (None: unknown).

    ``notice`` is one line for the person, where there is something to say about the choice.
    """

    provider: Provider
    price_vendor: str | None = None
    free: bool = False
    notice: str | None = None


def names(settings: Settings) -> tuple[str, ...]:
    """Every provider that ``--provider`` takes."""
    return (*vendors.names(settings), OFFLINE)


def choose(settings: Settings) -> Choice:
    """The provider for a session. Raises ``UsageError`` for an unknown name and ``Auth`` where a key is missing."""
    if settings.provider is not None:
        return named(settings.provider, settings)
    if usable := vendors.usable(settings):
        return named(usable.name, settings)
    notice = "no model is configured, so the offline search answers; `marvin doctor` says how to set one up"
    return replace(named(OFFLINE, settings), notice=notice)


def fallbacks(settings: Settings) -> tuple[Callable[[], Choice], ...]:
    """Those that answer when the chosen provider fails, in order; each is made when its time comes.

    A model that was asked for by name is the chosen provider's: these use their own.
    """
    own = dataclasses.replace(settings, model=None, default_model=None)
    return tuple(partial(named, name, own) for name in settings.fallback)


def named(name: str, settings: Settings) -> Choice:
    """The provider of this name. Raises as ``choose`` does."""
    if name == OFFLINE:
        from marvin_server.providers.offline import Offline

        return Choice(Offline(), free=True)
    vendor = vendors.load(name, settings)
    # Whoever answers at another address sets prices of their own.
    asks = vendor.price_vendor if vendors.url(vendor, settings) == vendor.base_url else None
    return Choice(vendors.create(vendor, settings), price_vendor=asks)
