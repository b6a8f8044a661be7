"""One HTTP/1.1 connection: asyncio carries its bytes, h11 knows what they mean."""

import asyncio
from typing import cast

import h11

_HEAD_BYTES = 100 * 1024
_BUFFER_BYTES = 2**20


class Unheard(ConnectionError):
    """The connection ended before the server sent a single byte in answer to the request."""


class Connection(asyncio.Protocol):
    """Carries one request after the other. A connection that breaks raises ``OSError``, and bytes that are no HTTP
    raise ``h11.RemoteProtocolError``.

    Reading from the socket pauses while more than 1 MB waits to be read from here.
    """

    def __init__(self) -> None:
        self.idle_since = 0.0
        self._loop = asyncio.get_running_loop()
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=_HEAD_BYTES)
        self._transport: asyncio.Transport | None = None
        self._arrived: list[bytes] = []
        self._size = 0
        self._ended = False
        self._error: Exception | None = None
        self._waiter: asyncio.Future[None] | None = None

    @property
    def is_idle(self) -> bool:
        """Whether it waits for a request: open, and without a byte that nobody asked for."""
        quiet = not self._ended and not self._arrived and not self._http.trailing_data[0]
        return quiet and self._http.our_state is h11.IDLE

    async def send(self, request: h11.Request, body: bytes) -> h11.Response:
        """Send a request and wait for the head of its answer; informational answers are passed over.

        Raises ``Unheard`` too. Whatever is raised, the connection is closed.
        """
        try:
            http, transport = self._http, cast("asyncio.Transport", self._transport)
            parts = http.send(request), http.send(h11.Data(body)), http.send(h11.EndOfMessage())
            transport.write(b"".join(parts))
            heard = False
            while True:
                event = http.next_event()
                if isinstance(event, h11.Response):
                    return event
                if event is h11.NEED_DATA:
                    heard = await self._receive() or heard
                    if not heard:
                        raise Unheard("it said nothing") from self._error
        except BaseException:
            self.close()
            raise

    async def read(self) -> bytes:
        """The next bytes of the answer's body, all that have arrived; empty at its end."""
        http = self._http
        chunks: list[bytes] = []
        while http.their_state is h11.SEND_BODY:
            try:
                event = http.next_event()
            except h11.RemoteProtocolError:
                if chunks:
                    break
                raise
            if isinstance(event, h11.Data):
                chunks.append(event.data)
            elif event is h11.NEED_DATA:
                if chunks:
                    break
                await self._receive()
        return b"".join(chunks)

    def recycle(self) -> bool:
        """Make ready for the next request. False, and closed, unless the answer was read whole and the server agrees."""
        if self._http.our_state is h11.DONE and self._http.their_state is h11.DONE:
            self._http.start_next_cycle()
            if self.is_idle:
                self.idle_since = self._loop.time()
                return True
        self.close()
        return False

    def close(self) -> None:
        """Close the socket at once."""
        if self._transport:
            self._transport.abort()

    async def start_tls(self, context: "ssl.SSLContext", host: str) -> None: ...
