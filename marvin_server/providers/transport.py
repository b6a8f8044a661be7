"""HTTP for providers: one POST whose answer is read as it arrives, straight to its host or by way of a proxy."""

import asyncio
import contextlib
import os
import re
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from typing import Protocol
from urllib.parse import urlsplit

import marvin_server
from marvin_server.errors import BadRequest, ProviderError
from marvin_server.providers import content_coding, faults
from marvin_server.providers.failures import host_of

_CONNECT_SECONDS = 20.0
_REST_SECONDS = 0.1
_LAST_LOOK_SECONDS = 0.02


class Exchange(Protocol):
    """An answer whose head has arrived; ``headers`` has lower-case names."""

    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> Mapping[str, str]: ...

    async def read(self) -> bytes:
        """The body's next bytes as they are on the wire; empty at its end. Raises ``Interrupted``."""
        ...

    async def aclose(self) -> None:
        """End the exchange; unless the answer was read to its end, that closes the connection at once."""
        ...


class Client(Protocol):
    """A way to reach hosts; it keeps connections open between requests."""

    async def connect(self, url: str) -> None:
        """Have a connection ready for the next request. Raises ``Unreachable``."""
        ...

    async def send(self, url: str, headers: Mapping[str, str], body: bytes) -> Exchange:
        """Send a POST request and wait for the head of its answer. Header names are lower-case.

        Raises ``Unreachable``, ``Interrupted`` or ``BadRequest``.
        """
        ...

    async def aclose(self) -> None:
        """Close every connection."""
        ...


class _Patience:
    """Gives up a read that waits too long. One timer serves all reads: one for each would cost more than the read."""

    def __init__(self, deadline: float, stall_timeout: float) -> None:
        self._loop = asyncio.get_running_loop()
        self._deadline = deadline
        self._stall_timeout = stall_timeout
        self._limit = deadline
        self._task: asyncio.Task[object] | None = None
        self._expired = False
        self._timer = self._loop.call_soon(self._check)

    @property
    def stalled(self) -> bool:
        """Whether it is the stall time-out, not the deadline, that limits the present read."""
        return self._limit < self._deadline

    async def wait_for(self, read: Callable[[], Awaitable[bytes]], *, begun: bool) -> bytes:
        """The chunk that ``read`` brings. Raises ``TimeoutError``."""
        now = self._loop.time()
        if begun:
            self._limit = min(self._deadline, now + self._stall_timeout)
        if now >= self._limit:
            raise TimeoutError
        task = asyncio.current_task()
        cancelling = task.cancelling() if task else 0
        self._task = task
        try:
            return await read()
        except asyncio.CancelledError:
            if task and self._expired and task.uncancel() <= cancelling:
                raise TimeoutError from None
            raise
        finally:
            self._task = None

    def end(self) -> None:
        self._timer.cancel()

    def _check(self) -> None:
        now = self._loop.time()
        if self._task and now >= self._limit:
            # What came while the whole process stood still is in the socket and has yet to be read.
            self._timer = self._loop.call_later(_LAST_LOOK_SECONDS, self._give_up, self._limit)
            return
        later = now + self._stall_timeout
        self._timer = self._loop.call_at(min(self._limit, later) if self._limit > now else later, self._check)

    def _give_up(self, limit: float) -> None:
        if self._task and self._limit == limit:
            self._expired = True
            self._task.cancel()
        else:
            self._check()


class Response:
    """An HTTP answer whose head has arrived. ``headers`` has lower-case names."""

    def __init__(self, exchange: Exchange, host: str, patience: _Patience) -> None:
        self.status = exchange.status
        self.headers = exchange.headers
        self._exchange = exchange
        self._host = host
        self._patience = patience
        self._begun = False
        self._decoder: content_coding.Decoder | None = None

    async def read(self) -> bytes:
        """The next bytes, as one read from the socket brought them and decompressed; empty at the end.

        Raises ``TimedOut`` at the request's deadline or after the stall time-out, which counts from the last byte and
        not before the first, ``Interrupted`` when the connection breaks or the compressed body is damaged, and
        ``BadRequest`` for a compression that was never asked for.
        """
        if not self._begun:
            self._decoder = self._choose_decoder()
        decoder = self._decoder
        if decoder is None:
            return await self._read()
        try:
            while chunk := await self._read():
                if unpacked := decoder.feed(chunk):
                    return unpacked
            decoder.close()
        except ValueError as error:
            raise faults.broken(self._host, error) from error
        return b""

    async def read_start(self, limit: int) -> bytes:
        """The start of the body, about ``limit`` bytes, or as much of it as can be had."""
        start = b""
        with contextlib.suppress(ProviderError):
            while len(start) < limit and (chunk := await self.read()):
                start += chunk
        return start

    async def read_rest(self) -> None:
        """Read what little may be left, so that the connection can be used again."""
        with contextlib.suppress(ProviderError, TimeoutError):
            async with asyncio.timeout(_REST_SECONDS):
                while await self._read():
                    pass

    async def finish(self) -> None:
        """Let go of the connection; it is closed unless the answer was read to its end."""
        await self._exchange.aclose()

    async def _read(self) -> bytes:
        try:
            chunk = await self._patience.wait_for(self._exchange.read, begun=self._begun)
        except TimeoutError:
            raise (faults.silent if self._patience.stalled else faults.too_long)(self._host) from None
        self._begun = True
        return chunk

    def _choose_decoder(self) -> content_coding.Decoder | None:
        try:
            return content_coding.decoder(self.headers.get("content-encoding", ""))
        except LookupError as error:
            raise BadRequest(
                f"{self._host} compresses its answer in a way that was not asked for (content-encoding: {error})"
            ) from None


