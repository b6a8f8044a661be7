"""Where a person's Ollama server is, whether it answers, and which models it has."""

import asyncio
import http.client
import json
from collections.abc import Mapping
from typing import Any, cast
from urllib.parse import urlsplit

from marvin_server.errors import UsageError

DEFAULT_URL = "http://localhost:11434"
_PORT = 11434
_THIS_MACHINE = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "localhost"}  # noqa: S104 - never bound to


def address(environ: Mapping[str, str]) -> str:
    """The server's base URL: ``OLLAMA_URL``, else ``OLLAMA_HOST`` as Ollama itself reads it, else its usual address.

    ``OLLAMA_HOST`` may be a host, ``host:port``, ``:port`` or a URL; an address to listen on stands for this machine.
    Raises ``UsageError`` when the variable holds no address.
    """
    for variable in ("OLLAMA_URL", "OLLAMA_HOST"):
        if value := environ.get(variable, "").strip(" \t\"'"):
            try:
                return _url(value)
            except ValueError:
                raise UsageError(f"{variable} needs an address such as {DEFAULT_URL}, not {value!r}") from None
    return DEFAULT_URL


def answers(url: str, seconds: float = 0.2) -> bool:
    """Whether an Ollama server says its version at ``url`` in time. It blocks for about ``seconds`` at most."""
    try:
        return isinstance(_get(url, "/api/version", seconds).get("version"), str)
    except (OSError, ValueError, http.client.HTTPException):
        return False


async def models(url: str, seconds: float = 5.0) -> tuple[str, ...]:
    """The names of the models that are installed there, newest first; empty when it cannot be asked.

    Format: https://github.com/ollama/ollama/blob/main/docs/api.md#list-local-models.
    """
    try:
        listed = (await asyncio.to_thread(_get, url, "/api/tags", seconds)).get("models")
    except (OSError, ValueError, http.client.HTTPException):
        return ()
    items = cast("list[dict[str, Any]]", listed) if isinstance(listed, list) else []
    return tuple(str(item["name"]) for item in items)


def _url(value: str) -> str:
    bare = "://" not in value
    parts = urlsplit(f"http://{value}" if bare else value)
    if parts.scheme not in ("http", "https"):
        raise ValueError(value)
    host = _THIS_MACHINE.get(parts.hostname or "", parts.hostname or "")
    port = parts.port or (_PORT if bare else None)
    host = f"[{host}]" if ":" in host else host
    user = f"{parts.netloc.rpartition('@')[0]}@" if "@" in parts.netloc else ""
    return f"{parts.scheme}://{user}{host}{f':{port}' if port else ''}{parts.path.rstrip('/')}"


def _get(url: str, path: str, seconds: float) -> dict[str, Any]:
    """The JSON object at ``path``. Raises ``OSError``, ``ValueError`` or ``HTTPException``."""
    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "localhost", parts.port, timeout=seconds)
    try:
        connection.request("GET", parts.path.rstrip("/") + path)
        answer = connection.getresponse()
        value: object = json.loads(answer.read(10_000_000))
    finally:
        connection.close()
    if answer.status != 200 or not isinstance(value, dict):
        raise ValueError(f"{url} answered {answer.status}")
    return cast("dict[str, Any]", value)
