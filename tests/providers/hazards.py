"""Every hazard of a network and a model, met by every wire API; ``python -m tests.providers.hazards`` writes the page.

``test_hazards.py`` runs the same table, so that each row of docs/providers.md is what the tests prove.
"""

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import json as msgspec_json

from marvin_server import paths
from marvin_server.errors import ProviderError
from marvin_server.events import MessageDelta, MessageFinished
from marvin_server.messages import Message, Text, Thinking, ToolResult, Usage, user_message
from marvin_server.providers import vendors
from marvin_server.providers.base import ModelRequest, Provider
from marvin_server.providers.vendor_files import WIRE_APIS, Vendor
from marvin_server.settings import Settings
from marvin_server.tools.base import ToolOutput
from marvin_server.tools.registry import Registry
from tests.patience import SECONDS
from tests.providers import wire_apis
from tests.providers.wire_apis import ASK
from tests.servers import anthropic_wire, ollama_wire, openai_wire
from tests.servers.model_server import ModelServer
from tests.servers.reply import CALL, GREETING, THOUGHTFUL, Call, Delivery, Reply, Said, Scenario
from tests.servers.scenarios import calls, redirect

PAGE = Path(__file__).parents[2] / "docs" / "providers.md"
BEGIN = "<!-- hazards: written by `python -m tests.providers.hazards` -->\n"
END = "<!-- end of hazards -->\n"
AS_EXPECTED = "✓"

OVERFLOWS: Mapping[str, str] = {
    "openai_chat": json.dumps(openai_wire.OVERFLOW),
    "openai_responses": json.dumps(openai_wire.OVERFLOW),
    "anthropic": json.dumps(anthropic_wire.OVERFLOW),
    "ollama": ollama_wire.OVERFLOW,
}
_REFUSALS: Mapping[int, str] = {
    401: "Auth",
    403: "Auth",
    404: "BadRequest",
    408: "TimedOut",
    409: "BadRequest",
    413: "ContextOverflow",
    429: "RateLimited",
    **dict.fromkeys((500, 502, 503, 529), "Overloaded"),
}


@dataclass(frozen=True, slots=True)
class Hazard:
    """``meet`` lets a wire API, given by its name, meet the hazard and says in words what happened.

    ``known`` holds what a wire API is known to do instead of what is expected.
    """

    name: str
    expected: str
    meet: Callable[[str], Awaitable[str]]
    known: Mapping[str, str] = field(default_factory=dict[str, str], hash=False)

    def outcome(self, wire: str) -> str:
        """What happens with this wire API, good or bad."""
        return self.known.get(wire, self.expected)


@dataclass(slots=True)
class _Heard:
    """What came of one request: the text of its deltas, and its message or its error."""

    text: str = ""
    message: Message | None = None
    error: ProviderError | None = None

    @property
    def kind(self) -> str:
        """The error's name; for the whole greeting ``answers``, for any other message what it is made of."""
        if self.error:
            return type(self.error).__name__
        assert self.message
        is_greeting = self.message.parts == (Text(GREETING.text),) and self.text == GREETING.text
        return "answers" if is_greeting and self.message.finish == "stop" else f"answers {self.message.parts}"

    def kept(self, sent: Sequence[bytes]) -> str:
        """Whether all the text was heard that is in the events that were sent."""
        texts = (part for part in GREETING.parts if isinstance(part, str))
        text = "".join(part for part in texts if part.encode() in b"".join(sent))
        return f"{self.kind}, text kept" if self.text == text else f"{self.kind}, {self.text!r} of {text!r} kept"


@asynccontextmanager
async def _connected(wire: str, url: str, *, stall_timeout: float = SECONDS) -> AsyncGenerator[Provider]:
    settings = Settings(paths.find({"MARVIN_HOME": "/nowhere"}), {"ACME_KEY": "sk-secret"}, stall_timeout=stall_timeout)
    vendor = Vendor("acme", Path("acme.json"), wire, url, key_variable="ACME_KEY", default_model=openai_wire.MODEL)
    provider = vendors.create(vendor, settings)
    try:
        yield provider
    finally:
        await provider.aclose()


