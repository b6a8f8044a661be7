"""The OpenAI chat-completions wire API, as OpenAI and the many vendors that follow it speak it."""

import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any, cast
from urllib.parse import urlsplit

import marvin_server
from marvin_server.errors import BadRequest, Interrupted
from marvin_server.events import MessageFinished
from marvin_server.providers import failures
from marvin_server.providers.base import ModelRequest, StreamEvent
from marvin_server.providers.failures import Endpoint
from marvin_server.providers.openai_body import encode, mend_surrogates
from marvin_server.providers.openai_reply import Reply
from marvin_server.providers.sse import DONE, LIMIT, EventStream, ServerEvent
from marvin_server.providers.transport import Response, Transport

_ERROR_BYTES = 64_000


class OpenAIChat:
    """A provider for one model of one vendor.

    ``endpoint.url`` is a base URL or the full address that ends in ``/chat/completions``; ``quirks`` are
    those of ``Vendor``.
    """

    def __init__(
        self,
        *,
        name: str,
        model: str,
        endpoint: Endpoint,
        transport: Transport,
        quirks: Sequence[str] = (),
    ) -> None:
        self.name = name
        self.model = model
        self._endpoint = endpoint
        self._url = _completions(endpoint.url)
        self._transport = transport
        self._quirks = quirks

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent]:
        """See ``Provider``."""
        headers = {
            "accept": "text/event-stream",
            "accept-encoding": "identity",
            "content-type": "application/json",
            "user-agent": f"marvin/{marvin_server.__version__}",
        }
        if self._endpoint.key:
            headers["authorization"] = f"Bearer {self._endpoint.key}"
        body = encode(request, provider=self.name, model=self.model, quirks=self._quirks)
        taken_ids = {call.id for message in request.history for call in message.tool_calls}
        reply = Reply(self._quirks)
        async with self._transport.post(self._url, headers, body) as response:
            if response.status != 200:
                start = await response.read_start(_ERROR_BYTES)
                raise failures.refused(self._endpoint, response.status, response.headers, start)
            async with aclosing(_events(response, self._endpoint)) as batches:
                async for events in batches:
                    for event in events:
                        if event.data == DONE:
                            reply.finished = True
                            break
                        for delta in reply.read(_chunk(event, self._endpoint)):
                            yield delta
            if not reply.finished:
                raise Interrupted(
                    f"{self._endpoint.title} ({self._endpoint.host}) ended its answer before it was whole"
                )
            for delta in reply.end():
                yield delta
            yield MessageFinished(reply.message(self.name, self.model, taken_ids))

    async def aclose(self) -> None:
        """Close what is kept open between requests."""
        await self._transport.aclose()


def _completions(url: str) -> str:
    """The address to post to; a query, as some gateways want it, stays."""
    parts = urlsplit(url)
    path = parts.path.rstrip("/")
    return parts._replace(path=path if path.endswith("/chat/completions") else f"{path}/chat/completions").geturl()


async def _events(response: Response, endpoint: Endpoint) -> AsyncGenerator[list[ServerEvent]]:
    """The events of an answer, batch by batch as they arrive, up to ``[DONE]``. A plain JSON body is one event."""
    stream, start = EventStream(), b""
    while not start.strip() and (chunk := await response.read()):
        start += chunk
    match start.lstrip()[:1]:
        case b"{" | b"[":
            text = (await _whole(response, start)).decode("utf-8", "replace")
            if '"choices"' not in text and '"error"' not in text:
                raise failures.not_an_answer(endpoint, response.status, response.headers, text)
            yield [ServerEvent("message", text), ServerEvent("message", DONE)]
            return
        case b"<":
            raise failures.not_an_answer(endpoint, response.status, response.headers, start.decode("utf-8", "replace"))
        case _:
            chunk = start
    while chunk:
        events = stream.feed(chunk)
        yield events
        if any(event.data == DONE for event in events):
            return
        chunk = await response.read()
    yield stream.close()


async def _whole(response: Response, start: bytes) -> bytes:
    chunks, size = [start], len(start)
    while chunk := await response.read():
        chunks.append(chunk)
        size += len(chunk)
        if size > LIMIT:
            raise BadRequest(f"the answer is larger than {LIMIT // 1_000_000} MB")
    return b"".join(chunks)


def _chunk(event: ServerEvent, endpoint: Endpoint) -> dict[str, Any]:
    """The object that an event carries; empty for one that says nothing. Raises the error that it may report."""
    try:
        value: object = json.loads(event.data)
    except (ValueError, RecursionError):
        if event.event == "error":
            raise failures.reported(endpoint, event.data) from None
        if event.event != "message" or not event.data.strip():
            return {}
        raise failures.garbled(endpoint, event.data) from None
    if "\\ud" in event.data or "\\uD" in event.data:
        value = json.loads(mend_surrogates(json.dumps(value, ensure_ascii=False)))
    items = cast("list[object]", value) if isinstance(value, list) else [value]
    first = next(iter(items), None)
    chunk = cast("dict[str, Any]", first) if isinstance(first, dict) else {}
    if event.event == "error" or chunk.get("error") or chunk.get("object") == "error":
        raise failures.reported(endpoint, cast("object", chunk.get("error") or first))
    return chunk
