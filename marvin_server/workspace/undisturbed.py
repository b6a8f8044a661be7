"""Work that is begun comes to its end: a cancellation waits for it, so that nothing changes behind anybody's back."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")


async def undisturbed(work: Awaitable[T], stop: Callable[[], object] = lambda: None) -> T:
    """The result of ``work``. Who is cancelled meanwhile calls ``stop``, waits for the end, and is cancelled then."""
    running = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        stop()
        await _ended(running)
        raise


async def regardless(work: Awaitable[T]) -> T:
    """The result of ``work``, for which it is too late to be cancelled: who is cancelled meanwhile goes on."""
    running = asyncio.ensure_future(work)
    await _ended(running)
    return running.result()


class Stoppable:
    """A part of undisturbed work that can be stopped: it undoes what it has done then, or is too late for that."""

    def __init__(self) -> None:
        self._running: asyncio.Future[Any] | None = None
        self._is_stopped = False

    async def run(self, part: Awaitable[T]) -> T:
        """The result of ``part``. Raises ``CancelledError`` where that was stopped."""
        self._running = running = asyncio.ensure_future(part)
        if self._is_stopped:
            running.cancel()
        return await running

    def stop(self) -> None:
        """Cancel the part that runs, or is to run; one that has ended stays as it is."""
        self._is_stopped = True
        if self._running is not None:
            self._running.cancel()


async def _ended(running: "asyncio.Future[T]") -> None:
    while not running.done():
        with suppress(asyncio.CancelledError):
            await asyncio.wait({running})
    if not running.cancelled():
        running.exception()
