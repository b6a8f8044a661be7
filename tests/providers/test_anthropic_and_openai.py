"""What the wire APIs of Anthropic and OpenAI have in common: the contract, whatever the server does."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
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
from marvin_server.messages import (
    Image,
    Message,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    ToolSpec,
    Usage,
    user_message,
)
from marvin_server.providers.anthropic import Anthropic
from marvin_server.providers.base import ModelRequest, Provider, StreamEvent
from marvin_server.providers.failures import Endpoint
from marvin_server.providers.openai_chat import OpenAIChat
from marvin_server.providers.openai_responses import OpenAIResponses
from marvin_server.providers.transport import Transport
from tests.providers.published_types import check_anthropic, check_openai_chat, check_openai_responses
from tests.servers import anthropic_wire, openai_wire, responses_wire
from tests.servers.model_server import ModelServer
from tests.servers.reply import CALL, GREETING, THOUGHTFUL, Delivery, Reply, Said, Scenario, Tokens
from tests.servers.scenarios import STATUSES

Create = Callable[..., Provider]

WIRES: Mapping[str, Create] = {
    "openai_chat": OpenAIChat,
    "openai_responses": OpenAIResponses,
    "anthropic": Anthropic,
}
CHECKS = {
    "openai_chat": check_openai_chat,
    "openai_responses": check_openai_responses,
    "anthropic": check_anthropic,
}
EVENTS = {
    "openai_chat": openai_wire.WIRE.events,
    "openai_responses": responses_wire.WIRE.events,
    "anthropic": anthropic_wire.WIRE.events,
}
HELLO = Text("Hello, wörld! 🌍")
READ = ToolCall("call_1", "read_file", '{"path": "README.md"}')
GREP = ToolCall("call_2", "code_grep", '{"pattern": "marvin"}')
ASK = ModelRequest("Be brief.\n\nToday.", [user_message("hi")], [])
TOOLS = [ToolSpec("read_file", "Read a file.", {"type": "object"})]

every_wire = pytest.mark.parametrize("wire", WIRES)


@asynccontextmanager
async def connected(
    wire: str, url: str, *, request_timeout: float = 30.0, stall_timeout: float = 5.0, name: str = "acme"
) -> AsyncGenerator[Provider]:
    provider = WIRES[wire](
        name=name,
        model="acme-1",
        endpoint=Endpoint("Acme", url, "sk-secret", check_key="ACME_KEY", check_url="ACME_URL"),
        transport=Transport(request_timeout=request_timeout, stall_timeout=stall_timeout),
    )
    try:
        yield provider
    finally:
        await provider.aclose()


async def events_of(wire: str, scenario: Scenario | str, request: ModelRequest = ASK) -> list[StreamEvent]:
    async with ModelServer(scenario) as server, connected(wire, server.url) as provider:
        return [event async for event in provider.stream(request)]


async def message_of(wire: str, scenario: Scenario | str, request: ModelRequest = ASK) -> Message:
    last = (await events_of(wire, scenario, request))[-1]
    assert isinstance(last, MessageFinished)
    return last.message


async def body_of(wire: str, request: ModelRequest, *, name: str = "acme") -> Any:
    async with ModelServer() as server, connected(wire, server.url, name=name) as provider:
        async for _ in provider.stream(request):
            pass
        return server.requests[0].json


@every_wire
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
async def test_every_way_to_say_it_gives_the_same_message(wire: str, scenario: str, parts: tuple[Part, ...]) -> None:
    events = await events_of(wire, scenario)
    last = events[-1]
    assert isinstance(last, MessageFinished)
    assert last.message.parts == parts
    assert last.message.finish == ("tool_calls" if last.message.tool_calls else "stop")
    assert [event for event in events if isinstance(event, MessageFinished)] == [last]
    assert "".join(event.text for event in events if isinstance(event, MessageDelta)) == last.message.text


@every_wire
async def test_a_reply_tells_its_model_its_usage_and_its_events_in_order(wire: str) -> None:
    events = await events_of(wire, [Reply(replace_tokens(THOUGHTFUL, Tokens(9, 2, cached=4)))])
    last = events[-1]
    assert isinstance(last, MessageFinished)
    message = last.message
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


def replace_tokens(said: Said, tokens: Tokens | None) -> Said:
    return Said(said.parts, tokens)


@every_wire
async def test_usage_that_is_not_told_is_none(wire: str) -> None:
    assert (await message_of(wire, [Reply(replace_tokens(GREETING, None))])).usage is None


@every_wire
@pytest.mark.parametrize("status", STATUSES)
async def test_every_refusal_is_an_error_of_its_kind(wire: str, status: int) -> None:
    with pytest.raises(ProviderError) as caught:
        await events_of(wire, f"status-{status}")
    kinds = {401: Auth, 403: Auth, 408: TimedOut, 413: ContextOverflow, 429: RateLimited}
    assert type(caught.value) is kinds.get(status, Overloaded if status >= 500 else BadRequest)
    assert caught.value.status == status


@every_wire
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
    wire: str, scenario: str, kind: type[ProviderError], words: str
) -> None:
    with pytest.raises(ProviderError) as caught:
        await events_of(wire, scenario)
    assert type(caught.value) is kind
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@every_wire
@pytest.mark.parametrize("body", [b'{"status": "ok"}', b'{"output', b"[" * 100_000 + b'"error"', b"data: {oops\n\n"])
async def test_what_is_no_answer_is_a_bad_request(wire: str, body: bytes) -> None:
    with pytest.raises(BadRequest):
        await events_of(wire, [Reply(body)])


@every_wire
async def test_a_stream_that_ends_early_is_interrupted_wherever_it_ends(wire: str) -> None:
    events = EVENTS[wire](Said((*GREETING.parts, CALL)), {"stream": True})
    outcomes: list[str] = []
    for count in range(1, len(events)):
        try:
            outcomes.append((await message_of(wire, [Reply(tuple(events[:count]))])).finish or "")
        except Interrupted:
            outcomes.append("interrupted")
    # A vendor that has said why it ended has ended, with or without the last event.
    last = 0 if wire == "openai_responses" else 1
    assert outcomes == ["interrupted"] * (len(outcomes) - last) + ["tool_calls"] * last


@every_wire
async def test_a_call_id_that_the_conversation_has_already_seen_is_replaced(wire: str) -> None:
    history = [user_message("hi"), Message("assistant", (READ,)), Message("tool", (ToolResult("call_1", "a", "b"),))]
    (call,) = (await message_of(wire, "tool-call", replace(ASK, history=history))).tool_calls
    assert (call.name, call.arguments) == (READ.name, READ.arguments)
    assert call.id.startswith("call_0")


@every_wire
async def test_a_delta_is_yielded_before_the_next_one_is_sent(wire: str) -> None:
    events = EVENTS[wire](GREETING, {"stream": True})
    before = next(number for number, event in enumerate(events) if b"Hello" in event)
    async with ModelServer("gated") as server, connected(wire, server.url) as provider:
        texts: list[str] = []
        async with aclosing(provider.stream(ASK)) as stream:
            server.release(before + 1)
            async for event in stream:
                if isinstance(event, MessageDelta):
                    texts.append(event.text)
                    assert len(server.requests[0].writes) == before + len(texts)
                    server.release(1 if len(texts) < 3 else 10)
        assert texts == ["Hello", ", wörld", "! 🌍"]


@every_wire
async def test_closing_the_stream_closes_the_connection(wire: str) -> None:
    events = tuple(EVENTS[wire](GREETING, {"stream": True}))
    stalled = [Reply(events, delivery=Delivery(stall_after=len(events) - 1))]
    async with ModelServer(stalled) as server, connected(wire, server.url) as provider:
        async with aclosing(provider.stream(ASK)) as stream:
            assert isinstance(await anext(stream), MessageDelta)
        assert (await server.wait_for_disconnect()).closed_by == "client"


@every_wire
async def test_cancelling_a_silent_stream_closes_the_connection(wire: str) -> None:
    async with ModelServer("silent-before-head") as server, connected(wire, server.url) as provider:

        async def ask() -> None:
            async for _ in provider.stream(ASK):
                pass

        task = asyncio.create_task(ask())
        await server.wait_for_request()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await server.wait_for_disconnect()).closed_by == "client"


@every_wire
async def test_rounds_share_one_connection(wire: str) -> None:
    async with ModelServer("tool-call") as server, connected(wire, server.url) as provider:
        for _ in range(4):
            async for _event in provider.stream(ASK):
                pass
        assert [request.closed_ns for request in server.requests] == [None] * 4


@every_wire
async def test_a_server_that_leaves_the_connection_open_after_the_end_is_not_waited_for(wire: str) -> None:
    events = tuple(EVENTS[wire](Said(("x",), None), {"stream": True}))
    reply = Reply(events, delivery=Delivery(stall_after=len(events)))
    async with (
        ModelServer([reply]) as server,
        connected(wire, server.url, request_timeout=60, stall_timeout=60) as provider,
        asyncio.timeout(5),
    ):
        assert [type(event) async for event in provider.stream(ASK)] == [MessageDelta, MessageFinished]


@every_wire
async def test_a_stall_and_an_unreachable_host_are_told_apart(wire: str) -> None:
    async with ModelServer("stall") as server:
        async with connected(wire, server.url, stall_timeout=0.05) as provider:
            with pytest.raises(TimedOut, match="stall_timeout"):
                _ = [event async for event in provider.stream(ASK)]
        url = server.url
    async with connected(wire, url) as provider:
        with pytest.raises(Unreachable, match="Connection refused"):
            _ = [event async for event in provider.stream(ASK)]


@every_wire
async def test_the_key_is_never_in_an_error(wire: str) -> None:
    body = json.dumps({"error": {"message": "bad key sk-secret"}}).encode()
    with pytest.raises(Auth) as caught:
        await events_of(wire, [Reply(body, status=401)])
    assert "sk-secret" not in str(caught.value)


@every_wire
async def test_a_request_with_everything_is_what_the_vendor_publishes(wire: str) -> None:
    picture = Image("image/png", "iVBORw0=")
    history = [
        Message("user", (Text("What is this? \ud83d"), picture)),
        Message("assistant", (Thinking("Hm"), Text("I look."), READ, replace(GREP, name="a.b", arguments="{"))),
        Message("tool", (ToolResult("call_1", "read_file", "", images=(picture,)), ToolResult("call_2", "a.b", "no"))),
        Message("assistant", (Thinking("nothing else"),)),
        user_message("and now?"),
    ]
    schema: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}
    body = await body_of(wire, ModelRequest("Be brief.\n\nToday.", history, TOOLS, schema, "high"))
    CHECKS[wire](body)
    assert "What is this? \ufffd" in json.dumps(body, ensure_ascii=False)


@every_wire
@pytest.mark.parametrize("origin", WIRES)
@pytest.mark.parametrize("name", ["acme", "other"])
async def test_a_conversation_begun_elsewhere_and_stored_replays(wire: str, origin: str, name: str) -> None:
    said = Said((*THOUGHTFUL.parts, CALL))
    fresh = await message_of(origin, [Reply(said)])
    reply = msgspec_json.decode(msgspec_json.encode(fresh), type=Message)
    result = Message("tool", (ToolResult("call_1", "read_file", "# Marvin"),))
    broken_off = Message("assistant", (Thinking("So"), Text("It is ")), finish="interrupted", provider=origin)
    history = [user_message("hi"), reply, result, broken_off, user_message("go on")]
    body = await body_of(wire, ModelRequest("Be brief.", history, TOOLS), name=name)
    CHECKS[wire](body)
    text = json.dumps(body, ensure_ascii=False)
    assert [text.count(word) for word in ("Hello, wörld", "# Marvin", "It is ", "go on")] == [1, 1, 1, 1]


async def test_effort_is_asked_for_as_the_vendor_wants_it() -> None:
    for effort in ("none", "low", "high"):
        request = replace(ASK, effort=effort)
        body = await body_of("openai_chat", request)
        assert body["reasoning_effort"] == effort
        check_openai_chat(body)
    async with ModelServer() as server:
        endpoint = Endpoint("Acme", server.url, None, check_key="", check_url="")
        transport = Transport(request_timeout=5, stall_timeout=5)
        provider = OpenAIChat(
            name="acme", model="acme-1", endpoint=endpoint, transport=transport, quirks=("reasoning_object",)
        )
        async for _ in provider.stream(replace(ASK, effort="low")):
            pass
        await provider.aclose()
        body = server.requests[0].json
    assert (body["reasoning"], "reasoning_effort" in body) == ({"effort": "low"}, False)
