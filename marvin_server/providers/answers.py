"""Reads what a vendor answers to a request, whichever wire API it speaks: a stream, one JSON object, or no answer."""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing
from types import MappingProxyType
from typing import Any, Protocol, cast
from urllib.parse import urlsplit

from marvin_server.errors import BadRequest, Interrupted
from marvin_server.messages import Message
from marvin_server.providers import failures, wire_json
from marvin_server.providers.base import StreamEvent
from marvin_server.providers.failures import Endpoint
from marvin_server.providers.sse import DONE, LIMIT, EventStream, ServerEvent
from marvin_server.providers.transport import Response

HEADERS: Mapping[str, str] = MappingProxyType({"accept": "text/event-stream", "content-type": "application/json"})
_ERROR_BYTES = 64_000


class Reply(Protocol):
    """An answer that is put together from the objects that a vendor sends.

    ``whole`` says that the vendor has told why the answer ended, ``ended`` that no more of it will come.
    """

    whole: bool
    ended: bool

    def read(self, chunk: dict[str, Any]) -> Sequence[StreamEvent]:
        """Take one object of a stream, or the only one of an answer that is not streamed; what is new in it."""
        ...

    def end(self) -> Sequence[StreamEvent]:
        """The last events, ``MessageFinished`` among them."""
        ...


def address(url: str, path: str) -> str:
    """Where to post to: ``url`` with ``path`` at its end; a query, as some gateways want it, stays."""
    parts = urlsplit(url)
    base = parts.path.rstrip("/")
    return parts._replace(path=base if base.endswith(path) else base + path).geturl()


def taken_ids(history: Sequence[Message]) -> frozenset[str]:
    """The ids of all tool calls so far."""
    return frozenset(call.id for message in history for call in message.tool_calls)


async def stream(
    posted: AbstractAsyncContextManager[Response],
    endpoint: Endpoint,
    reply: Reply,
    *,
    field: str,
    glance: Callable[[str], Sequence[StreamEvent] | None] = lambda _: None,
) -> AsyncGenerator[StreamEvent]:
    """The events of the answer to a request that ``posted`` sends, as ``Provider.stream`` yields them.

    ``field`` names what every answer has that comes as one JSON object. ``glance`` may read the data of an event that
    is simple enough; those for which it gives None go to ``reply``.
    """
    async with posted as response:
        if response.status != 200:
            start = await response.read_start(_ERROR_BYTES)
            raise failures.refused(endpoint, response.status, response.headers, start)
        async with aclosing(_events(response, endpoint, field)) as batches:
            async for events in batches:
                for event in events:
                    if event.data == DONE:
                        reply.whole = reply.ended = True
                    else:
                        seen = glance(event.data) if event.event == "message" else None
                        for new in reply.read(_object(event, endpoint)) if seen is None else seen:
                            yield new
                    if reply.ended:
                        break
                if reply.ended:
                    break
        if not reply.whole:
            raise Interrupted(f"{endpoint.title} ({endpoint.host}) ended its answer before it was whole")
        for new in reply.end():
            yield new


async def _events(response: Response, endpoint: Endpoint, field: str) -> AsyncGenerator[list[ServerEvent]]:
    """The events of an answer, batch by batch as they arrive. A plain JSON body is one event, and the end."""
    start = b""
    while not start.strip() and (chunk := await response.read()):
        start += chunk
    match start.lstrip()[:1]:
        case b"{" | b"[":
            text = (await _whole(response, start)).decode("utf-8", "replace")
            if f'"{field}"' not in text and '"error"' not in text:
                raise failures.not_an_answer(endpoint, response.status, response.headers, text)
            yield [ServerEvent("message", text), ServerEvent("message", DONE)]
            return
        case b"<":
            raise failures.not_an_answer(endpoint, response.status, response.headers, start.decode("utf-8", "replace"))
        case _:
            chunk = start
    events = EventStream()
    while chunk:
        yield events.feed(chunk)
        chunk = await response.read()
    yield events.close()


async def _whole(response: Response, start: bytes) -> bytes:
    chunks, size = [start], len(start)
    while chunk := await response.read():
        chunks.append(chunk)
        size += len(chunk)
        if size > LIMIT:
            raise BadRequest(f"the answer is larger than {LIMIT // 1_000_000} MB")
    return b"".join(chunks)


def _object(event: ServerEvent, endpoint: Endpoint) -> dict[str, Any]:
    """The object that an event carries; empty for one that says nothing. Raises the error that it may report."""
    try:
        value = wire_json.load(event.data)
    except ValueError:
        if event.event == "error":
            raise failures.reported(endpoint, event.data) from None
        says_nothing = not event.data.strip() or (event.event != "message" and event.data.lstrip()[0] not in "{[")
        if says_nothing:
            return {}
        raise failures.garbled(endpoint, event.data) from None
    first = next(iter(cast("list[object]", value)), None) if isinstance(value, list) else value
    chunk = wire_json.fields(first)
    error: object = chunk.get("error") or wire_json.fields(chunk.get("response")).get("error")
    if error or "error" in (event.event, chunk.get("object"), chunk.get("type")):
        raise failures.reported(endpoint, error or first)
    return chunk
