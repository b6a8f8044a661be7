"""What tokens cost: the rates of a model, and the sums over one request. Pure arithmetic."""

from collections.abc import Mapping

from msgspec import Struct

from marvin_server.messages import Usage

# In units of 10^-24 a price per token is a whole number, so that sums are exact; as floats they would not be.
USD = 10**24
_CACHED = ("cache_read", "cache_write")


class Rate(Struct, frozen=True):
    """The price of one token (or request) as a fraction of ``USD``.

    Each of ``tiers``, ascending by its first item, replaces ``base`` for a request of more input tokens than that.
    """

    base: int
    tiers: tuple[tuple[int, int], ...] = ()

    def at(self, input_tokens: int) -> int:
        return next((rate for start, rate in reversed(self.tiers) if input_tokens > start), self.base)


# By kind: input, output, cache_read, cache_write (a token each) and request. What has no rate costs nothing, but a
# cached token without a rate of its own costs what any token of its direction costs.
Rates = Mapping[str, Rate]


def per_million(usd: float) -> Rate:
    """The rate of a token of which a million cost ``usd``."""
    return Rate(round(usd * 10**9) * (USD // 10**15))


def cost(rates: Rates, usage: Usage) -> float:
    """The price of one request in USD."""
    return _total(rates, usage) / USD


def saved(rates: Rates, usage: Usage) -> float:
    """What the request would have cost more in USD, had no token come from a cache or been put into one.

    It is below 0 where writing cost more than reading saved.
    """
    uncached = {kind: rate for kind, rate in rates.items() if kind not in _CACHED}
    return (_total(uncached, usage) - _total(rates, usage)) / USD


def _total(rates: Rates, usage: Usage) -> int:
    read = usage.cache_read if "cache_read" in rates else 0
    written = usage.cache_write if "cache_write" in rates else 0
    counts = {
        "input": max(0, usage.input - read - written),
        "output": usage.output,
        "cache_read": read,
        "cache_write": written,
        "request": 1,
    }
    return sum(rate.at(usage.input) * counts[kind] for kind, rate in rates.items())
