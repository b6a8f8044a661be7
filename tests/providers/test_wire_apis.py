"""What all wire APIs have in common: the contract, whatever the server does."""

import asyncio
import json
from contextlib import aclosing
from typing import Any

import pytest
from msgspec import json as msgspec_json
from msgspec.structs import replace

from marvin_server.errors import (
    Auth,
    BadRequest,
    ContextOverflow,
    Interrupted,
    Overloaded,
    ProviderError,
    RateLimited,
    TimedOut,
    Unreachable,
)
from marvin_server.events import MessageDelta, MessageFinished, ThoughtDelta, ThoughtFinished
from marvin_server.messages import Image, Message, Part, Text, Thinking, ToolCall, ToolResult, Usage, user_message
from marvin_server.providers.base import ModelRequest
from tests.providers.wire_apis import (
    ASK,
    FOUND,
    GREP,
    HELLO,
    OLLAMA,
    OPENAI_RESPONSES,
    READ,
    TOOLS,
    WIRE_APIS,
    WireApi,
    ask,
    message_of,
)
from tests.servers.model_server import ModelServer
from tests.servers.reply import CALL, GREETING, THOUGHTFUL, Delivery, Reply, Said, Tokens
from tests.servers.scenarios import STATUSES

every_wire = pytest.mark.parametrize("wire", WIRE_APIS.values(), ids=WIRE_APIS)
# Ollama streams lines, and sends calls whole and without ids; test_ollama.py has what differs.
every_event_stream = pytest.mark.parametrize(
    "wire", [wire for wire in WIRE_APIS.values() if wire is not OLLAMA], ids=lambda wire: wire.name
)


@every_event_stream
@pytest.mark.parametrize(
    ("scenario", "parts"),
    [
        *((name, (HELLO,)) for name in (
            *("text", "byte-by-byte", "split-utf8", "crlf", "crlf-byte-by-byte", "cr", "bom", "bom-byte-by-byte"),
            *("content-length", "close-delimited", "gzip", "slow-head", "plain-json", "unknown-finish"),
        )),
        ("thoughts", (Thinking("Let me think."), HELLO)),
        *((name, (READ,)) for name in ("tool-call", "plain-json-tool-call")),
        ("two-tool-calls", (READ, GREP)),
        ("text-and-tool-call", (HELLO, READ)),
        ("unknown-tool", (replace(READ, name="read_fil"),)),
        ("arguments-cut", (replace(READ, arguments='{"path": "READ'),)),
        ("arguments-not-json", (replace(READ, arguments="path=README.md"),)),
        ("arguments-double-encoded", (replace(READ, arguments=json.dumps('{"path": "README.md"}')),)),
        ("no-arguments", (ToolCall("call_1", "git_status", "{}"),)),
        ("10-megabytes-in-one-line", (Text("x" * 10_000_000),)),
        ("empty-reply", ()),
    ],
)  # fmt: skip
async def test_every_way_to_say_it_gives_the_same_message(
    wire: WireApi, scenario: str, parts: tuple[Part, ...]
) -> None:
    message = await wire.message(scenario)
    assert message.parts == parts
    assert message.finish == ("tool_calls" if message.tool_calls else "stop")


@every_event_stream
async def test_a_reply_tells_its_model_its_usage_and_its_events_in_order(wire: WireApi) -> None:
    events = await wire.heard([Reply(Said(THOUGHTFUL.parts, Tokens(9, 2, cached=4)))])
    message = message_of(events)
    assert events[:-1] == [
        ThoughtDelta(message.id, "Let me "),
        ThoughtDelta(message.id, "think."),
        ThoughtFinished(message.id, "Let me think."),
        *(MessageDelta(message.id, text) for text in ("Hello", ", wörld", "! 🌍")),
    ]
    assert replace(message, vendor=None) == Message(
        "assistant",
        (Thinking("Let me think."), HELLO),
        id=message.id,
        finish="stop",
        provider="acme",
        model="test-model",
        usage=Usage(input=9, output=2, cache_read=4),
    )


@every_wire
async def test_usage_that_is_not_told_is_none(wire: WireApi) -> None:
    assert (await wire.message([Reply(Said(GREETING.parts, None))])).usage is None


