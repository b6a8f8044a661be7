"""One GET request, redirects followed by hand, each to a host that is checked first."""

import asyncio
import ssl
import zlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING
from urllib.request import getproxies, proxy_bypass

from msgspec import Struct

import marvin_server
from marvin_server import certificates
from marvin_server.errors import ToolError
from marvin_server.sanitise import one_line
from marvin_server.tools.web import _target
from marvin_server.tools.web._reach import Reach
from marvin_server.tools.web._target import Target

if TYPE_CHECKING:
    import httpx

_MOST_REDIRECTS = 5
_MOST_BYTES = 5_000_000
_CONNECT_SECONDS = 8.0
_REDIRECTS = frozenset((301, 302, 303, 307, 308))
_HEADERS = {
    "user-agent": f"marvin-assistant/{marvin_server.__version__}",
    "accept": "text/html, application/xhtml+xml, text/*;q=0.9, application/json;q=0.9, */*;q=0.1",
    "accept-encoding": "gzip",
}


class Page(Struct, frozen=True):
    """What came. ``content_type`` is as sent, ``body`` unpacked; it ``is_whole`` unless it was longer than 5 MB."""

    target: Target
    content_type: str
    body: bytes
    is_whole: bool


async def fetch(url: str, reach: Reach, *, seconds: float) -> Page:
    """The page at ``url``, at most 5 redirects away, within ``seconds`` in all.

    Raises ToolError, also for a redirect to another host: rules and answers are about the host that was named.
    """
    target = _target.read(url)
    try:
        async with asyncio.timeout(seconds):
            trusted = await _trusted()
            for _ in range(_MOST_REDIRECTS + 1):
                answer = await _ask(target, reach, trusted)
                if isinstance(answer, Page):
                    return answer
                target = _same_host(target, _target.read(answer, target))
    except TimeoutError:
        raise ToolError(
            f"{target.host} did not answer within {seconds:g} s. Try again, or read another page."
        ) from None
    raise ToolError(f"{one_line(url, 200)} leads on and on: more than {_MOST_REDIRECTS} redirects.")


def _same_host(target: Target, moved: Target) -> Target:
    if moved.host != target.host:
        raise ToolError(
            f"{one_line(target.url, 200)} has moved to {one_line(moved.url, 1000)}, on another host. "
            "Call browse_web with that address to read it."
        )
    return moved


def proxy_for(target: Target) -> str | None:
    """The proxy of the environment, or of the system's settings, that requests to ``target`` go through."""
    proxies = getproxies()
    proxy = proxies.get(target.scheme) or proxies.get("all")
    if not proxy or proxy_bypass(target.host) or (target.address and target.address.is_loopback):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


async def _trusted() -> ssl.SSLContext:
    try:
        return await asyncio.to_thread(certificates.context)
    except ValueError as error:
        raise ToolError(f"No page can be read: {error}. SSL_CERT_FILE and SSL_CERT_DIR name them.") from None


async def _ask(target: Target, reach: Reach, trusted: ssl.SSLContext) -> Page | str:
    """The page, or where it has moved to."""
    import httpx

    try:
        async with _answer(target, reach, trusted) as response:
            if response.status_code in _REDIRECTS and "location" in response.headers:
                return response.headers["location"]
            if response.status_code >= 400:
                raise ToolError(f"{one_line(target.url, 200)} answers {_status(response)}.")
            body, is_whole = await _body(response)
            return Page(target, response.headers.get("content-type", ""), body, is_whole)
    except (httpx.HTTPError, httpx.InvalidURL, ImportError, ValueError, zlib.error) as error:
        reason = one_line(str(error), 200).rstrip(".") or type(error).__name__
        raise ToolError(f"{target.host} cannot be read: {reason}.") from None


@asynccontextmanager
async def _answer(target: Target, reach: Reach, trusted: ssl.SSLContext) -> "AsyncGenerator[httpx.Response]":
    """The head of the answer. A connection goes to an address that was checked, with the host's name for TLS."""
    import httpx

    if proxy := proxy_for(target):
        reach.check_name(target)
        hosts = [target.host]
    else:
        hosts = [str(address) for address in await reach.addresses(target)]
    limits = httpx.Timeout(None, connect=_CONNECT_SECONDS)
    async with httpx.AsyncClient(verify=trusted, trust_env=False, proxy=proxy, timeout=limits) as client:
        for host in hosts:
            url = httpx.URL(scheme=target.scheme, host=host, port=target.port, raw_path=target.path.encode("ascii"))
            fields = {**_HEADERS, "host": target.authority}
            request = client.build_request("GET", url, headers=fields, extensions={"sni_hostname": target.host})
            try:
                response = await client.send(request, stream=True, follow_redirects=False)
            except (httpx.ConnectError, httpx.ConnectTimeout):
                if host == hosts[-1]:
                    raise
                continue
            try:
                yield response
            finally:
                await response.aclose()
            return


async def _body(response: "httpx.Response") -> tuple[bytes, bool]:
    """The unpacked body, at most 5 MB of it, whatever it would unpack to, and whether that is all."""
    packing = response.headers.get("content-encoding", "identity").strip().lower()
    if packing not in ("identity", "gzip", "x-gzip", ""):
        raise ValueError(f"its answer is packed as {packing}, which was not asked for")
    unpacker = zlib.decompressobj(wbits=31) if "gzip" in packing else None
    body = bytearray()
    async for chunk in response.aiter_raw():
        body += unpacker.decompress(chunk, _MOST_BYTES + 1 - len(body)) if unpacker else chunk
        if len(body) > _MOST_BYTES:
            return bytes(body[:_MOST_BYTES]), False
    if unpacker and not unpacker.eof:
        raise ValueError("its answer ends too early")
    return bytes(body), True


def _status(response: "httpx.Response") -> str:
    hint = {401: "; it wants a login", 403: "; it turns programs away, or wants a login", 429: "; try again later"}
    return f"{response.status_code} {response.reason_phrase}".strip() + hint.get(response.status_code, "")
