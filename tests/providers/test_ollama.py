import asyncio
import socket
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
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
    UsageError,
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
    Usage,
    user_message,
)
from marvin_server.providers import ollama_server
from marvin_server.providers.base import ModelRequest, StreamEvent
from marvin_server.providers.ollama_reply import Lines
from tests.providers import wire_apis
from tests.providers.published_types import check_ollama
from tests.providers.wire_apis import HELLO, OLLAMA, TOOLS, ask
from tests.servers.http_server import Answer, Mark, Step
from tests.servers.ollama_wire import MODEL, OVERFLOW, WIRE, OllamaServer, call, end, error, line, piece, whole
from tests.servers.reply import CALL, GREETING, OTHER_CALL, THOUGHTFUL

ASK = replace(wire_apis.ASK, tools=[])
SHOWN = {
    "details": {"family": "qwen3"},
    "model_info": {"general.architecture": "qwen3", "qwen3.context_length": 40_960},
    "capabilities": ["completion", "tools", "thinking"],
}


connected = partial(OLLAMA.connected, name="ollama", model=MODEL, key=None)


async def events_of(*answers: Sequence[Step] | Answer, request: ModelRequest = ASK) -> list[StreamEvent]:
    async with OllamaServer(*answers) as server, connected(server.url) as provider:
        return await ask(provider, request)


async def message_of(*answers: Sequence[Step] | Answer, request: ModelRequest = ASK) -> Message:
    return wire_apis.message_of(await events_of(*answers, request=request))


async def bodies_of(
    request: ModelRequest, *answers: Sequence[Step] | Answer, shown: Mapping[str, Any] | None = None, rounds: int = 1
) -> list[dict[str, Any]]:
    answers = answers or (WIRE.events(GREETING, {}),)
    async with OllamaServer(*answers, shown=shown) as server, connected(server.url) as provider:
        for _ in range(rounds):
            await ask(provider, request)
        for sent in server.chats:
            check_ollama(sent.json)
        return [sent.json for sent in server.chats]


def cut_into(size: int, stream: bytes) -> list[bytes]:
    return [stream[at : at + size] for at in range(0, len(stream), size)]


STREAM = b"".join(WIRE.events(GREETING, {}))


@pytest.mark.parametrize(
    ("steps", "parts"),
    [
        (WIRE.events(GREETING, {}), (HELLO,)),
        (cut_into(1, STREAM), (HELLO,)),
        (cut_into(3, STREAM), (HELLO,)),
        ([STREAM.replace(b"\n", b"\r\n")], (HELLO,)),
        ([STREAM.replace(b"\n", b"\n\n")], (HELLO,)),
        ([STREAM.removesuffix(b"\n")], (HELLO,)),
        ([WIRE.whole(GREETING, {})], (HELLO,)),
        (WIRE.events(THOUGHTFUL, {}), (Thinking("Let me think."), HELLO)),
        ([piece(content="x" * 10_000_000), end()], (Text("x" * 10_000_000),)),
        ([end()], ()),
        ([end("load")], ()),
        ([piece(content="a"), end("because")], (Text("a"),)),
        ([piece(thinking="a"), piece(content="b"), piece(thinking="c"), end()],
         (Thinking("a"), Text("b"), Thinking("c"))),
        ([rb'{"message":{"content":"a\ud83d b \ud83c\udf89"},"done":true}'], (Text("a\ufffd b 🎉"),)),
    ],
)  # fmt: skip
async def test_every_way_to_say_it_gives_the_same_message(steps: Sequence[Step], parts: tuple[Part, ...]) -> None:
    message = await message_of(steps)
    assert (message.parts, message.finish) == (parts, "stop")


async def test_a_reply_tells_its_model_its_usage_and_its_events_in_order() -> None:
    stream = (piece(thinking="Hm"), piece(content="Yes"), piece(content="."))
    events = await events_of([*stream, end("length", prompt_eval_count=9, eval_count=2)])
    message = wire_apis.message_of(events)
    assert events[:-1] == [
        ThoughtDelta(message.id, "Hm"),
        ThoughtFinished(message.id, "Hm"),
        MessageDelta(message.id, "Yes"),
        MessageDelta(message.id, "."),
    ]
    assert message == Message(
        "assistant",
        (Thinking("Hm"), Text("Yes.")),
        id=message.id,
        finish="length",
        provider="ollama",
        model=MODEL,
        usage=Usage(input=9, output=2),
    )


