"""Which provider answers: the one that was named, else the first that is usable, else the embedded offline one."""

from msgspec import Struct

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
    name = settings.provider
    if name is None and (usable := vendors.usable(settings)):
        name = usable.name
    if name is None or name == OFFLINE:
        from marvin_server.providers.offline import Offline

        notice = None
        if name is None:
            notice = "no model is configured, so the offline search answers; `marvin doctor` says how to set one up"
        return Choice(Offline(), free=True, notice=notice)
    vendor = vendors.load(name, settings)
    # Whoever answers at another address sets prices of their own.
    asks = vendor.price_vendor if vendors.url(vendor, settings) == vendor.base_url else None
    return Choice(vendors.create(vendor, settings), price_vendor=asks)
