from typing import Any

import pytest
from msgspec.structs import replace

from marvin_server.errors import Auth, BadRequest, ContextOverflow, Interrupted, Overloaded, ProviderError, RateLimited
from marvin_server.events import MessageDelta, MessageFinished, ThoughtDelta, ThoughtFinished
from marvin_server.messages import (
    Image,
    Message,
    Part,
    Text,
    Thinking,
    ToolResult,
    ToolSpec,
    Usage,
    user_message,
)
from marvin_server.providers.base import ModelRequest
from tests.providers.wire_apis import ASK, GREP, HELLO, READ, ask, message_of
from tests.providers.wire_apis import OPENAI_CHAT as API
from tests.servers.model_server import ModelServer
from tests.servers.openai_wire import chunk, sse, stream
from tests.servers.reply import Reply, Scenario


def deltas(*said: dict[str, Any], finish: str = "stop") -> Scenario:
    return [Reply(stream(*said, finish=finish))]


def calling(*calls: dict[str, Any]) -> Scenario:
    return deltas(*({"tool_calls": [call]} for call in calls), finish="tool_calls")


@pytest.mark.parametrize(
    ("scenario", "parts"),
    [
        *((name, (HELLO,)) for name in (
            *("comments", "pings", "other-fields", "multi-line-data", "no-space-after-colon"),
            *("no-done", "no-finish-reason", "content-null"),
            *("usage-without-choices", "usage-beside-finish", "usage-in-every-chunk"),
        )),
        *((name, (Thinking("Let me think."), HELLO)) for name in ("reasoning", "reasoning-content")),
        *((name, (READ,)) for name in (
            *("tool-call-whole", "tool-call-no-index", "tool-call-id-in-every-fragment"),
            *("tool-call-finish-stop", "arguments-as-object"),
        )),
        *((name, (READ, GREP)) for name in (
            *("two-tool-calls-no-index", "two-tool-calls-index-zero", "two-tool-calls-interleaved"),
        )),
    ],
)  # fmt: skip
async def test_every_vendors_way_to_say_it_gives_the_same_message(scenario: str, parts: tuple[Part, ...]) -> None:
    message = await API.message(scenario)
    assert (message.parts, message.finish) == (parts, "tool_calls" if message.tool_calls else "stop")


@pytest.mark.parametrize(
    ("scenario", "kind", "words"),
    [
        ("status-401", Auth, "Incorrect API key provided: sk-wrong; check ACME_KEY, or run: marvin doctor"),
        ("status-429-seconds", RateLimited, "Rate limit reached"),
        ("status-529", Overloaded, "Overloaded"),
        ("overflow", ContextOverflow, "maximum context length is 8192"),
        ("overflow-in-stream", ContextOverflow, "maximum context length is 8192"),
        ("error-in-chunk", Overloaded, "answered 502: Provider returned error"),
        ("error-event", Overloaded, "answered 502: Provider returned error"),
        ("error-first", Overloaded, "answered 502: Provider returned error"),
        ("not-json-chunk", BadRequest, "not JSON in its stream ('{not json')"),
    ],
)
async def test_every_fault_is_an_error_of_its_kind_in_one_line(
    scenario: str, kind: type[ProviderError], words: str
) -> None:
    with pytest.raises(ProviderError) as caught:
        await API.heard(scenario)
    assert type(caught.value) is kind
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b'{"error": {"message": "x", "code": 429}}', RateLimited),
        (b'{"status": "ok"}', BadRequest),
        (b'[{"error": {"code": 400, "message": "x"}}]', BadRequest),
        (b'{"choices": ', BadRequest),
        (b"[" * 100_000 + b'"error"', BadRequest),
        (b'event: error\ndata: {"message": "x", "type": "overloaded_error"}\n\n', Overloaded),
        (b"event: error\ndata: out of memory\n\n", Overloaded),
        (b'data: {"object": "error", "message": "x", "code": 400}\n\n', BadRequest),
        (b'data: {"choices": [{"delta": {"content": "half"}}]}\n\n', Interrupted),
        (b'data: {"choices": [{"delta": {"cont', Interrupted),
        (b": PROCESSING\n\n", Interrupted),
    ],
)
async def test_what_is_no_whole_answer_is_an_error(body: bytes, kind: type[ProviderError]) -> None:
    with pytest.raises(ProviderError) as caught:
        await API.heard([Reply(body)])
    assert type(caught.value) is kind