async def test_a_thought_without_text_is_finished_too() -> None:
    events = await events_of([piece(thinking="Hm"), end()])
    assert [type(event) for event in events] == [ThoughtDelta, ThoughtFinished, MessageFinished]


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ([call("a", {"x": [1]})], [("a", '{"x": [1]}')]),
        ([call("a", {}), call("a", {})], [("a", "{}"), ("a", "{}")]),
        ([call("a", None), call("b", '{"y": 1}')], [("a", "{}"), ("b", '{"y": 1}')]),
        ([call("a", "", id="same"), call("b", {"z": "é"}, id="same")], [("a", "{}"), ("b", '{"z": "é"}')]),
    ],
)
@pytest.mark.parametrize("together", [True, False])
async def test_every_call_is_whole_and_has_an_id_of_its_own(
    calls: list[dict[str, Any]], expected: list[tuple[str, str]], *, together: bool
) -> None:
    pieces = [piece(tool_calls=calls)] if together else [piece(tool_calls=[one]) for one in calls]
    message = await message_of([*pieces, end()])
    assert [(one.name, one.arguments) for one in message.tool_calls] == expected
    assert len({one.id for one in message.tool_calls} - {""}) == len(expected)
    assert message.finish == "tool_calls"


async def test_a_call_id_that_the_conversation_has_already_seen_is_replaced() -> None:
    earlier = Message("assistant", (ToolCall("call_1", "a", "{}"),))
    history = [user_message("hi"), earlier, Message("tool", (ToolResult("call_1", "a", "b"),))]
    message = await message_of(
        [piece(tool_calls=[call("a", {}, id="call_1")]), end()], request=replace(ASK, history=history)
    )
    assert message.tool_calls[0].id != "call_1"


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        (whole(401, {"error": "unauthorized"}), Auth, "Acme (127.0.0.1:"),
        (whole(404, {"error": f"model '{MODEL}' not found"}), BadRequest, f"get it with: ollama pull {MODEL}"),
        (whole(404, {"error": f'model "{MODEL}" not found, try pulling it first'}), BadRequest, "ollama pull"),
        (whole(404, "404 page not found"), BadRequest, "answered 404: 404 page not found"),
        (whole(400, {"error": f"{MODEL} does not support tools"}), BadRequest, "take a model that can, such as qwen3"),
        (whole(400, {"error": OVERFLOW}), ContextOverflow, "exceeds the available context size (4096 tokens)"),
        (whole(429, error(429).decode()), RateLimited, "too many concurrent requests"),
        (whole(503, error(503).decode()), Overloaded, "server busy"),
        (whole(500, error(500).decode()), Overloaded, "unexpected EOF"),
        (whole(200, "<html>Sign in</html>"), BadRequest, "instead of a model's answer ('Sign in'"),
        (whole(200, {"status": "ok"}), BadRequest, "instead of a model's answer"),
        ([piece(content="a"), line({"error": "model runner has stopped"})], Overloaded, "model runner has stopped"),
        ([line({"error": OVERFLOW})], ContextOverflow, "exceeds the available context size"),
        ([piece(content="a"), b"not json\n", end()], BadRequest, "not JSON in its stream ('not json')"),
        ([piece(content="a"), Mark.CUT], Interrupted, "broke during the answer"),
        ([piece(content="a")], Interrupted, "ended its answer before it was whole"),
        ([piece(content="a"), b'{"message":{"cont'], Interrupted, "ended its answer before it was whole"),
        ([b"x" * 1_000_000], Interrupted, "ended its answer before it was whole"),
        ([b"x" * 33_000_000], BadRequest, "a line of more than 32 MB"),
        ([], Interrupted, "ended its answer before it was whole"),
        (Answer(200, (), [Mark.CUT], head=False), Interrupted, "closed the connection without an answer"),
    ],
)  # fmt: skip
async def test_every_fault_is_an_error_of_its_kind_in_one_line(
    answer: Sequence[Step] | Answer, kind: type[ProviderError], words: str
) -> None:
    with pytest.raises(ProviderError) as caught:
        await events_of(answer)
    assert type(caught.value) is kind
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


async def test_a_server_that_does_not_run_is_told_how_to_start() -> None:
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
    async with connected(f"http://me:secret@127.0.0.1:{port}/") as provider:
        with pytest.raises(Unreachable) as caught:
            await anext(provider.stream(ASK))
    advice = "Is Ollama running? Start with: ollama serve"
    assert str(caught.value) == f"Cannot connect to Ollama at http://127.0.0.1:{port}. {advice}"