async def _listen(provider: Provider, request: ModelRequest = ASK, *, begun: asyncio.Event | None = None) -> _Heard:
    heard = _Heard()
    try:
        async for event in provider.stream(request):
            if isinstance(event, MessageDelta):
                heard.text += event.text
                if begun:
                    begun.set()
            elif isinstance(event, MessageFinished):
                heard.message = event.message
    except ProviderError as error:
        heard.error = error
    return heard


async def _hear(wire: str, scenario: Scenario | str, *, stall_timeout: float = SECONDS) -> _Heard:
    async with (
        ModelServer(scenario) as server,
        _connected(wire, server.url, stall_timeout=stall_timeout) as provider,
    ):
        return await _listen(provider)


def _beginning(wire: str) -> tuple[bytes, ...]:
    """The greeting's events up to the first that holds text."""
    events = wire_apis.WIRE_APIS[wire].events()
    return events[: 1 + next(number for number, event in enumerate(events) if b"Hello" in event)]


def _error_event(wire: str) -> bytes:
    body = wire_apis.WIRE_APIS[wire].format.error(500)
    return body + b"\n" if wire == "ollama" else b"event: error\ndata: " + body + b"\n\n"


async def _played(scenario: str, wire: str) -> str:
    return (await _hear(wire, scenario)).kind


async def _empty(wire: str) -> str:
    message = (await _hear(wire, "empty-reply")).message
    return "an empty answer" if message and not message.parts else "something else"


async def _nobody_there(wire: str) -> str:
    async with ModelServer() as server:
        url = server.url
    async with _connected(wire, url) as provider:
        return (await _listen(provider)).kind


async def _connected_ahead(wire: str) -> str:
    async with ModelServer() as server, _connected(wire, server.url) as provider:
        await provider.connect()
        await server.wait_for_connection()
        asked = len(server.requests)
        kinds = {(await _listen(provider)).kind for _ in range(3)}
        return f"{' and '.join(kinds)}; {asked} requests ahead, {server.connections} connection in all"


async def _error_at_once(wire: str) -> str:
    return (await _hear(wire, [Reply((_error_event(wire),))])).kind


async def _error_mid_stream(wire: str) -> str:
    sent = (*_beginning(wire), _error_event(wire))
    return (await _hear(wire, [Reply(sent)])).kept(sent)


async def _cut(wire: str) -> str:
    events = wire_apis.WIRE_APIS[wire].events()
    heard = [
        (await _hear(wire, [Reply(events, delivery=Delivery(cut_after=count))])).kept(events[:count])
        for count in range(len(events))
    ]
    return " or ".join(sorted(set(heard)))


async def _stall(wire: str) -> str:
    sent = _beginning(wire)
    stalled = [Reply(wire_apis.WIRE_APIS[wire].events(), delivery=Delivery(stall_after=len(sent)))]
    return (await _hear(wire, stalled, stall_timeout=0.3)).kept(sent)


async def _redirect(wire: str) -> str:
    async with ModelServer() as other:
        heard = await _hear(wire, [redirect(other.url + wire_apis.WIRE_APIS[wire].format.path)])
        return f"{heard.kind}, the other host gets {'something' if other.requests else 'nothing'}"


async def _overflow(wire: str) -> str:
    return (await _hear(wire, [Reply(OVERFLOWS[wire].encode(), status=400)])).kind


async def _cancel_silent(wire: str) -> str:
    return await _cancel(wire, Delivery(head=False, stall_after=0))


async def _cancel_mid_stream(wire: str) -> str:
    return await _cancel(wire, Delivery(stall_after=len(_beginning(wire))))


