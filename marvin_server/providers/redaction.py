"""Takes what is secret out of an exchange before it is written down."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, cast
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

MASK = "***"
_SHORTEST = 6
_SECRET_HEADER = re.compile(r"auth|cookie|key|token|secret|credential|password|signature", re.IGNORECASE)
_SECRET_PARAMETER = re.compile(r"auth|code|key|token|secret|credential|password|^sig", re.IGNORECASE)


class Redaction:
    """Removes ``secrets`` wherever they stand, as they are or within a JSON string.

    Those of fewer than 6 characters, such as the ``none`` that some servers want as their key, are no secrets.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        forms = {
            form
            for secret in secrets
            if len(secret) >= _SHORTEST
            for form in (secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1])
        }
        longest_first = sorted(forms, key=len, reverse=True)
        self._pattern = "|".join(re.escape(form) for form in longest_first) or r"(?!)"

    def text(self, text: str) -> str:
        return re.sub(self._pattern, MASK, text)

    def value(self, value: object) -> Any:
        """A parsed JSON value without secrets in its strings."""
        match value:
            case str():
                return self.text(value)
            case list():
                return [self.value(item) for item in cast("list[object]", value)]
            case dict():
                items = cast("dict[str, object]", value).items()
                return {self.text(name): self.value(item) for name, item in items}
            case other:
                return other

    def chunks(self, chunks: Iterable[bytes]) -> list[bytes]:
        """The pieces of a body, each as long as it was: a secret may lie in two of them."""
        pieces = list(chunks)
        whole = re.sub(self._pattern.encode(), lambda found: b"*" * len(found[0]), b"".join(pieces))
        clean: list[bytes] = []
        for piece in pieces:
            clean.append(whole[: len(piece)])
            whole = whole[len(piece) :]
        return clean

    def headers(self, headers: Mapping[str, str]) -> dict[str, str]:
        """The headers but those whose names tell of a secret."""
        return {name: self.text(value) for name, value in headers.items() if not _SECRET_HEADER.search(name)}

    def url(self, url: str) -> str:
        """An address without a user's name and password, and without the values of parameters that look like keys."""
        parts = urlsplit(url)
        query = parts.query
        if query:
            pairs = parse_qsl(query, keep_blank_values=True)
            clean = [(name, MASK if _SECRET_PARAMETER.search(name) else value) for name, value in pairs]
            query = urlencode(clean, safe="*", quote_via=quote)
        return self.text(parts._replace(netloc=parts.netloc.rpartition("@")[2], query=query).geturl())