async def test_a_silence_in_the_answer_is_cut_and_one_before_it_is_not() -> None:
    stalled = [piece(content="a"), Mark.STALL]
    async with OllamaServer(stalled) as server, connected(server.url, stall_timeout=0.05) as provider:
        with pytest.raises(TimedOut, match="fell silent"):
            await ask(provider)
    late = Answer(200, (), [0.2, STREAM])
    async with OllamaServer(late) as server, connected(server.url, stall_timeout=0.05) as provider:
        assert await ask(provider)


async def test_a_request_carries_the_conversation_the_tools_and_the_key() -> None:
    picture = Image("image/png", "iVBORw0=")
    asked = Message(
        "assistant",
        (Thinking("Hm"), Text("I look."), ToolCall("1", "read_file", '{"path": "a"}'), ToolCall("2", "grep", "{")),
        provider="ollama",
    )
    request = ModelRequest(
        "Be brief.",
        [
            Message("user", (Text("What is this?"), picture)),
            asked,
            Message("tool", (ToolResult("1", "read_file", "b", images=(picture,)), ToolResult("2", "grep", ""))),
            Message("assistant", (Thinking("nothing else"),), provider="ollama"),
            Message("assistant", (Thinking("another's"), Text("Yes.")), provider="other"),
            user_message("and \ud83d now?"),
        ],
        TOOLS,
        output_schema={"type": "object"},
    )
    async with OllamaServer(WIRE.events(GREETING, {}), shown=SHOWN) as server:
        async with connected(server.url, key="secret") as provider:
            await ask(provider, request)
        (sent,) = server.chats
    check_ollama(sent.json)
    assert sent.headers["authorization"] == "Bearer secret"
    assert sent.json == {
        "model": MODEL,
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "What is this?", "images": ["iVBORw0="]},
            {
                "role": "assistant",
                "content": "I look.",
                "thinking": "Hm",
                "tool_calls": [
                    {"function": {"name": "read_file", "arguments": {"path": "a"}}},
                    {"function": {"name": "grep", "arguments": {"not_an_object": "{"}}},
                ],
            },
            {"role": "tool", "tool_name": "read_file", "content": "b", "images": ["iVBORw0="]},
            {"role": "tool", "tool_name": "grep", "content": ""},
            {"role": "assistant", "content": "Yes."},
            {"role": "user", "content": "and \ufffd now?"},
        ],
        "stream": True,
        "truncate": False,
        "shift": False,
        "options": {"num_ctx": 32_768},
        "tools": [{"type": "function", "function": {"name": "read_file", "description": "Read a file.",
                                                    "parameters": {"type": "object"}}}],
    }  # fmt: skip


async def test_an_output_schema_is_a_format_where_no_tools_are_offered() -> None:
    (body,) = await bodies_of(replace(ASK, output_schema={"type": "object"}))
    assert body["format"] == {"type": "object"}


@pytest.mark.parametrize(
    ("shown", "options"),
    [
        (SHOWN, {"num_ctx": 32_768}),
        ({"model_info": {"general.architecture": "a", "a.context_length": 8192}}, {"num_ctx": 8192}),
        ({**SHOWN, "parameters": 'num_ctx                        4096\nstop    "x"'}, None),
        ({"model_info": {"general.architecture": "a"}}, None),
        ({}, None),
        (None, None),
    ],
)
async def test_the_model_runs_with_its_own_context_unless_the_person_chose_one(
    shown: Mapping[str, Any] | None, options: Mapping[str, int] | None
) -> None:
    assert [body.get("options") for body in await bodies_of(ASK, shown=shown, rounds=2)] == [options, options]


async def test_the_models_facts_are_asked_for_once() -> None:
    async with OllamaServer(WIRE.events(GREETING, {}), shown=SHOWN) as server, connected(server.url) as provider:
        for _ in range(2):
            await ask(provider)
        assert [request.path for request in server.http.requests] == ["/api/show", "/api/chat", "/api/chat"]


@pytest.mark.parametrize(
    ("family", "effort", "think"),
    [
        ("qwen3", None, None),
        ("qwen3", "none", False),
        ("qwen3", "low", True),
        ("gptoss", "low", "low"),
        ("gptoss", "high", "high"),
        ("gptoss", "none", False),
    ],
)
async def test_effort_becomes_what_the_model_understands(family: str, effort: Any, think: bool | str | None) -> None:
    (body,) = await bodies_of(replace(ASK, effort=effort), shown={"details": {"family": family}})
    assert body.get("think") == think


