"""Publishes to topics of an ntfy server, and reads them (https://docs.ntfy.sh/publish/, https://docs.ntfy.sh/subscribe/api/)."""

import asyncio
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    import httpx

_SECONDS = 5.0
_MOST = 50


class Published(Struct, frozen=True):
    """A message on a topic; ``text`` is its title, where it has one, and what it says."""

    id: str
    text: str


async def publish(server: str, topic: str, title: str, text: str) -> str | None:
    """Publish within 5 s; what went wrong as one line, or None."""
    import httpx

    try:
        async with asyncio.timeout(_SECONDS), httpx.AsyncClient() as client:
            url, headers = f"{server}/{topic}", {"Title": title}
            answer = await client.post(url, content=text.encode("utf-8", "replace"), headers=headers)
    except TimeoutError:
        return f"no answer within {_SECONDS:g} s"
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        return f"{type(error).__name__}: {error}"
    return None if answer.is_success else f"HTTP {answer.status_code}"


async def poll(server: str, since: Mapping[str, str | None]) -> dict[str, list[Published]]:
    """The messages on each topic after the one with the id that it is mapped to, 50 at most; where there is none, those
    of the last 12 hours. A topic that cannot be read has none."""
    import httpx

    # A thread, since the client's TLS context takes tens of milliseconds.
    async with await asyncio.to_thread(httpx.AsyncClient) as client:
        found = await asyncio.gather(*(_poll(client, server, *each) for each in since.items()))
    return dict(zip(since, found, strict=True))


async def _poll(client: "httpx.AsyncClient", server: str, topic: str, after: str | None) -> list[Published]:
    import httpx

    try:
        answer = await client.get(f"{server}/{topic}/json", params={"poll": "1", "since": after or "12h"})
        answer.raise_for_status()
        messages = [json.loads(line) for line in answer.text.splitlines() if line]
        return [
            Published(str(each["id"]), ": ".join(str(each[name]) for name in ("title", "message") if each.get(name)))
            for each in messages
            if each["event"] == "message"
        ][-_MOST:]
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, TypeError, KeyError):
        return []