async def _cancel(wire: str, delivery: Delivery) -> str:
    # The best of some, since what else the machine does is no concern of the provider.
    for _ in range(20):
        if await _seconds_to_close(wire, delivery) <= 0.25:
            return "closed within 250 ms"
    return "closed after more than 250 ms"


async def _seconds_to_close(wire: str, delivery: Delivery) -> float:
    """Cancel a stalled request once the server has it, and once the first text is heard if any is sent; how long the
    client takes to close the connection."""
    number = wire_apis.WIRE_APIS[wire].first
    begun = asyncio.Event()
    async with (
        ModelServer([Reply(wire_apis.WIRE_APIS[wire].events(), delivery=delivery)]) as server,
        _connected(wire, server.url) as provider,
        asyncio.timeout(SECONDS),
    ):
        task = asyncio.create_task(_listen(provider, begun=begun))
        await server.wait_for_request(number)
        if delivery.head:
            await begun.wait()
        task.cancel()
        cancelled_ns = time.time_ns()
        with suppress(asyncio.CancelledError):
            await task
        request = await server.wait_for_disconnect(number)
    assert request.closed_ns
    assert request.closed_by == "client"
    return (request.closed_ns - cancelled_ns) / 1e9


async def _usage(wire: str) -> str:
    used = Usage()
    async with ModelServer("tool-call") as server, _connected(wire, server.url) as provider:
        for _ in range(2):
            message = (await _listen(provider)).message
            assert message
            used += message.usage or Usage()
    return f"{used.input} tokens in, {used.output} out"


async def _surrogate(wire: str) -> str:
    request = ModelRequest("Be brief.", [user_message("half \ud83d")], [])
    async with ModelServer() as server, _connected(wire, server.url) as provider:
        heard = await _listen(provider, request)
        sent = json.dumps(server.requests[-1].json, ensure_ascii=False)
    is_mended = "half \N{REPLACEMENT CHARACTER}" in sent
    return f"{heard.kind}; {'U+FFFD' if is_mended else 'something else'} is sent"


async def _replay(wire: str) -> str:
    """Replays, after a round trip through the store's format, what each of the other wire APIs has said."""
    told: set[str] = set()
    for origin in WIRE_APIS:
        if origin == wire:
            continue
        fresh = (await _hear(origin, [Reply(Said((*THOUGHTFUL.parts, CALL)))])).message
        assert fresh
        reply = msgspec_json.decode(msgspec_json.encode(fresh), type=Message)
        result = Message("tool", (ToolResult(reply.tool_calls[0].id, "read_file", "# Marvin"),))
        broken_off = Message("assistant", (Thinking("So"), Text("It is ")), finish="interrupted", provider=origin)
        history = [user_message("hi"), reply, result, broken_off, user_message("go on")]
        async with ModelServer() as server, _connected(wire, server.url) as provider:
            heard = await _listen(provider, ModelRequest("Be brief.", history, ASK.tools))
            body = server.requests[-1].json
        wire_apis.WIRE_APIS[wire].check(body)
        text = json.dumps(body, ensure_ascii=False)
        counts = {text.count(words) for words in (GREETING.text, "# Marvin", "It is ", "go on")}
        told.add(f"{heard.kind}; {'all' if counts == {1} else 'not all'} is sent, once")
    return " or ".join(sorted(told))


async def _called(call: Call, wire: str) -> str:
    """What becomes of a tool call: it is made ready for its tool, or answered with an error that the model reads."""
    message = (await _hear(wire, [calls(call)])).message
    assert message
    with TemporaryDirectory() as folder:
        prepared = Registry.load(Path(folder, "cache"), Path(folder, "tools")).prepare(message.tool_calls[0])
    if not isinstance(prepared, ToolOutput):
        return f"the tool gets {prepared.params.model_dump_json(exclude_unset=True)}"
    is_named = "Did you mean read_file" in prepared.text
    is_shown = 'A correct call: read_file({"path": ' in prepared.text
    return f"the model reads {'the nearest name' if is_named else 'a correct call' if is_shown else prepared.text}"


