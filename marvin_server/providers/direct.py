"""Requests straight to their host, over connections that are kept for the next request."""

import asyncio
import ssl
from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple
from urllib.parse import quote, unquote, urlsplit

import h11

from marvin_server import certificates
from marvin_server.providers import faults
from marvin_server.providers.connection import Connection, Unheard
from marvin_server.providers.failures import host_of

_IDLE_SECONDS = 30.0
_NEXT_ADDRESS_SECONDS = 0.25
_PORTS = {"http": 80, "https": 443}


class Origin(NamedTuple):
    """What a connection leads to."""

    scheme: str
    host: str
    port: int


class Direct:
    """See ``transport.Client``. One idle connection is kept for each origin; ``connect_timeout`` is in seconds."""

    def __init__(self, connect_timeout: float) -> None:
        self._connect_timeout = connect_timeout
        self._idle: dict[Origin, Connection] = {}
        self._opening = asyncio.Lock()
        self._trusted: ssl.SSLContext | None = None

    async def connect(self, url: str) -> None:
        """See ``transport.Client``."""
        origin = _origin(url)
        connection, _ = await self._connection(origin, host_of(url))
        self._keep(origin, connection)

    async def send(self, url: str, headers: Mapping[str, str], body: bytes) -> "Exchange":
        """See ``transport.Client``.

        A kept connection that turns out to be closed, with not a byte of an answer, is replaced once and the request
        sent again. HTTP allows that where it is known to do no harm (RFC 9112 §9.3.1, RFC 9110 §9.2.2): asking a model
        changes nothing.
        """
        origin, host = _origin(url), host_of(url)
        request = _request(url, origin, headers, body)
        connection, kept = await self._connection(origin, host)
        head = await _ask(connection, request, body, host, may_be_stale=kept)
        if head is None:
            connection = await self._open(origin, host)
            head = await _ask(connection, request, body, host)
        assert head is not None
        return Exchange(head, connection, host, partial(self._keep, origin, connection))

    async def aclose(self) -> None:
        """Close the idle connections."""
        while self._idle:
            self._idle.popitem()[1].close()
        # A socket that was told to close does so in the loop's next iteration.
        await asyncio.sleep(0)

    async def _connection(self, origin: Origin, host: str) -> tuple[Connection, bool]:
        """A connection, and whether it is one that was kept."""
        async with self._opening:
            kept = self._idle.pop(origin, None)
            if kept:
                if kept.is_idle and asyncio.get_running_loop().time() - kept.idle_since < _IDLE_SECONDS:
                    return kept, True
                kept.close()
            return await self._open(origin, host), False

    def _keep(self, origin: Origin, connection: Connection) -> None:
        """Keep a connection whose answer was read to its end; close any other at once."""
        if connection.recycle():
            if older := self._idle.get(origin):
                older.close()
            self._idle[origin] = connection

    async def _open(self, origin: Origin, host: str) -> Connection:
        opened = self._open_secure(origin) if origin.scheme == "https" else _connect(origin)
        limit = asyncio.timeout(self._connect_timeout)
        try:
            async with limit:
                return await opened
        except OSError as error:
            if limit.expired():
                late = TimeoutError(f"no connection within {self._connect_timeout:g} s")
                raise faults.unreachable(host, late) from None
            raise faults.unreachable(host, error) from error
        except ValueError as error:
            raise faults.unusable(host, error) from error

    async def _open_secure(self, origin: Origin) -> Connection:
        """Connects while the certificates are read, which takes about as long."""
        reading = asyncio.create_task(self._trust())
        try:
            connection = await _connect(origin)
        except BaseException:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
            raise
        try:
            await connection.start_tls(await reading, origin.host)
        except BaseException:
            connection.close()
            raise
        return connection

    async def _trust(self) -> ssl.SSLContext:
        if self._trusted is None:
            self._trusted = await asyncio.to_thread(certificates.context)
        return self._trusted


class Exchange:
    """See ``transport.Exchange``."""

    def __init__(self, head: h11.Response, connection: Connection, host: str, keep: Callable[[], None]) -> None:
        headers: dict[str, str] = {}
        for name, value in head.headers:
            key, text = name.decode("latin-1"), value.decode("latin-1")
            headers[key] = f"{headers[key]}, {text}" if key in headers else text
        self.status = head.status_code
        self.headers: Mapping[str, str] = headers
        self._connection = connection
        self._host = host
        self._keep = keep

    async def read(self) -> bytes:
        """See ``transport.Exchange``."""
        try:
            return await self._connection.read()
        except (h11.RemoteProtocolError, OSError) as error:
            raise faults.broken(self._host, error) from error

    async def aclose(self) -> None:
        """See ``transport.Exchange``."""
        self._keep()


async def _connect(origin: Origin) -> Connection:
    made = partial(Connection, secure=origin.scheme == "https")
    loop = asyncio.get_running_loop()
    _, connection = await loop.create_connection(
        made, origin.host, origin.port, happy_eyeballs_delay=_NEXT_ADDRESS_SECONDS
    )
    return connection


async def _ask(
    connection: Connection, request: h11.Request, body: bytes, host: str, *, may_be_stale: bool = False
) -> h11.Response | None:
    """The head of the answer; None when the connection was stale."""
    try:
        return await connection.send(request, body)
    except Unheard as error:
        if may_be_stale:
            return None
        raise faults.unanswered(host, error) from error
    except OSError as error:
        raise faults.unanswered(host, error) from error
    except h11.RemoteProtocolError as error:
        raise faults.not_http(host, error) from error


def _origin(url: str) -> Origin:
    """Raises ``Unreachable`` for what is no HTTP address."""
    try:
        parts = urlsplit(url)
        if parts.scheme not in _PORTS or not parts.hostname:
            raise ValueError("it needs an address such as https://host/v1")
        host = parts.hostname if parts.hostname.isascii() else parts.hostname.encode("idna").decode()
        return Origin(parts.scheme, host, parts.port or _PORTS[parts.scheme])
    except ValueError as error:
        raise faults.unusable(host_of(url), error) from error


def _request(url: str, origin: Origin, headers: Mapping[str, str], body: bytes) -> h11.Request:
    """Raises ``BadRequest`` for a header that HTTP does not allow."""
    parts = urlsplit(url)
    host = f"[{origin.host}]" if ":" in origin.host else origin.host
    authority = host if origin.port == _PORTS[origin.scheme] else f"{host}:{origin.port}"
    fields = {"host": authority, **headers, "content-length": str(len(body))}
    if parts.username is not None:
        from base64 import b64encode

        login = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        fields["authorization"] = f"Basic {b64encode(login.encode()).decode()}"
    target = quote(f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}", safe="!$%&'()*+,/:;=?@[]~")
    try:
        lines = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in fields.items()]
        return h11.Request(method="POST", target=target, headers=lines)
    except (h11.LocalProtocolError, ValueError):
        raise faults.improper(host_of(url)) from None
