"""Work that is begun is finished: a cancellation waits for it, so that nothing changes behind anybody's back."""

import asyncio
from collections.abc import Awaitable
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")


async def undisturbed(work: Awaitable[T]) -> T:
    """The result of ``work``. Who is cancelled meanwhile waits for its end, and is cancelled then."""
    running = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        while not running.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait({running})
        if not running.cancelled():
            running.exception()
        raise
