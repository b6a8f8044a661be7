"""What a vendor's refusal means: status, headers and words in, one ``ProviderError`` with one readable line out."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import urlsplit

from marvin_server.errors import (
    Auth,
    BadRequest,
    ContextOverflow,
    Overloaded,
    ProviderError,
    RateLimited,
    TimedOut,
)

_OVERFLOW = re.compile(
    r"context_length_exceeded|exceed_context_size|maximum context|context (length|window|size|limit)|too many tokens"
    r"|(prompt|input) is too long|maximum number of (input )?tokens|request.too.large|reduce the length",
    re.IGNORECASE,
)
_KEY_REFUSED = re.compile(r"invalid_api_key|API_KEY_INVALID|api key not valid|insufficient_quota", re.IGNORECASE)
_RETRY_DELAY = re.compile(r'"retryDelay":\s*"([\d.]+)s"')
_STATUS_OF_WORD = {
    "rate_limit": 429,
    "overloaded": 529,
    "authentication": 401,
    "permission": 403,
    "not_found": 404,
    "invalid_request": 400,
    "invalid_prompt": 400,
    "context_length": 400,
    "timeout": 504,
}
_LONGEST = 300


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Whom a request goes to. ``check_key`` and ``check_url`` name where a person sets the key and the address.

    ``key_header`` is the header that carries the key alone; without it the wire API's own way holds.
    """

    title: str
    url: str
    key: str | None = field(repr=False)
    check_key: str
    check_url: str
    key_header: str | None = None

    @property
    def bearer(self) -> dict[str, str]:
        """The header for the key of a wire API that takes it as a bearer token."""
        if self.key is None:
            return {}
        return {self.key_header: self.key} if self.key_header else {"authorization": f"Bearer {self.key}"}

    @property
    def host(self) -> str:
        return host_of(self.url)


def host_of(url: str) -> str:
    """Host and port of an address, without a user's name and password."""
    return urlsplit(url).netloc.rpartition("@")[2]


def refused(endpoint: Endpoint, status: int, headers: Mapping[str, str], body: bytes) -> ProviderError:
    """The error for an HTTP answer that is not 200. ``headers`` has lower-case names, ``body`` may be cut short."""
    text = body.decode("utf-8", "replace")
    if 300 <= status < 400:
        target = host_of(headers.get("location", "")) or "another page of the same host"
        return BadRequest(
            f"{endpoint.title} ({endpoint.host}) redirects to {target}, which is not followed, so that the key goes "
            f"nowhere else; check {endpoint.check_url}",
            status=status,
        )
    if _is_html(text) and 400 <= status < 500 and status not in (401, 408, 413, 429):
        return not_an_answer(endpoint, status, headers, text)
    return _failure(endpoint, status, _words(text), text, _retry_after(headers, text))


def reported(endpoint: Endpoint, error: object) -> ProviderError:
    """The error that a vendor put into a stream that had begun well: an ``error`` object, or its text alone."""
    text = error if isinstance(error, str) else json.dumps(error)
    return _failure(endpoint, _status_within(error), _words(text), text, _retry_after({}, text))


def not_an_answer(endpoint: Endpoint, status: int, headers: Mapping[str, str], text: str) -> BadRequest:
    """The error for what no model's server would say: mostly a web page at a wrong address."""
    content_type = headers.get("content-type", "no content type")
    start = _one_line(endpoint, re.sub(r"<[^>]*>", " ", text))[:80]
    return BadRequest(
        f"{endpoint.title} ({endpoint.host}) answered {status} with {content_type} instead of a model's answer "
        f"({start!r}); the URL may be wrong: check {endpoint.check_url}",
        status=status,
    )


def garbled(endpoint: Endpoint, text: str) -> BadRequest:
    """The error for an event of a stream that is not JSON."""
    start = _one_line(endpoint, text)[:80]
    return BadRequest(f"{endpoint.title} ({endpoint.host}) sent something that is not JSON in its stream ({start!r})")


def _failure(endpoint: Endpoint, status: int, words: str, evidence: str, retry_after: float | None) -> ProviderError:
    kind = _kind(status, evidence)
    advice = f"; check {endpoint.check_key}, or run: marvin doctor" if kind is Auth else ""
    said = _one_line(endpoint, words) or "no reason given"
    line = f"{endpoint.title} ({endpoint.host}) answered {status}: {said.rstrip('.')}{advice}"
    return kind(line, status=status, retry_after=retry_after)


def _kind(status: int, evidence: str) -> type[ProviderError]:
    if status in (401, 403) or _KEY_REFUSED.search(evidence):
        return Auth
    if status == 429:
        return RateLimited
    if status == 413 or _OVERFLOW.search(evidence):
        return ContextOverflow
    if status in (408, 504):
        return TimedOut
    return Overloaded if status >= 500 else BadRequest


def _status_within(error: object) -> int:
    """The HTTP status that an error inside a stream stands for; 500 when it does not tell."""
    fields = _fields(error)
    for name in ("code", "status"):
        value = str(fields.get(name))
        if re.fullmatch(r"[45]\d\d", value):
            return int(value)
    label = " ".join(str(fields.get(name, "")) for name in ("code", "type", "status")).lower()
    return next((status for word, status in _STATUS_OF_WORD.items() if word in label), 500)


def _words(text: str) -> str:
    """The vendor's own message, wherever its error body keeps it; else the start of the body."""
    try:
        value: Any = json.loads(text)
    except ValueError:
        return re.sub(r"<[^>]*>", " ", text)
    upstream = ""
    while not isinstance(value, str):
        if isinstance(value, list) and value:
            value = cast("list[object]", value)[0]
            continue
        fields = _fields(cast("object", value))
        # OpenRouter's own message only says that the provider behind it failed.
        upstream = f": {raw}" if isinstance(raw := _fields(fields.get("metadata")).get("raw"), str) else upstream
        value = next((fields[name] for name in ("error", "message", "detail", "msg") if fields.get(name)), text)
    return value + upstream


def _fields(value: object) -> dict[str, object]:
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}


def _one_line(endpoint: Endpoint, text: str) -> str:
    if endpoint.key:
        text = text.replace(endpoint.key, "***")
    printable = "".join(character if character.isprintable() else " " for character in text[: 4 * _LONGEST])
    line = " ".join(printable.split())
    return line if len(line) <= _LONGEST else line[:_LONGEST] + "…"


def _is_html(text: str) -> bool:
    return text.lstrip("\ufeff \t\r\n").startswith("<")


def _retry_after(headers: Mapping[str, str], text: str) -> float | None:
    """Seconds to wait: the header's number or date (RFC 9110 §10.2.3), or Google's RetryInfo in the body."""
    value = headers.get("retry-after", "").strip()
    if re.fullmatch(r"\d+(\.\d+)?", value):
        return float(value)
    if value:
        from datetime import UTC, datetime
        from email.utils import parsedate_to_datetime

        try:
            moment = parsedate_to_datetime(value)
        except ValueError:
            return None
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return max(0.0, (moment - datetime.now(UTC)).total_seconds())
    delay = _RETRY_DELAY.search(text)
    return float(delay[1]) if delay else None
