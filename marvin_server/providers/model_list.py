"""The models that a vendor offers at this moment, asked for over HTTP, and the last answer kept in the cache."""

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import parse_qsl, urlencode, urlsplit

import msgspec

import marvin_server
from marvin_server import certificates
from marvin_server.errors import Auth, BadRequest, TimedOut, Unreachable
from marvin_server.messages import new_id
from marvin_server.providers import failures, faults, ollama_server, selection, vendors
from marvin_server.providers.failures import Endpoint
from marvin_server.providers.transport import is_loopback
from marvin_server.providers.vendor_files import Vendor
from marvin_server.settings import Settings

if TYPE_CHECKING:
    import httpx

SECONDS = 10.0
_LARGEST = 20_000_000
_MOST_PAGES = 20
_MESSAGE_PATHS = ("/chat/completions", "/responses", "/messages")


class Listing(msgspec.Struct, frozen=True):
    """The models that ``url`` offered ``at`` a time (ISO 8601, UTC), sorted by name."""

    url: str
    at: str
    models: tuple[str, ...]


async def refresh(vendor: Vendor, settings: Settings) -> Listing:
    """Ask the vendor for its models and keep the answer; where the cache cannot be written, it is done without.

    Raises ``UsageError`` for a wrong address and ``ProviderError``, ``Auth`` among them where a key is missing.
    """
    url, found = address(vendor, settings), vendors.key(vendor, settings)
    if vendor.wire_api == selection.OLLAMA:
        models = await _ollama(url)
    else:
        places = " or ".join(filter(None, (vendor.key_variable, vendor.key_file)))
        if found.value is None and places and not is_loopback(url):
            raise Auth(f"{vendor.title} needs a key: {found.origin}; run: marvin login {vendor.name}")
        models = await fetch(vendor, url, found.value, check_key=places or str(vendor.file))
    listing = Listing(url, datetime.now(UTC).isoformat(timespec="seconds"), models)
    _save(_file(vendor, settings), listing)
    return listing


def cached(vendor: Vendor, settings: Settings) -> Listing | None:
    """What ``refresh`` kept, if it came from the address that the vendor has now. Raises ``UsageError``."""
    try:
        listing = msgspec.json.decode(_file(vendor, settings).read_bytes(), type=Listing)
    except (OSError, msgspec.DecodeError):
        return None
    return listing if listing.url == address(vendor, settings) else None


def address(vendor: Vendor, settings: Settings) -> str:
    """Where the vendor is asked. Raises ``UsageError`` when that is no address."""
    return selection.ollama_address(settings) if vendor.name == selection.OLLAMA else vendors.url(vendor, settings)


async def fetch(vendor: Vendor, url: str, key: str | None, *, check_key: str) -> tuple[str, ...]:
    """The names of the models at ``url``, which is a base URL or the full address that messages go to.

    ``check_key`` says where a person looks when the key is refused. Redirects are not followed.
    Raises ``ProviderError``, ``Auth`` among them for a refused key.

    Formats: https://platform.openai.com/docs/api-reference/models/list, of which Together AI sends the bare list, and
    https://docs.claude.com/en/api/models-list, which has pages.
    """
    check_url = vendor.url_variable or str(vendor.file)
    endpoint = Endpoint(vendor.title, url, key, check_key, check_url, vendor.key_header)
    try:
        async with asyncio.timeout(SECONDS):
            pages = await (_anthropic(endpoint) if vendor.wire_api == "anthropic" else _openai(endpoint))
    except TimeoutError:
        raise TimedOut(f"{vendor.title} ({endpoint.host}) did not list its models within {SECONDS:g} s") from None
    # Gemini's names begin with their resource's.
    names = {str(item["id"]).removeprefix("models/") for page in pages for item in page if item.get("id")}
    return tuple(sorted(names))


def question(endpoint: Endpoint, wire_api: str) -> tuple[str, dict[str, str]]:
    """The address of the list of models, and the headers that it is asked for with.

    A query that the vendor's own address has stays. Ollama's own wire API has its list elsewhere.
    """
    version, headers = "", endpoint.bearer
    if wire_api == "anthropic":
        key = {endpoint.key_header or "x-api-key": endpoint.key} if endpoint.key else {}
        version, headers = "/v1", {"anthropic-version": "2023-06-01", **key}
    parts = urlsplit(endpoint.url)
    base = parts.path.rstrip("/")
    for path in _MESSAGE_PATHS:
        base = base.removesuffix(path)
    base = base if base.endswith(version) else base + version
    return parts._replace(path=f"{base}/models").geturl(), headers


