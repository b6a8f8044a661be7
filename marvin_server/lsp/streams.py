"""Standard input and output as the protocol's alone: nothing else that runs in this process can read or write them."""

import asyncio
import os
import sys
import threading
from collections.abc import Callable

from msgspec import Struct

_CHUNK = 65_536


class Streams(Struct, frozen=True):
    """The descriptors that the client's messages come from and ours go to. Children do not inherit them."""

    incoming: int
    outgoing: int


def take_over() -> Streams:
    """Take standard input and output for the protocol. What is printed from now on goes to standard error, and whoever
    reads standard input finds its end. Raises ``OSError`` where one of them is closed."""
    sys.stdout.flush()
    streams = Streams(os.dup(0), os.dup(1))
    for descriptor in (streams.incoming, streams.outgoing):
        os.set_blocking(descriptor, True)
    nothing = os.open(os.devnull, os.O_RDWR)
    try:
        os.fstat(2)
    except OSError:
        os.dup2(nothing, 2)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    if nothing > 2:
        os.close(nothing)
    return streams


def read(descriptor: int, on_bytes: Callable[[bytes], None]) -> None:
    """Give what comes from ``descriptor`` to the running loop, from a thread; ``b""`` is its end, or that it broke."""
    loop = asyncio.get_running_loop()

    def run() -> None:
        chunk = b"."
        while chunk:
            try:
                chunk = os.read(descriptor, _CHUNK)
            except OSError:
                chunk = b""
            loop.call_soon_threadsafe(on_bytes, chunk)

    threading.Thread(target=run, name="marvin reader", daemon=True).start()
