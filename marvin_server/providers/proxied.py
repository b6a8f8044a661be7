"""Requests by way of the environment's proxies, which httpx knows. The only module of the providers that imports it."""

import contextlib
from collections.abc import Mapping

import httpx

from marvin_server import certificates
from marvin_server.providers import faults
from marvin_server.providers.failures import host_of

_IDLE_SECONDS = 30.0


class Proxied:
    """See ``transport.Client``. ``NO_PROXY`` counts, and ``connect_timeout`` is in seconds."""

    def __init__(self, connect_timeout: float) -> None:
        self._connect_timeout = connect_timeout
        self._client: httpx.AsyncClient | None = None

    async def connect(self, url: str) -> None:
        """See ``transport.Client``. Nothing is opened ahead: httpx has no means for it."""

    async def send(self, url: str, headers: Mapping[str, str], body: bytes) -> "Exchange":
        """See ``transport.Client``."""
        host = host_of(url)
        try:
            self._client = self._client or self._open()
            request = self._client.build_request("POST", url, headers=dict(headers), content=body)
        except (ImportError, ValueError, OSError, httpx.InvalidURL) as error:
            raise faults.unusable(host, error) from error
        try:
            return Exchange(await self._client.send(request, stream=True), host)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError, httpx.UnsupportedProtocol) as error:
            raise faults.unreachable(host, error) from error
        except httpx.LocalProtocolError:
            raise faults.improper(host) from None
        except httpx.RequestError as error:
            raise faults.unanswered(host, error) from error

    async def aclose(self) -> None:
        """See ``transport.Client``."""
        if self._client:
            await self._client.aclose()

    def _open(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(
            verify=certificates.context(),
            follow_redirects=False,
            timeout=httpx.Timeout(None, connect=self._connect_timeout),
            limits=httpx.Limits(keepalive_expiry=_IDLE_SECONDS),
        )


class Exchange:
    """See ``transport.Exchange``."""

    def __init__(self, response: httpx.Response, host: str) -> None:
        self.status = response.status_code
        self.headers: Mapping[str, str] = {name.lower(): value for name, value in response.headers.items()}
        self._response = response
        self._body = response.aiter_raw()
        self._host = host

    async def read(self) -> bytes:
        """See ``transport.Exchange``."""
        try:
            return await anext(self._body, b"")
        except httpx.RequestError as error:
            raise faults.broken(self._host, error) from error

    async def aclose(self) -> None:
        """See ``transport.Exchange``."""
        await self._response.aclose()
        # httpx's nested generators would wait for the garbage collector.
        with contextlib.suppress(httpx.HTTPError, httpx.StreamError):
            async for _ in self._body:
                pass
