"""Which provider answers: the one that was named, else the first that is usable, else the embedded offline one."""

import dataclasses
from collections.abc import Callable, Mapping
from functools import partial

from msgspec import Struct
from msgspec.structs import asdict, replace

from marvin_server.errors import UsageError
from marvin_server.providers import vendors
from marvin_server.providers.base import Provider
from marvin_server.providers.vendor_files import Vendor
from marvin_server.settings import Settings

COPILOT, LOCAL, OFFLINE, OLLAMA = "copilot", "local", "offline", "ollama"
# Providers that no vendor file describes.
OTHERS = (COPILOT, LOCAL, OFFLINE)
# It answers only what a recording holds, and so is named, but never offered.
REPLAY = "replay"


class Terms(Struct, frozen=True, kw_only=True):
    """Where facts about a provider's models are found: in ``vendor``'s file, and at ``price_vendor`` (None: unknown).

    ``free`` says that answers cost nothing. A provider that no file describes has no ``vendor``; ``abilities`` are what
    is known of it all the same.
    """

    price_vendor: str | None = None
    free: bool = False
    vendor: Vendor | None = None
    abilities: Mapping[str, bool] = {}


class Choice(Terms, frozen=True):
    """A provider and its terms. ``notice`` is one line for the person, where there is something to say of it."""

    provider: Provider
    notice: str | None = None


def names(settings: Settings) -> tuple[str, ...]:
    """Every provider that ``--provider`` takes."""
    return (*vendors.names(settings), *OTHERS)


def choose(settings: Settings) -> Choice:
    """The provider for a session: the one that the person named; else Copilot when it is logged in, a vendor with a
    key, an Ollama that answers, or the offline search.

    Raises ``UsageError`` for an unknown name and ``Auth`` where a key is missing.
    """
    if settings.provider is not None:
        return named(settings.provider, settings)
    if copilot_is_ready(settings):
        return named(COPILOT, settings)
    if usable := vendors.usable(settings):
        return named(usable.name, settings)
    if ollama_is_ready(settings):
        return named(OLLAMA, settings)
    notice = "no model is configured, so the offline search answers; `marvin doctor` says how to set one up"
    return replace(named(OFFLINE, settings), notice=notice)


def fallbacks(settings: Settings) -> tuple[Callable[[], Choice], ...]:
    """Those that answer when the chosen provider fails, in order; each is made when its time comes.

    Where the settings name none it is Copilot, if that is logged in. A model that was asked for by name is the chosen
    provider's: these use their own. A recording is played by itself: whom it fell back on is in it.
    """
    if settings.provider == REPLAY:
        from marvin_server.providers import replay

        return tuple(partial(Choice, played, free=True) for played in replay.providers(settings)[1:])
    own = dataclasses.replace(settings, model=None, default_model=None)
    return tuple(partial(named, name, own) for name in fallback_names(settings))


def fallback_names(settings: Settings) -> tuple[str, ...]:
    """The names in the chain, whether there are such providers or not."""
    if settings.fallback is not None:
        return settings.fallback
    return (COPILOT,) if settings.provider != COPILOT and copilot_is_ready(settings) else ()


def named(name: str, settings: Settings) -> Choice:
    """The provider of this name. Raises as ``choose`` does, and where ``settings.record`` asks for the impossible."""
    if settings.record is not None and name in (COPILOT, OFFLINE, REPLAY):
        raise UsageError(f"--record: the provider {name} sends no requests that can be recorded; name another")
    if name == REPLAY:
        from marvin_server.providers import replay

        return Choice(replay.providers(settings)[0], free=True)
    if name == OFFLINE:
        return stand_in()
    if name == LOCAL:
        from marvin_server.providers import local

        return Choice(local.create(settings), free=True, abilities={"images": False})
    if name == COPILOT:
        from marvin_server.providers import copilot

        return Choice(copilot.create(settings))
    vendor = vendors.load(name, settings, (*OTHERS, REPLAY))
    if name == OLLAMA:
        settings = dataclasses.replace(settings, environ={**settings.environ, "OLLAMA_URL": ollama_address(settings)})
    terms = vendor_terms(vendor, vendors.url(vendor, settings))
    return Choice(vendors.create(vendor, settings), **asdict(terms))


def stand_in() -> Choice:
    """The offline search, which is always there."""
    from marvin_server.providers.offline import Offline

    return Choice(Offline(), free=True, abilities={"tools": True, "images": False, "thinking": False})


def vendor_terms(vendor: Vendor, url: str) -> Terms:
    """The terms of ``vendor``'s models at ``url``. Whoever answers at another address sets prices of their own."""
    asks = vendor.price_vendor if url == vendor.base_url else None
    return Terms(price_vendor=asks, free=vendor.free, vendor=vendor)


def with_model(choice: Choice, model: str, settings: Settings) -> Choice:
    """The same provider with another of its models. Raises as ``choose`` does."""
    return named(choice.provider.name, dataclasses.replace(settings, model=model))


def copilot_is_ready(settings: Settings) -> bool:
    """Whether GitHub Copilot is installed and logged in, found without starting it."""
    from importlib.util import find_spec

    if find_spec("copilot") is None:
        return False
    from marvin_server.providers import copilot

    return copilot.logged_in(settings.environ)


def ollama_is_ready(settings: Settings) -> bool:
    """Whether an Ollama server answers within 200 ms."""
    from marvin_server.providers import ollama_server

    return ollama_server.answers(ollama_address(settings))


def ollama_address(settings: Settings) -> str:
    """Where the person's Ollama server is. Raises ``UsageError``."""
    from marvin_server.providers import ollama_server

    return ollama_server.address(settings.environ)