class Transport:
    """Connections to hosts, kept open between requests. Times are in seconds.

    ``request_timeout`` bounds a whole request, its answer included; ``stall_timeout`` bounds a silence within the
    answer. The environment's proxies and certificate variables count, proxies not for a loopback host. What ``wrap``
    makes of a client is asked in its place.
    """

    def __init__(
        self, *, request_timeout: float, stall_timeout: float, wrap: Callable[[Client], Client] | None = None
    ) -> None:
        self._request_timeout = request_timeout
        self._stall_timeout = stall_timeout
        self._wrap = wrap
        self._direct: Client | None = None
        self._proxied: Client | None = None

    async def connect(self, url: str) -> None:
        """Open a connection ahead of the first request, which will take it. A failure is left for that to report."""
        with contextlib.suppress(ProviderError):
            await self._client(url).connect(url)

    @contextlib.asynccontextmanager
    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> AsyncGenerator[Response]:
        """Send a request; the context's value is its answer, whatever the status. Leaving the context early closes the
        connection at once. Redirects are not followed. No compression is asked for: it delays a stream.

        Raises ``Unreachable``, ``TimedOut``, ``Interrupted`` or ``BadRequest``.
        """
        host = host_of(url)
        deadline = asyncio.get_running_loop().time() + self._request_timeout
        defaults = {
            "accept": "*/*",
            "accept-encoding": "identity",
            "user-agent": f"marvin-assistant/{marvin_server.__version__}",
        }
        fields = defaults | {name.lower(): value for name, value in headers.items()}
        try:
            async with asyncio.timeout_at(deadline):
                exchange = await self._client(url).send(url, fields, body)
        except TimeoutError:
            raise faults.too_long(host) from None
        patience = _Patience(deadline, self._stall_timeout)
        response = Response(exchange, host, patience)
        try:
            yield response
            await response.read_rest()
        finally:
            patience.end()
            await response.finish()

    async def aclose(self) -> None:
        """Close every connection."""
        for client in (self._direct, self._proxied):
            if client:
                await client.aclose()
        self._direct = self._proxied = None

    def _client(self, url: str) -> Client:
        connect_timeout = min(self._request_timeout, _CONNECT_SECONDS)
        if _is_proxied(url):
            if self._proxied is None:
                from marvin_server.providers.proxied import Proxied

                self._proxied = self._wrapped(Proxied(connect_timeout))
            return self._proxied
        if self._direct is None:
            from marvin_server.providers.direct import Direct

            self._direct = self._wrapped(Direct(connect_timeout))
        return self._direct

    def _wrapped(self, client: Client) -> Client:
        return self._wrap(client) if self._wrap else client


def is_loopback(url: str) -> bool:
    """Whether an address means this very machine."""
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return False
    return bool(re.fullmatch(r"(.+\.)?localhost|127(\.\d{1,3}){3}|::1", host))


def _is_proxied(url: str) -> bool:
    """Whether the environment has a proxy that may be meant for this address. What NO_PROXY says is httpx's to know."""
    if is_loopback(url):
        return False
    names = (f"{url.partition(':')[0].lower()}_proxy", "all_proxy")
    if any(value and name.lower() in names for name, value in os.environ.items()):
        return True
    if sys.platform in ("darwin", "win32"):
        # The system's own settings count there, as in any program that asks Python for proxies.
        from urllib.request import getproxies

        return bool(getproxies())
    return False