def _hazards() -> Iterator[Hazard]:
    yield Hazard("empty reply", "an empty answer", _empty)
    yield Hazard("nobody at the address", "Unreachable", _nobody_there)
    yield Hazard("closed before the first byte", "Interrupted", partial(_played, "closed-before-head"))
    yield Hazard("error in place of the answer", "Overloaded", _error_at_once)
    yield Hazard("error mid-stream", "Overloaded, text kept", _error_mid_stream)
    yield Hazard("cut at every event", "Interrupted, text kept", _cut)
    yield Hazard("one byte at a time", "answers", partial(_played, "byte-by-byte"))
    yield Hazard("stall", "TimedOut, text kept", _stall)
    ahead = "answers; 0 requests ahead, 1 connection in all"
    yield Hazard("connected ahead, then three rounds", ahead, _connected_ahead)
    for status, kind in _REFUSALS.items():
        yield Hazard(f"status {status}", kind, partial(_played, f"status-{status}"))
    yield Hazard("HTML with status 200", "BadRequest", partial(_played, "html-200"))
    yield Hazard("broken gzip", "Interrupted", partial(_played, "broken-gzip"))
    yield Hazard("redirect to another host", "BadRequest, the other host gets nothing", _redirect)
    yield Hazard("unknown stop reason", "answers", partial(_played, "unknown-finish"))
    yield Hazard("context overflow", "ContextOverflow", _overflow)
    closed = "closed within 250 ms"
    yield Hazard("cancelled before the first byte", closed, _cancel_silent)
    yield Hazard("cancelled mid-stream", closed, _cancel_mid_stream)
    yield Hazard("usage of two rounds", "24 tokens in, 10 out", _usage)
    yield Hazard("unpaired surrogate in the prompt", "answers; U+FFFD is sent", _surrogate)
    yield Hazard("conversation begun with another vendor", "answers; all is sent, once", _replay)
    whole = 'the tool gets {"path":"README.md"}'
    in_fragments, twice = Call(CALL.name, CALL.arguments, fragments=20), Call(CALL.name, json.dumps(CALL.arguments))
    yield Hazard("arguments in 20 fragments", whole, partial(_called, in_fragments))
    yield Hazard("arguments encoded twice", whole, partial(_called, twice))
    not_json = Call(CALL.name, "path=README.md")
    yield Hazard("arguments that are not JSON", "the model reads a correct call", partial(_called, not_json))
    unknown = Call("read_fil", CALL.arguments)
    yield Hazard("unknown tool", "the model reads the nearest name", partial(_called, unknown))


HAZARDS = tuple(_hazards())


def table(outcomes: Mapping[tuple[Hazard, str], str]) -> str:
    """The page's table of what happened to each hazard with each wire API."""
    rows = [("hazard", "what shall happen", *(f"`{wire}`" for wire in WIRE_APIS)), ("---",) * (2 + len(WIRE_APIS))]
    for hazard in HAZARDS:
        happened = (outcomes[hazard, wire] for wire in WIRE_APIS)
        cells = (AS_EXPECTED if outcome == hazard.expected else outcome for outcome in happened)
        rows.append((hazard.name, hazard.expected, *cells))
    return "".join(f"| {' | '.join(row)} |\n" for row in rows).replace("| --- ", "|---").replace("--- |", "---|")


async def meet_all() -> Mapping[tuple[Hazard, str], str]:
    """What happens to every hazard with every wire API."""
    return {(hazard, wire): await hazard.meet(wire) for hazard in HAZARDS for wire in WIRE_APIS}


def main() -> None:
    """Meet every hazard with every wire API, and write what happened into docs/providers.md."""
    before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    PAGE.write_text(before + BEGIN + table(asyncio.run(meet_all())) + END + after, "utf-8")


if __name__ == "__main__":
    main()