async def test_a_reply_tells_its_model_its_usage_and_its_events_in_order() -> None:
    said = [{"reasoning": "Hm"}, {"content": "Yes"}, {"content": "."}]
    usage = {"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}}
    events = await API.heard([Reply((*(sse(chunk(one)) for one in said), sse(chunk({}, "length", usage=usage))))])
    message = message_of(events)
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
        provider="acme",
        model="test-model",
        usage=Usage(input=9, output=2, cache_read=4),
    )


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"prompt_tokens": 21, "completion_tokens": 0, "total_tokens": 81}, Usage(21, 60)),
        ({"prompt_tokens": 3, "completion_tokens": None, "prompt_tokens_details": None}, Usage(3, 0)),
        ({"prompt_tokens": "many"}, Usage()),
    ],
)
async def test_usage_is_read_as_vendors_count_it(usage: dict[str, Any], expected: Usage) -> None:
    assert (await API.message([Reply((sse(chunk({}, "stop", usage=usage)),))])).usage == expected


@pytest.mark.parametrize(("word", "finish"), [("content_filter", "filtered"), ("SAFETY", "filtered"), ("eos", "stop")])
async def test_the_vendors_word_for_the_end_is_translated(word: str, finish: str) -> None:
    assert (await API.message(deltas({"content": "x"}, finish=word))).finish == finish


async def test_a_thought_without_text_is_finished_too() -> None:
    events = await API.heard(deltas({"reasoning_content": "Hm"}))
    assert [type(event) for event in events] == [ThoughtDelta, ThoughtFinished, MessageFinished]


async def test_content_may_be_a_list_of_parts() -> None:
    nested = {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}]}]}
    said = {"content": [{"type": "text", "text": "Yes"}, "!", {"type": "reference", "reference_ids": [1]}]}
    assert (await API.message(deltas(nested, said))).parts == (Thinking("Hm"), Text("Yes!"))


async def test_a_last_chunk_that_repeats_the_whole_message_adds_nothing() -> None:
    end = {"choices": [{"delta": {}, "message": {"content": "Yes"}, "finish_reason": "stop"}]}
    assert (await API.message([Reply((sse(chunk({"content": "Yes"})), sse(end)))])).text == "Yes"


async def test_a_refusal_is_text() -> None:
    assert (await API.message(deltas({"content": None, "refusal": "I will not."}))).text == "I will not."


async def test_unpaired_surrogates_of_a_reply_are_replaced() -> None:
    event = b'data: {"choices": [{"delta": {"content": "a\\ud83d b \\ud83c\\udf89"}, "finish_reason": "stop"}]}\n\n'
    assert (await API.message([Reply((event,))])).text == "a\ufffd b 🎉"


def whole(name: str, arguments: object = "{}", **more: Any) -> dict[str, Any]:
    return {"function": {"name": name, "arguments": arguments}, **more}


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ([whole("a"), whole("b")], [("a", "{}"), ("b", "{}")]),
        ([whole("a", ""), whole("b", "")], [("a", "{}"), ("b", "{}")]),
        ([whole("a", None), whole("b", {"x": [1]})], [("a", "{}"), ("b", '{"x": [1]}')]),
        ([whole("a", index=0), whole("b", index=0)], [("a", "{}"), ("b", "{}")]),
        ([whole("a", id="1"), whole("a", id="1")], [("a", "{}"), ("a", "{}")]),
        ([whole("a", index=0, id="1"), whole("b", index=1, id="1")], [("a", "{}"), ("b", "{}")]),
        ([whole("a", '{"x"', id="1"), whole("a", ": 1}", id="1")], [("a", '{"x": 1}')]),
        ([whole("a", "{", index=0), whole("a", "}", index=0), whole("a", "", index=0)], [("a", "{}")]),
        ([whole("re", "", index=0), whole("ad", "{}", index=0)], [("read", "{}")]),
        ([whole("a", "{", id="1"), whole("b", "{", id="2"), {"id": "1", "function": {"arguments": "}"}},
          {"id": "2", "function": {"arguments": "}"}}], [("a", "{}"), ("b", "{}")]),
        ([whole("a", "{"), {"function": {"arguments": "}"}}, {"function": None}], [("a", "{}")]),
    ],
)  # fmt: skip
async def test_calls_are_told_apart_however_they_come(
    calls: list[dict[str, Any]], expected: list[tuple[str, str]]
) -> None:
    found = (await API.message(calling(*calls))).tool_calls
    assert [(call.name, call.arguments) for call in found] == expected
    assert len({call.id for call in found} - {""}) == len(found)


@pytest.mark.parametrize("missing", ["tool-call-no-id", "tool-call-empty-id"])
async def test_a_call_without_an_id_gets_one(missing: str) -> None:
    (call,) = (await API.message(missing)).tool_calls
    assert replace(call, id="call_1") == READ
    assert call.id.startswith("call_")


