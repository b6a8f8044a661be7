"""What to do when a model request fails: wait and ask again, go on with the next provider, or give up."""

import time
from collections.abc import Callable, Sequence
from functools import cached_property

from msgspec import Struct

from marvin_server.errors import (
    Auth,
    Interrupted,
    MarvinError,
    Overloaded,
    ProviderError,
    RateLimited,
    TimedOut,
    Unreachable,
)
from marvin_server.providers.base import Provider

_ATTEMPTS = 3
_LONGEST_WAIT = 120.0
_OF_THE_VENDOR = (Auth, Interrupted, Overloaded, RateLimited, TimedOut, Unreachable)


class Step(Struct, frozen=True):
    """Ask again after ``seconds``; ``text`` says so in one line."""

    seconds: float
    text: str


class Recovery:
    """The provider of one turn, and those that follow when it fails, each found and made when its time comes.

    A rate limit (429, 529, 503 with Retry-After) is waited out as long as the vendor asks, else 1, 2 and 4 s, three
    times. Then, and at once for network, key and server errors, the next of ``fallbacks`` answers. What is wrong with
    the request itself, no other provider can mend.
    """

    def __init__(self, provider: Provider, fallbacks: Callable[[], Sequence[Callable[[], Provider]]]) -> None:
        self.provider = provider
        self._find_fallbacks = fallbacks
        self._waited = 0

    @cached_property
    def _fallbacks(self) -> list[Callable[[], Provider]]:
        return list(self._find_fallbacks())

    def after(self, error: ProviderError) -> Step | None:
        """The next step after ``error``, having made ``provider`` the one to ask; None when nothing is left to try."""
        name = self.provider.name
        seconds = error.retry_after if error.retry_after is not None else 2.0**self._waited
        if _is_limit(error) and self._waited < _ATTEMPTS and seconds <= _LONGEST_WAIT:
            self._waited += 1
            jitter = time.monotonic_ns() % 250_000_000 / 1e9
            return Step(seconds + jitter, f"{error}; asking {name} again in {seconds:g} s")
        if not isinstance(error, _OF_THE_VENDOR):
            return None
        skipped = ""
        while self._fallbacks:
            try:
                self.provider = self._fallbacks.pop(0)()
            except MarvinError as unusable:
                skipped = f" ({unusable})"
                continue
            self._waited = 0
            return Step(0.0, f"{error}{skipped}; going on with {self.provider.name} ({self.provider.model})")
        return None


def _is_limit(error: ProviderError) -> bool:
    overloaded = error.status == 529 or (error.status == 503 and error.retry_after is not None)
    return isinstance(error, RateLimited) or (isinstance(error, Overloaded) and overloaded)