@every_wire
@pytest.mark.parametrize("status", STATUSES)
async def test_every_refusal_is_an_error_of_its_kind(wire: WireApi, status: int) -> None:
    with pytest.raises(ProviderError) as caught:
        await wire.heard(f"status-{status}")
    kinds = {401: Auth, 403: Auth, 408: TimedOut, 413: ContextOverflow, 429: RateLimited}
    assert type(caught.value) is kinds.get(status, Overloaded if status >= 500 else BadRequest)
    assert caught.value.status == status


@every_event_stream
@pytest.mark.parametrize(
    ("scenario", "kind", "words"),
    [
        ("html-200", BadRequest, "text/html; charset=utf-8 instead of a model's answer ('Sign in Sign in'); the URL"),
        ("redirect", BadRequest, "redirects to marvin.invalid"),
        ("cut", Interrupted, "broke during the answer"),
        ("cut-content-length", Interrupted, "broke during the answer"),
        ("cut-tool-call", Interrupted, "broke during the answer"),
        ("closed-before-head", Interrupted, "closed the connection without an answer"),
        ("closed-after-head", Interrupted, "broke during the answer"),
        ("broken-gzip", Interrupted, "broke during the answer"),
        ("empty-body", Interrupted, "ended its answer before it was whole"),
        ("10-megabytes-of-nothing", Interrupted, "ended its answer before it was whole"),
    ],
)
async def test_every_fault_is_an_error_of_its_kind_in_one_line(
    wire: WireApi, scenario: str, kind: type[ProviderError], words: str
) -> None:
    with pytest.raises(ProviderError) as caught:
        await wire.heard(scenario)
    assert type(caught.value) is kind
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@every_event_stream
@pytest.mark.parametrize("body", [b'{"status": "ok"}', b'{"output', b"[" * 100_000 + b'"error"', b"data: {oops\n\n"])
async def test_what_is_no_answer_is_a_bad_request(wire: WireApi, body: bytes) -> None:
    with pytest.raises(BadRequest):
        await wire.heard([Reply(body)])


@every_event_stream
async def test_a_stream_that_ends_early_is_interrupted_wherever_it_ends(wire: WireApi) -> None:
    events = wire.events(Said((*GREETING.parts, CALL)))
    outcomes: list[str] = []
    for count in range(1, len(events)):
        try:
            outcomes.append((await wire.message([Reply(events[:count])])).finish or "")
        except Interrupted:
            outcomes.append("interrupted")
    # A vendor that has said why it ended has ended, with or without the last event.
    last = 0 if wire is OPENAI_RESPONSES else 1
    assert outcomes == ["interrupted"] * (len(outcomes) - last) + ["tool_calls"] * last


@every_wire
async def test_a_call_id_that_the_conversation_has_already_seen_is_replaced(wire: WireApi) -> None:
    history = [user_message("hi"), Message("assistant", (READ,)), Message("tool", (ToolResult("call_1", "a", "b"),))]
    (call,) = (await wire.message("tool-call", replace(ASK, history=history))).tool_calls
    assert (call.name, call.arguments) == (READ.name, READ.arguments)
    assert call.id.startswith("call_0")


@every_wire
async def test_a_delta_is_yielded_before_the_next_one_is_sent(wire: WireApi) -> None:
    events = wire.events()
    before = next(number for number, event in enumerate(events) if b"Hello" in event)
    async with ModelServer("gated") as server, wire.connected(server.url) as provider:
        texts: list[str] = []
        async with aclosing(provider.stream(ASK)) as stream:
            server.release(before + 1)
            async for event in stream:
                if isinstance(event, MessageDelta):
                    texts.append(event.text)
                    assert len(server.requests[wire.first - 1].writes) == before + len(texts)
                    server.release(1 if len(texts) < 3 else 10)
        assert texts == ["Hello", ", wörld", "! 🌍"]