async def _openai(endpoint: Endpoint) -> list[list[dict[str, Any]]]:
    url, headers = question(endpoint, "openai_chat")
    async with _client(endpoint) as client:
        return [_items(endpoint, await _get(client, endpoint, url, headers))]


async def _anthropic(endpoint: Endpoint) -> list[list[dict[str, Any]]]:
    base, headers = question(endpoint, "anthropic")
    query, pages = {"limit": "1000"}, list[list[dict[str, Any]]]()
    async with _client(endpoint) as client:
        while len(pages) < _MOST_PAGES:
            page = await _get(client, endpoint, _with_query(base, query), headers)
            pages.append(_items(endpoint, page))
            fields = cast("dict[str, object]", page) if isinstance(page, dict) else {}
            if not (fields.get("has_more") and fields.get("last_id")):
                break
            query["after_id"] = str(fields["last_id"])
    return pages


async def _ollama(url: str) -> tuple[str, ...]:
    models = await ollama_server.models(url, SECONDS)
    if not models and not await asyncio.to_thread(ollama_server.answers, url, SECONDS):
        raise Unreachable(f"nothing answers at {url}; start it with: ollama serve")
    return tuple(sorted(models))


def _with_query(url: str, query: Mapping[str, str]) -> str:
    parts = urlsplit(url)
    pairs = [*parse_qsl(parts.query, keep_blank_values=True), *query.items()]
    return parts._replace(query=urlencode(pairs)).geturl()


@contextlib.asynccontextmanager
async def _client(endpoint: Endpoint) -> "AsyncGenerator[httpx.AsyncClient]":
    import httpx

    host = endpoint.host
    try:
        # The environment's proxies count, but not for this machine.
        client = httpx.AsyncClient(
            verify=certificates.context(),
            follow_redirects=False,
            timeout=None,  # noqa: S113 - ``fetch`` bounds the whole
            trust_env=not is_loopback(endpoint.url),
        )
    except (ImportError, ValueError, OSError) as error:
        raise faults.unusable(host, error) from error
    try:
        async with client:
            yield client
    except (httpx.ConnectError, httpx.ProxyError, httpx.UnsupportedProtocol) as error:
        raise faults.unreachable(host, error) from error
    except httpx.InvalidURL as error:
        raise faults.unusable(host, error) from error
    except httpx.HTTPError as error:
        raise faults.unanswered(host, error) from error


async def _get(client: "httpx.AsyncClient", endpoint: Endpoint, url: str, headers: Mapping[str, str]) -> object:
    """The JSON at ``url``. Raises ``ProviderError``."""
    sent = {"accept": "application/json", "user-agent": f"marvin-assistant/{marvin_server.__version__}", **headers}
    async with client.stream("GET", url, headers=sent) as response:
        body = b""
        async for part in response.aiter_bytes():
            body += part
            if len(body) > _LARGEST:
                raise BadRequest(f"{endpoint.title} ({endpoint.host}) lists more than {_LARGEST:,} bytes of models")
    received = {name.lower(): value for name, value in response.headers.items()}
    if response.status_code != 200:
        raise failures.refused(endpoint, response.status_code, received, body)
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        text = body.decode("utf-8", "replace")
        raise failures.not_an_answer(endpoint, response.status_code, received, text) from None


def _items(endpoint: Endpoint, answer: object) -> list[dict[str, Any]]:
    listed = cast("dict[str, object]", answer).get("data") if isinstance(answer, dict) else answer
    items = cast("list[object]", listed) if isinstance(listed, list) else [None]
    if not all(isinstance(item, dict) for item in items):
        raise BadRequest(f"{endpoint.title} ({endpoint.host}) answered something that is no list of models")
    return cast("list[dict[str, Any]]", items)


def _file(vendor: Vendor, settings: Settings) -> Path:
    return settings.paths.models / f"{vendor.name}.json"


def _save(file: Path, listing: Listing) -> None:
    draft = file.with_name(f"{file.name}.{new_id()}")
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        draft.write_bytes(msgspec.json.encode(listing))
        draft.replace(file)