async def test_a_model_that_cannot_think_is_asked_again_without_and_once_only() -> None:
    refused = whole(400, {"error": f'"{MODEL}" does not support thinking'})
    greeting = WIRE.events(GREETING, {})
    bodies = await bodies_of(replace(ASK, effort="high"), refused, greeting, greeting, rounds=2)
    assert [body.get("think") for body in bodies] == [True, None, None]


async def test_tool_calls_and_their_results_make_a_turn() -> None:
    calling = (piece(tool_calls=[call(CALL.name, {"path": "README.md"}), call(OTHER_CALL.name, {})]), end())
    async with OllamaServer(calling, WIRE.events(GREETING, {})) as server, connected(server.url) as provider:
        asked = wire_apis.message_of(await ask(provider))
        results = tuple(ToolResult(one.id, one.name, "done") for one in asked.tool_calls)
        history = [*wire_apis.ASK.history, asked, Message("tool", results)]
        answered = wire_apis.message_of(await ask(provider, replace(wire_apis.ASK, history=history)))
        sent = server.chats[1].json["messages"][2:]
    assert answered.parts == (HELLO,)
    assert [message.get("tool_name") for message in sent] == [None, "read_file", "code_grep"]


@given(st.lists(st.text(alphabet="ab é🌍{}", min_size=1).map(str.strip).filter(bool)), st.integers(1, 7), st.booleans())
def test_lines_are_the_same_however_the_stream_is_cut(texts: list[str], size: int, crlf: bool) -> None:
    stream = "".join(text + ("\r\n" if crlf else "\n") for text in texts).encode()
    lines = Lines()
    found = [found for chunk in cut_into(size, stream) for found in lines.feed(chunk)]
    assert ([found.decode() for found in found], lines.rest()) == (texts, b"")


@pytest.mark.parametrize(
    ("environ", "url"),
    [
        ({}, "http://localhost:11434"),
        ({"OLLAMA_HOST": "  "}, "http://localhost:11434"),
        ({"OLLAMA_HOST": "gpu.example"}, "http://gpu.example:11434"),
        ({"OLLAMA_HOST": "10.0.0.7:8080"}, "http://10.0.0.7:8080"),
        ({"OLLAMA_HOST": ":8080"}, "http://localhost:8080"),
        ({"OLLAMA_HOST": "0.0.0.0"}, "http://127.0.0.1:11434"),
        ({"OLLAMA_HOST": "0.0.0.0:8080"}, "http://127.0.0.1:8080"),
        ({"OLLAMA_HOST": "[::]:8080"}, "http://[::1]:8080"),
        ({"OLLAMA_HOST": "[::1]"}, "http://[::1]:11434"),
        ({"OLLAMA_HOST": "https://gpu.example/ollama/"}, "https://gpu.example/ollama"),
        ({"OLLAMA_HOST": "http://me:pw@gpu.example"}, "http://me:pw@gpu.example"),
        ({"OLLAMA_HOST": '"gpu.example"'}, "http://gpu.example:11434"),
        ({"OLLAMA_HOST": "other", "OLLAMA_URL": "http://gpu.example:1"}, "http://gpu.example:1"),
    ],
)
def test_the_address_is_read_as_ollama_reads_it(environ: Mapping[str, str], url: str) -> None:
    assert ollama_server.address(environ) == url


@pytest.mark.parametrize("value", ["ftp://gpu.example", "gpu.example:many", "http://[::1"])
def test_what_is_no_address_is_named(value: str) -> None:
    with pytest.raises(UsageError, match="OLLAMA_HOST needs an address such as"):
        ollama_server.address({"OLLAMA_HOST": value})


async def test_a_server_that_runs_answers_and_lists_its_models() -> None:
    async with OllamaServer() as server:
        assert await asyncio.to_thread(ollama_server.answers, server.url, 5.0)
        assert not await asyncio.to_thread(ollama_server.answers, f"{server.url}/elsewhere", 5.0)
        assert await ollama_server.models(server.url) == (MODEL, "other:7b")
        url = server.url
    assert not ollama_server.answers(url)
    assert await ollama_server.models(url) == ()


def test_a_server_that_is_silent_does_not_answer() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        assert not ollama_server.answers(f"http://127.0.0.1:{silent.getsockname()[1]}", 0.05)
