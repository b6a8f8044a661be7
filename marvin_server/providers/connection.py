"""One HTTP/1.1 connection: asyncio carries the bytes, h11 knows what they mean."""

import asyncio
import ssl
from typing import cast

import h11

_HEAD_BYTES = 100 * 1024
_WAITING_BYTES = 2**20
_READ_BYTES = 2**16
_ENDS = frozenset({h11.DONE, h11.MUST_CLOSE, h11.CLOSED})


class Unheard(ConnectionError):
    """The connection ended before the server sent a single byte in answer to the request."""


class Connection(asyncio.BufferedProtocol):
    """Carries one request after the other. It reads into a buffer of its own, since asyncio's takes 256 KiB for each
    read, which was a fifth of a streamed answer's time.

    A connection that ends too early raises ``ConnectionError``; bytes that are no HTTP, ``h11.RemoteProtocolError``.
    While more than 1 MB waits to be read from here, no more is read from the socket. With ``secure``, nothing is read
    before ``start_tls``.
    """

    _transport: asyncio.Transport

    def __init__(self, *, secure: bool = False) -> None:
        self.idle_since = 0.0
        self._secure = secure
        self._buffer = memoryview(bytearray(_READ_BYTES))
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=_HEAD_BYTES)
        self._arrived: list[bytes] = []
        self._size = 0
        self._ended = False
        self._cause: Exception | None = None
        self._garbled: h11.RemoteProtocolError | None = None
        self._waiter: asyncio.Future[None] | None = None

    @property
    def is_idle(self) -> bool:
        """Whether it may be given a request: open, between two, and without a byte that nobody asked for."""
        silent = not (self._ended or self._arrived or self._http.trailing_data[0])
        return silent and self._http.our_state is h11.IDLE

    async def start_tls(self, context: ssl.SSLContext, host: str) -> None:
        """Go on over TLS with a server that proves to be ``host``. Raises ``OSError``."""
        loop = asyncio.get_running_loop()
        secure = await loop.start_tls(self._transport, self, context, server_hostname=host)
        self._transport = cast("asyncio.Transport", secure)

    async def send(self, request: h11.Request, body: bytes) -> h11.Response:
        """Send a request and wait for the head of its answer; informational answers (1xx) are passed over.

        Raises ``Unheard`` as well. Whatever is raised, the connection is closed.
        """
        try:
            self._write(request, body)
            heard = False
            while not isinstance(event := self._http.next_event(), h11.Response):
                if event is h11.NEED_DATA:
                    if not await self._receive():
                        early = ConnectionError("its head is incomplete") if heard else Unheard("not a byte came")
                        raise early from self._cause
                    heard = True
        except BaseException:
            self.close()
            raise
        return event

    async def read(self) -> bytes:
        """The next bytes of the answer's body, all that have arrived; empty at its end."""
        if self._garbled:
            raise self._garbled
        http = self._http
        chunks: list[bytes] = []
        while http.their_state not in _ENDS:
            try:
                event = http.next_event()
            except h11.RemoteProtocolError as error:
                self._garbled = error
                if not chunks:
                    raise
                break
            if isinstance(event, h11.Data):
                chunks.append(event.data)
            elif event is h11.NEED_DATA:
                if chunks:
                    break
                if await self._receive():
                    continue
                if self._cause:
                    raise ConnectionError("it was not closed properly") from self._cause
                http.receive_data(b"")
        return b"".join(chunks)

    def recycle(self) -> bool:
        """Make ready for another request. False, and closed, unless the answer was read whole and the server agrees."""
        if self._http.our_state is h11.DONE and self._http.their_state is h11.DONE:
            self._http.start_next_cycle()
        if self.is_idle:
            self.idle_since = asyncio.get_running_loop().time()
            return True
        self.close()
        return False

    def close(self) -> None:
        """Close the socket at once."""
        self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The socket is connected."""
        self._transport = cast("asyncio.Transport", transport)
        if self._secure:
            self._transport.pause_reading()

    def get_buffer(self, sizehint: int) -> memoryview:
        """Where the next bytes go."""
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Keep what has arrived for whoever reads."""
        self._arrived.append(bytes(self._buffer[:nbytes]))
        self._size += nbytes
        if self._size > _WAITING_BYTES:
            self._transport.pause_reading()
        self._wake()

    def eof_received(self) -> None:
        """The server will send no more; returning None closes the socket."""
        self._ended = True
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        """The socket is closed."""
        self._ended = True
        self._cause = exc
        self._wake()

    def _write(self, request: h11.Request, body: bytes) -> None:
        events = (request, h11.Data(body), h11.EndOfMessage())
        self._transport.write(b"".join(self._http.send(event) for event in events))

    async def _receive(self) -> bool:
        """Pass on to h11 what has arrived, after a wait if need be. False when the connection has ended instead."""
        if not (self._arrived or self._ended):
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        if not self._arrived:
            return False
        self._http.receive_data(b"".join(self._arrived))
        self._arrived.clear()
        if self._size > _WAITING_BYTES:
            self._transport.resume_reading()
        self._size = 0
        return True

    def _wake(self) -> None:
        if self._waiter and not self._waiter.done():
            self._waiter.set_result(None)
