"""A server on loopback whose script says, byte by byte, what goes over each connection."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, field

from tests.patience import SECONDS

Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[object]]


@dataclass
class RawServer:
    """``url`` is its address; ``connections`` counts what was accepted, ``ended`` what its script is done with."""

    url: str
    connections: int = 0
    ended: int = 0
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def wait_until(self, holds: Callable[[], bool]) -> None:
        """Wait for 5 s at most."""
        async with asyncio.timeout(SECONDS), self.changed:
            await self.changed.wait_for(holds)


@contextlib.asynccontextmanager
async def serving(
    talk: Talk, host: str = "127.0.0.1", trust: ssl.SSLContext | None = None
) -> AsyncGenerator[RawServer]:
    """Run ``talk`` for each connection, which is closed afterwards."""
    raw = RawServer("")
    tasks: set[asyncio.Task[None]] = set()

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        raw.connections += 1
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
                await talk(reader, writer)
                writer.close()
                await writer.wait_closed()
        finally:
            writer.transport.abort()
        async with raw.changed:
            raw.ended += 1
            raw.changed.notify_all()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(converse(reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    server = await asyncio.start_server(accept, host, 0, ssl=trust)
    name = f"[{host}]" if ":" in host else host
    raw.url = f"{'https' if trust else 'http'}://{name}:{server.sockets[0].getsockname()[1]}/v1"
    try:
        yield raw
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await server.wait_closed()


async def read_request(reader: asyncio.StreamReader) -> bytes:
    """The next request of a connection, head and body."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]
    return head + await reader.readexactly(int(length))


def answering(*answers: bytes) -> Talk:
    """A script that reads a request and writes the next of ``answers``, until there is none."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for answer in answers:
            await read_request(reader)
            writer.write(answer)

    return talk
