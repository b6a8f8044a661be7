"""Whether a model server of this machine answers, found out in a moment and without ever leaving the machine."""

import asyncio
import json
from collections.abc import Mapping
from contextlib import suppress
from typing import cast
from urllib.parse import urlsplit

import h11
from msgspec import Struct

from marvin_server import certificates
from marvin_server.providers import model_list, ollama_server
from marvin_server.providers.connection import Connection
from marvin_server.providers.failures import Endpoint
from marvin_server.providers.transport import is_loopback
from marvin_server.sanitise import one_line

SECONDS = 0.2
_LARGEST = 20_000_000
_ADDRESSES = ("127.0.0.1", "::1")
_PORTS = {"http": 80, "https": 443}


class Standing(Struct, frozen=True):
    """How it stands with a server, in words: ``is_running`` when something answers there, and ``serves`` when that
    is one that has models."""

    is_running: bool
    serves: bool
    text: str


async def standing(endpoint: Endpoint, wire_api: str, seconds: float = SECONDS) -> Standing:
    """What the server says when it is asked for its models, within so many ``seconds``.

    Raises ``ValueError`` for an address that is not this machine's.
    """
    url, shown, connection = endpoint.url, _shown(endpoint), None
    if not is_loopback(url):
        raise ValueError(f"{endpoint.host} is not this machine")
    if wire_api == "ollama":
        answers = await asyncio.to_thread(ollama_server.answers, url, seconds)
        return Standing(answers, answers, f"{'' if answers else 'nothing '}answers at {shown}")
    try:
        trusted = await asyncio.to_thread(certificates.context) if url.startswith("https:") else None
    except ValueError as error:
        return Standing(False, False, f"{shown} cannot be asked: {one_line(str(error), 100)}")
    try:
        async with asyncio.timeout(seconds):
            connection = await _connected(url)
            if trusted is not None:
                await connection.start_tls(trusted, urlsplit(url).hostname or "")
            return await _asked(connection, endpoint, wire_api)
    except TimeoutError:
        return Standing(connection is not None, False, f"no answer from {shown} within {seconds:g} s")
    except (OSError, ValueError, RecursionError, h11.ProtocolError) as error:
        if connection is None:
            return Standing(False, False, f"nothing answers at {shown}")
        return Standing(True, False, f"what answers at {shown} is not understood ({one_line(str(error), 100)})")
    finally:
        if connection is not None:
            connection.close()


async def _asked(connection: Connection, endpoint: Endpoint, wire_api: str) -> Standing:
    asked, headers = model_list.question(endpoint, wire_api)
    head = await connection.send(_request(asked, headers), b"")
    shown, status = _shown(endpoint), head.status_code
    if status in {401, 403}:
        return Standing(True, False, f"{shown} {'refuses the key' if endpoint.key else 'wants a key'} (HTTP {status})")
    if status != 200:
        return Standing(True, False, f"what answers at {shown} lists no models (HTTP {status})")
    body = b""
    while (part := await connection.read()) and len(body) <= _LARGEST:
        body += part
    answer: object = json.loads(body)
    listed = cast("dict[str, object]", answer).get("data") if isinstance(answer, dict) else answer
    if isinstance(listed, list):
        return Standing(True, True, f"answers at {shown}")
    return Standing(True, False, f"what answers at {shown} lists no models")


def _shown(endpoint: Endpoint) -> str:
    """The address without a user's name, password and query."""
    return urlsplit(endpoint.url)._replace(netloc=endpoint.host, query="").geturl()


async def _connected(url: str) -> Connection:
    """A connection to one of this machine's own addresses: a name such as localhost is not looked up."""
    parts = urlsplit(url)
    host, secure = parts.hostname or "", parts.scheme == "https"
    port = parts.port or _PORTS[parts.scheme]
    loop = asyncio.get_running_loop()
    for address in _ADDRESSES if host.endswith("localhost") else (host,):
        with suppress(OSError):
            _, connection = await loop.create_connection(lambda: Connection(secure=secure), address, port)
            return connection
    raise ConnectionRefusedError(url)


def _request(url: str, headers: Mapping[str, str]) -> h11.Request:
    parts = urlsplit(url)
    fields = {"host": parts.netloc.rpartition("@")[2], "accept": "application/json", "connection": "close", **headers}
    target = f"{parts.path}{'?' if parts.query else ''}{parts.query}"
    return h11.Request(method="GET", target=target, headers=list(fields.items()))
