"""HTTP for providers: one POST whose answer is read as it arrives. The only module that knows httpx."""

import asyncio
import contextlib
import os
import re
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Iterator, Mapping
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit

from marvin_server.errors import Interrupted, ProviderError, TimedOut, Unreachable
from marvin_server.providers.failures import host_of

if TYPE_CHECKING:
    import httpx

_CONNECT_SECONDS = 20.0
_IDLE_SECONDS = 30.0
_REST_SECONDS = 0.1


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

    async def wait_for(self, chunk: Awaitable[bytes], *, begun: bool) -> bytes:
        """The awaited chunk. Raises ``TimeoutError``."""
        if begun:
            self._limit = min(self._deadline, self._loop.time() + self._stall_timeout)
        task = asyncio.current_task()
        cancelling = task.cancelling() if task else 0
        self._task = task
        try:
            return await chunk
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
            self._expired = True
            self._task.cancel()
            return
        later = now + self._stall_timeout
        self._timer = self._loop.call_at(min(self._limit, later) if self._limit > now else later, self._check)


class Response:
    """An HTTP answer whose head has arrived. ``headers`` has lower-case names."""

    def __init__(self, response: "httpx.Response", host: str, patience: _Patience) -> None:
        import httpx

        self.status = response.status_code
        self.headers: Mapping[str, str] = {name.lower(): value for name, value in response.headers.items()}
        compressed = "content-encoding" in self.headers
        self._body: AsyncIterator[bytes] = response.aiter_bytes() if compressed else response.aiter_raw()
        self._failure: type[Exception] = httpx.RequestError
        self._host = host
        self._patience = patience
        self._begun = False

    async def read(self) -> bytes:
        """The next bytes, as one read from the socket brought them and decompressed; empty at the end.

        Raises ``TimedOut`` at the request's deadline or after the stall time-out, which counts from the last byte and
        not before the first, and ``Interrupted`` when the connection breaks.
        """
        try:
            chunk = await self._patience.wait_for(anext(self._body, b""), begun=self._begun)
        except TimeoutError:
            if self._patience.stalled:
                message = f"{self._host} fell silent in its answer; the setting stall_timeout allows longer silences"
                raise TimedOut(message) from None
            raise _too_long(self._host) from None
        except self._failure as error:
            raise Interrupted(f"the connection to {self._host} broke during the answer ({_reason(error)})") from error
        self._begun = True
        return chunk

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
                while await self.read():
                    pass

    async def finish(self) -> None:
        """End httpx's nested generators once the connection is closed, so that none waits for the garbage collector."""
        import httpx

        with contextlib.suppress(httpx.HTTPError, httpx.StreamError):
            async for _ in self._body:
                pass


class Transport:
    """Connections to one host, kept open between requests. Times are in seconds.

    ``request_timeout`` bounds a whole request, its answer included; ``stall_timeout`` bounds a silence within the
    answer. The environment's proxies and certificate variables count, except for a loopback host.
    """

    def __init__(self, *, request_timeout: float, stall_timeout: float) -> None:
        self._request_timeout = request_timeout
        self._stall_timeout = stall_timeout
        self._client: httpx.AsyncClient | None = None

    @contextlib.asynccontextmanager
    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> AsyncGenerator[Response]:
        """Send a request; the context's value is its answer, whatever the status. Leaving the context early closes the
        connection at once. Redirects are not followed.

        Raises ``Unreachable``, ``TimedOut`` or ``Interrupted``.
        """
        host = host_of(url)
        deadline = asyncio.get_running_loop().time() + self._request_timeout
        answer = await self._send(url, headers, body, host, deadline)
        patience = _Patience(deadline, self._stall_timeout)
        response = Response(answer, host, patience)
        try:
            yield response
            await response.read_rest()
        finally:
            patience.end()
            await answer.aclose()
            await response.finish()

    async def aclose(self) -> None:
        """Close every connection."""
        if self._client:
            await self._client.aclose()
            self._client = None

    async def _send(
        self, url: str, headers: Mapping[str, str], body: bytes, host: str, deadline: float
    ) -> "httpx.Response":
        import httpx

        try:
            if self._client is None:
                self._client = _open(url, self._request_timeout)
            request = self._client.build_request("POST", url, headers=dict(headers), content=body)
        except (ImportError, ValueError, OSError, httpx.InvalidURL) as error:
            message = f"cannot reach {host}: {error}; check the address and the environment's proxy and SSL variables"
            raise Unreachable(message) from error
        try:
            async with asyncio.timeout_at(deadline):
                return await self._client.send(request, stream=True)
        except TimeoutError:
            raise _too_long(host) from None
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError, httpx.UnsupportedProtocol) as error:
            message = (
                f"cannot reach {host} ({_reason(error)}); check the network, the address and that a server runs there"
            )
            raise Unreachable(message) from error
        except httpx.RequestError as error:
            raise Interrupted(f"{host} closed the connection without an answer ({_reason(error)})") from error


def is_loopback(url: str) -> bool:
    """Whether an address means this very machine."""
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return False
    return bool(re.fullmatch(r"(.+\.)?localhost|127(\.\d{1,3}){3}|::1", host))


def _open(url: str, request_timeout: float) -> "httpx.AsyncClient":
    import httpx

    # Loading the certificates takes 36 ms. Plain HTTP gets a context that trusts nobody.
    verify = httpx.create_ssl_context() if url.startswith("https:") else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return httpx.AsyncClient(
        verify=verify,
        trust_env=not is_loopback(url),
        follow_redirects=False,
        timeout=httpx.Timeout(None, connect=min(request_timeout, _CONNECT_SECONDS)),
        limits=httpx.Limits(keepalive_expiry=_IDLE_SECONDS),
    )


def _too_long(host: str) -> TimedOut:
    return TimedOut(f"{host} took longer than the request may; the setting request_timeout allows more")


def _reason(error: BaseException) -> str:
    """The innermost cause that says something, such as the operating system's."""
    causes = [cause for cause in _chain(error) if str(cause)]
    deepest = causes[-1] if causes else error
    if isinstance(deepest, ConnectionError) and deepest.errno:
        return os.strerror(deepest.errno)
    return getattr(deepest, "strerror", None) or str(deepest) or type(deepest).__name__


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        group = cast("tuple[BaseException, ...]", getattr(error, "exceptions", ()))
        error = group[0] if group else error.__cause__ or error.__context__
