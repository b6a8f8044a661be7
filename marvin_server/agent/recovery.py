"""What to do when a model request fails: wait and ask again, go on with another model or provider, or give up."""

import asyncio
import time
from collections.abc import Callable, Sequence
from functools import cached_property

from msgspec import Struct

from marvin_server.errors import (
    Auth,
    ContextOverflow,
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


class Larger(Struct, frozen=True):
    """A provider that asks a model of the same vendor which reads more: ``context`` tokens, None where unknown."""

    provider: Provider
    context: int | None = None


class Ways(Struct, frozen=True):
    """How a turn can go on, found when the time comes.

    ``fallbacks`` gives what makes the next providers. ``larger`` finds a larger model of a provider's vendor, None
    where there is none. They may block, are called in a thread, and raise ``MarvinError`` for what cannot be used.
    """

    fallbacks: Callable[[], Sequence[Callable[[], Provider]]]
    larger: Callable[[Provider], Larger | None]


class Recovery:
    """The provider of one turn, and those that follow when it fails, each found and made when its time comes.

    A rate limit (429, 529, 503 with Retry-After) is waited out as long as the vendor asks, else 1, 2 and 4 s, three
    times. Then, and at once for network, key and server errors, the next of the fallbacks answers. A conversation that
    is too long goes on with a larger model. What else is wrong with the request, no other provider can mend.
    """

    def __init__(self, provider: Provider, ways: Ways) -> None:
        self.provider = provider
        self._ways = ways
        self._waited = 0

    @cached_property
    def _fallbacks(self) -> list[Callable[[], Provider]]:
        return list(self._ways.fallbacks())

    async def after(self, error: ProviderError) -> Step | None:
        """The next step after ``error``, having made ``provider`` the one to ask; None when nothing is left to try.

        Raises ``ContextOverflow``, with what a person can do, when no larger model can go on.
        """
        name = self.provider.name
        seconds = error.retry_after if error.retry_after is not None else 2.0**self._waited
        if _is_limit(error) and self._waited < _ATTEMPTS and seconds <= _LONGEST_WAIT:
            self._waited += 1
            jitter = time.monotonic_ns() % 250_000_000 / 1e9
            return Step(0.0 if error.past else seconds + jitter, f"{error}; asking {name} again in {seconds:g} s")
        if isinstance(error, ContextOverflow):
            return await self._enlarge(error)
        return await self._fall_back(error) if isinstance(error, _OF_THE_VENDOR) else None

    async def _enlarge(self, error: ContextOverflow) -> Step:
        skipped, model = "", self.provider.model
        try:
            larger = await asyncio.to_thread(self._ways.larger, self.provider)
        except MarvinError as unusable:
            larger, skipped = None, f" ({unusable})"
        if larger is None:
            advice = f"begin a new session, or name a model that reads more than {model} with --model"
            raise ContextOverflow(f"{error}{skipped}; {advice}", status=error.status) from error
        size = f", which reads {larger.context:,} tokens" if larger.context else ""
        return self._go_on(larger.provider, f"{error}", size)

    async def _fall_back(self, error: ProviderError) -> Step | None:
        """The next provider that can be used. Raises ``error`` again with why, when there was one and none can."""
        skipped = ""
        while self._fallbacks:
            try:
                provider = await asyncio.to_thread(self._fallbacks.pop(0))
            except MarvinError as unusable:
                skipped += f" ({unusable})"
            else:
                return self._go_on(provider, f"{error}{skipped}")
        if skipped:
            raise type(error)(f"{error}{skipped}", status=error.status, retry_after=error.retry_after) from error
        return None

    def _go_on(self, provider: Provider, why: str, what: str = "") -> Step:
        self.provider, self._waited = provider, 0
        return Step(0.0, f"{why}; going on with {provider.name} ({provider.model}){what}")


def _is_limit(error: ProviderError) -> bool:
    overloaded = error.status == 529 or (error.status == 503 and error.retry_after is not None)
    return isinstance(error, RateLimited) or (isinstance(error, Overloaded) and overloaded)