@every_wire
@pytest.mark.parametrize("stalls", [True, False])
async def test_closing_the_stream_closes_the_connection(wire: WireApi, *, stalls: bool) -> None:
    events = wire.events() if stalls else wire.events(Said(("word ",) * 20_000))
    reply = Reply(events, delivery=Delivery(stall_after=len(events) - 1 if stalls else None))
    async with ModelServer([reply]) as server, wire.connected(server.url) as provider:
        async with aclosing(provider.stream(ASK)) as stream:
            assert isinstance(await anext(stream), MessageDelta)
        assert (await server.wait_for_disconnect(wire.first)).closed_by == "client"


@every_wire
async def test_cancelling_a_silent_stream_closes_the_connection(wire: WireApi) -> None:
    async with ModelServer("silent-before-head") as server, wire.connected(server.url) as provider:
        task = asyncio.create_task(ask(provider))
        await server.wait_for_request(wire.first)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await server.wait_for_disconnect(wire.first)).closed_by == "client"


@every_wire
async def test_rounds_share_one_connection(wire: WireApi) -> None:
    async with ModelServer("tool-call") as server, wire.connected(server.url) as provider:
        for _ in range(4):
            await ask(provider)
        assert server.connections == 1


@every_wire
async def test_a_server_that_leaves_the_connection_open_after_the_end_is_not_waited_for(wire: WireApi) -> None:
    events = wire.events(Said(("x",), None))
    reply = Reply(events, delivery=Delivery(stall_after=len(events)))
    async with (
        ModelServer([reply]) as server,
        wire.connected(server.url, request_timeout=60, stall_timeout=60) as provider,
        asyncio.timeout(5),
    ):
        assert [type(event) for event in await ask(provider)] == [MessageDelta, MessageFinished]


@every_event_stream
async def test_a_stall_and_an_unreachable_host_are_told_apart(wire: WireApi) -> None:
    async with ModelServer("stall") as server:
        async with wire.connected(server.url, stall_timeout=0.05) as provider:
            with pytest.raises(TimedOut, match="stall_timeout"):
                await ask(provider)
        url = server.url
    async with wire.connected(url) as provider:
        with pytest.raises(Unreachable, match="Connection refused"):
            await ask(provider)


@every_wire
async def test_the_key_is_never_in_an_error(wire: WireApi) -> None:
    body = json.dumps({"error": {"message": "bad key sk-secret"}}).encode()
    with pytest.raises(Auth) as caught:
        await wire.heard([Reply(body, status=401)])
    assert "sk-secret" not in str(caught.value)


@every_wire
async def test_a_request_with_everything_is_what_the_vendor_publishes(wire: WireApi) -> None:
    picture = Image("image/png", "iVBORw0=")
    history = [
        Message("user", (Text("What is this? \ud83d"), picture)),
        Message("assistant", (Thinking("Hm"), Text("I look."), READ, replace(GREP, name="a.b", arguments="{"))),
        Message("tool", (ToolResult("call_1", "read_file", "", images=(picture,)), ToolResult("call_2", "a.b", "no"))),
        Message("assistant", (Thinking("nothing else"),)),
        user_message("and now?"),
    ]
    schema: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}
    body = await wire.body(ModelRequest("Be brief.", history, TOOLS, schema, "high"))
    assert "What is this? \ufffd" in json.dumps(body, ensure_ascii=False)


@every_wire
@pytest.mark.parametrize("origin", WIRE_APIS.values(), ids=WIRE_APIS)
@pytest.mark.parametrize("name", ["acme", "other"])
async def test_a_conversation_begun_elsewhere_and_stored_replays(wire: WireApi, origin: WireApi, name: str) -> None:
    fresh = await origin.message([Reply(Said((*THOUGHTFUL.parts, CALL)))])
    reply = msgspec_json.decode(msgspec_json.encode(fresh), type=Message)
    broken_off = Message("assistant", (Thinking("So"), Text("It is ")), finish="interrupted", provider=origin.name)
    history = [user_message("hi"), reply, FOUND, broken_off, user_message("go on")]
    body = await wire.body(ModelRequest("Be brief.", history, TOOLS), name=name)
    text = json.dumps(body, ensure_ascii=False)
    assert [text.count(word) for word in ("Hello, wörld", "# Marvin", "It is ", "go on")] == [1, 1, 1, 1]
