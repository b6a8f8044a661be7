"""A forward proxy on loopback that answers in place of the hosts themselves."""

import asyncio
import contextlib
import ssl
from collections.abc import Callable
from typing import Self


class TlsProxy:
    """Plays whatever host ``trust`` is a certificate for: ``respond(host, request)`` gives the bytes to send.

    ``request`` is the head; None from ``respond`` keeps the client waiting: ``asked`` is set, and ``left`` when
    the client has gone. ``seen`` are the hosts as asked.
    """

    def __init__(self, trust: ssl.SSLContext, respond: Callable[[str, bytes], bytes | None]) -> None:
        self.seen: list[str] = []
        self.asked = asyncio.Event()
        self.left = asyncio.Event()
        self._trust = trust
        self._respond = respond
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            method, target, *_ = (await reader.readuntil(b"\r\n\r\n")).decode().split()
            host = target.rpartition(":")[0] if method == "CONNECT" else target.split("/")[2]
            if method == "CONNECT":
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                await writer.start_tls(self._trust)
                request = await reader.readuntil(b"\r\n\r\n")
            else:
                request = b""
            self.seen.append(host)
            answer = self._respond(host, request)
            if answer is None:
                self.asked.set()
                try:
                    await reader.read()
                finally:
                    self.left.set()
            else:
                writer.write(answer)
                await writer.drain()
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


def page(body: str, status: str = "200 OK", content_type: str = "text/html; charset=utf-8") -> bytes:
    """A whole answer that ends its connection."""
    content = body.encode()
    fields = f"Content-Type: {content_type}\r\nContent-Length: {len(content)}\r\nConnection: close"
    return f"HTTP/1.1 {status}\r\n{fields}\r\n\r\n".encode() + content