async def test_a_request_carries_the_conversation_the_tools_and_the_key() -> None:
    picture = Image("image/png", "iVBORw0=")
    request = ModelRequest(
        "Be brief.",
        [
            Message("user", (Text("What is this?"), picture)),
            Message("assistant", (Thinking("Hm"), Text("I look."), READ, replace(GREP, name="a.b", arguments="{"))),
            Message(
                "tool", (ToolResult("call_1", "read_file", "", images=(picture,)), ToolResult("call_2", "x", "no"))
            ),
            Message("assistant", (Thinking("nothing else"),)),
            user_message("and \ud83d now?"),
        ],
        [ToolSpec("read_file", "Read a file.", {"type": "object"})],
    )
    async with ModelServer() as server, API.connected(f"{server.url}/chat/completions?v=1") as provider:
        await ask(provider, request)
        (sent,) = server.requests
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0="}}
    assert (sent.path, sent.headers["authorization"]) == ("/v1/chat/completions?v=1", "Bearer sk-secret")
    assert sent.headers["content-type"] == "application/json"
    assert sent.json == {
        "model": "acme-1",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": [{"type": "text", "text": "What is this?"}, image]},
            {
                "role": "assistant",
                "content": "I look.",
                "tool_calls": [
                    {
                        "id": "call_1",
                        "type": "function",
                        "function": {"name": "read_file", "arguments": '{"path": "README.md"}'},
                    },
                    {
                        "id": "call_2",
                        "type": "function",
                        "function": {"name": "a_b", "arguments": '{"not_an_object": "{"}'},
                    },
                ],
            },
            {"role": "tool", "tool_call_id": "call_1", "content": "(empty)"},
            {"role": "tool", "tool_call_id": "call_2", "content": "no"},
            {"role": "user", "content": [{"type": "text", "text": "Pictures from read_file:"}, image]},
            {"role": "user", "content": "and \ufffd now?"},
        ],
        "stream": True,
        "stream_options": {"include_usage": True},
        "tools": [
            {
                "type": "function",
                "function": {"name": "read_file", "description": "Read a file.", "parameters": {"type": "object"}},
            }
        ],
    }


async def test_an_output_schema_is_sent_where_the_vendor_has_it() -> None:
    schema = {"type": "object", "properties": {"answer": {"type": "string"}}}
    request = replace(ASK, output_schema=schema)
    body = await API.body(request)
    assert body["response_format"] == {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}
    assert "response_format" not in await API.body(request, quirks=["no_json_schema"])


async def test_stream_options_are_left_out_for_a_vendor_that_refuses_them() -> None:
    assert "stream_options" not in await API.body(ASK, quirks=["no_stream_options"])


async def test_what_the_vendor_wants_back_goes_back_to_it_alone() -> None:
    signature = {"google": {"thought_signature": "c2ln"}}
    thought = {"type": "reasoning.text", "index": 0}
    said = deltas(
        {"reasoning_content": "H", "reasoning_details": [{**thought, "text": "H"}]},
        {"reasoning_content": "m", "reasoning_details": [{**thought, "text": "m", "signature": "s"}]},
        {"tool_calls": [whole("read_file", READ.arguments, index=0, id="call_1", extra_content=signature)]},
        finish="tool_calls",
    )
    reply = await API.message(said, quirks=["echo_reasoning_content", "echo_reasoning_details"])
    function = {"name": "read_file", "arguments": READ.arguments}
    plain = {"role": "assistant", "content": None}
    call = {"id": "call_1", "type": "function", "function": function}
    own = await API.sent(replace(ASK, history=[*ASK.history, reply]))
    assert own["messages"][-1] == {
        **plain,
        "tool_calls": [{**call, "extra_content": signature}],
        "reasoning_content": "Hm",
        "reasoning_details": [{**thought, "text": "Hm", "signature": "s"}],
    }
    others = await API.body(replace(ASK, history=[*ASK.history, replace(reply, provider="other")]))
    assert others["messages"][-1] == {**plain, "tool_calls": [call]}
    assert (await API.message("reasoning-content")).vendor is None


async def test_effort_is_asked_for_as_the_vendor_wants_it() -> None:
    for effort in ("none", "low", "high"):
        assert (await API.body(replace(ASK, effort=effort)))["reasoning_effort"] == effort
    body = await API.sent(replace(ASK, effort="low"), quirks=["reasoning_object"])
    assert (body["reasoning"], "reasoning_effort" in body) == ({"effort": "low"}, False)


@pytest.mark.parametrize(("named", "model"), [(True, "acme-1-2026"), (False, "acme-1")])
async def test_the_model_that_answers_is_the_one_that_any_chunk_names_or_else_the_one_that_was_asked(
    named: bool, model: str
) -> None:
    said = [{"choices": [{"index": 0, "delta": {"content": text}}]} for text in ("Hello", " there")]
    second = {**said[1], "model": "acme-1-2026"} if named else said[1]
    end: dict[str, Any] = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    message = await API.message([Reply((sse(said[0]), sse(second), sse(end), sse("[DONE]")))])
    assert (message.text, message.model) == ("Hello there", model)
