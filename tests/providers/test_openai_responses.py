from pathlib import Path

import pytest
from msgspec.structs import replace

from marvin_server import settings
from marvin_server.errors import Auth, BadRequest, ContextOverflow, Interrupted, Overloaded, ProviderError, RateLimited
from marvin_server.messages import Image, Message, Text, Thinking, ToolCall, ToolResult, Usage, user_message
from marvin_server.providers import vendors
from marvin_server.providers.base import ModelRequest
from tests.providers.wire_apis import ASK, FOUND, READ, TOOLS, ask
from tests.providers.wire_apis import OPENAI_RESPONSES as API
from tests.servers.model_server import ModelServer
from tests.servers.openai_wire import OVERFLOW, dumps, sse
from tests.servers.reply import CALL, OTHER_CALL, Call, Reply, Said
from tests.servers.responses_wire import (
    argument_deltas,
    event,
    function_call,
    message,
    reasoning,
    response,
    stream,
    text_deltas,
)

ENCRYPTED = "ZW5jcnlwdGVk"


@pytest.mark.parametrize("path", ["", "/", "/responses", "/chat/completions"])
async def test_the_address_may_be_the_one_of_chat_completions(path: str) -> None:
    async with ModelServer() as server, API.connected(f"{server.url}{path}?v=1") as provider:
        await ask(provider)
        (sent,) = server.requests
    assert (sent.path, sent.headers["authorization"]) == ("/v1/responses?v=1", "Bearer sk-secret")


async def test_a_request_carries_the_conversation_the_tools_and_no_state() -> None:
    picture = Image("image/png", "iVBORw0=")
    long_id = "x" * 70
    history = [
        Message("user", (Text("What is this?"), picture)),
        Message("assistant", (Thinking("Hm"), Text("I look."), READ, ToolCall(long_id, "a.b", "{"))),
        Message("tool", (ToolResult("call_1", "read_file", "", images=(picture,)), ToolResult(long_id, "a.b", ""))),
        Message("assistant", (Thinking("nothing else"),)),
        user_message("and now?"),
    ]
    image = {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0=", "detail": "auto"}
    assert await API.body(ModelRequest("Be brief.", history, TOOLS)) == {
        "model": "acme-1",
        "instructions": "Be brief.",
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "What is this?"}, image]},
            {"role": "assistant", "content": "I look."},
            {
                "type": "function_call",
                "call_id": "call_1",
                "name": "read_file",
                "arguments": '{"path": "README.md"}',
            },
            {
                "type": "function_call",
                "call_id": long_id[:64],
                "name": "a_b",
                "arguments": '{"not_an_object": "{"}',
            },
            {"type": "function_call_output", "call_id": "call_1", "output": [image]},
            {"type": "function_call_output", "call_id": long_id[:64], "output": "(empty)"},
            {"role": "user", "content": [{"type": "input_text", "text": "and now?"}]},
        ],
        "tools": [
            {
                "type": "function",
                "name": "read_file",
                "description": "Read a file.",
                "parameters": {"type": "object"},
                "strict": False,
            }
        ],
        "stream": True,
        "store": False,
        "include": ["reasoning.encrypted_content"],
    }


async def test_effort_asks_for_a_summary_of_what_is_thought() -> None:
    assert "reasoning" not in await API.body(ASK)
    assert (await API.body(replace(ASK, effort="high")))["reasoning"] == {"effort": "high", "summary": "auto"}
    assert (await API.body(replace(ASK, effort="none")))["reasoning"] == {"effort": "none"}


async def test_an_output_schema_is_sent_where_the_vendor_has_it() -> None:
    request = replace(ASK, output_schema={"type": "object"})
    answer = {"type": "json_schema", "name": "answer", "schema": {"type": "object"}, "strict": False}
    assert (await API.body(request))["text"] == {"format": answer}
    assert "text" not in await API.body(request, quirks=["no_json_schema"])


COMMENTED = stream(
    (reasoning("Hm"), ()),
    (message("I look.", phase="commentary"), text_deltas(1, ["I ", "look."])),
    (reasoning(), ()),
    (function_call(CALL), argument_deltas(3, CALL)),
)


async def test_encrypted_reasoning_and_phases_go_back_to_the_model_that_left_them() -> None:
    reply = await API.message([Reply(COMMENTED)])
    assert reply.parts == (Thinking("Hm"), Text("I look."), READ)
    history = [*ASK.history, reply, FOUND]
    own = await API.body(replace(ASK, history=history))
    call = {"type": "function_call", "call_id": "call_1", "name": "read_file", "arguments": READ.arguments}
    result = {"type": "function_call_output", "call_id": "call_1", "output": "# Marvin"}
    kept = {"id": "rs_1", "type": "reasoning", "encrypted_content": ENCRYPTED}
    assert own["input"][1:] == [
        {**kept, "summary": [{"type": "summary_text", "text": "Hm"}]},
        {"role": "assistant", "content": "I look.", "phase": "commentary"},
        {**kept, "summary": []},
        call,
        result,
    ]
    for change in ({"model": "acme-2"}, {"name": "other"}):
        others = await API.body(replace(ASK, history=history), **change)
        assert others["input"][1:] == [{"role": "assistant", "content": "I look."}, call, result]


async def test_reasoning_that_is_not_encrypted_does_not_go_back() -> None:
    reply = await API.message([Reply(stream((reasoning("Hm", encrypted=None), ()), (message("Yes."), ())))])
    assert (reply.parts, reply.vendor) == ((Thinking("Hm"), Text("Yes.")), None)


async def test_summaries_and_raw_reasoning_are_thoughts() -> None:
    place = {"item_id": "rs_1", "output_index": 0}
    summaries = [
        event("reasoning_summary_part.added", **place, summary_index=0),
        event("reasoning_summary_text.delta", **place, summary_index=0, delta="One."),
        event("reasoning_summary_part.added", **place, summary_index=1),
        event("reasoning_summary_text.delta", **place, summary_index=1, delta="Two."),
    ]
    raw = [event("reasoning_text.delta", item_id="rs_2", output_index=1, content_index=0, delta="Three.")]
    events = stream((reasoning("One.", "Two."), summaries), (reasoning("Three."), raw), (message("Yes."), ()))
    assert (await API.message([Reply(events)])).parts == (Thinking("One.\n\nTwo."), Thinking("Three."), Text("Yes."))


async def test_a_refusal_is_shown_as_the_answer() -> None:
    refused = {**message(""), "content": [{"type": "refusal", "refusal": "I will not."}]}
    assert (await API.message([Reply(stream((refused, text_deltas(0, ["I will ", "not."], "refusal"))))])).text == (
        "I will not."
    )
    assert (await API.message([Reply(dumps(response([refused])).encode())])).text == "I will not."


@pytest.mark.parametrize("arguments_in", ["deltas", "done", "both"])
async def test_a_call_is_whole_wherever_its_arguments_come(arguments_in: str) -> None:
    whole = function_call(CALL)
    done = {**whole, "arguments": ""} if arguments_in == "deltas" else whole
    streamed = () if arguments_in == "done" else argument_deltas(0, CALL)
    assert (await API.message([Reply(stream((done, streamed)))])).parts == (READ,)


async def test_interleaved_calls_without_ends_are_told_apart() -> None:
    second = argument_deltas(1, OTHER_CALL)[:-1]
    first = argument_deltas(0, CALL)[:-1]
    begun = [
        event("output_item.added", output_index=index, item={**function_call(call), "arguments": ""})
        for index, call in enumerate((CALL, OTHER_CALL))
    ]
    mixed = [one for pair in zip(first, second, strict=False) for one in pair]
    events = (*begun, *mixed, *first[len(second) :], event("completed", response=response([])))
    calls = (await API.message([Reply(events)])).tool_calls
    assert calls == (READ, ToolCall("call_2", OTHER_CALL.name, OTHER_CALL.arguments))


async def test_items_may_be_told_apart_by_their_ids_alone() -> None:
    call = {**function_call(CALL), "id": "fc_1"}
    events = (
        event("output_item.added", item={**message(""), "content": None}),
        event("output_text.delta", item_id="msg_1", delta="I look."),
        event("output_item.done", item=message("I look.")),
        event("output_item.added", item={**call, "arguments": ""}),
        event("function_call_arguments.delta", item_id="fc_1", delta=CALL.arguments),
        event("output_item.done", item=call),
        event("completed", response=response([])),
    )
    assert (await API.message([Reply(events)])).parts == (Text("I look."), READ)


async def test_a_call_without_an_id_gets_one() -> None:
    (call,) = (await API.message([Reply(Said((Call(CALL.name, CALL.arguments, id=""),)))])).tool_calls
    assert replace(call, id="call_1") == READ
    assert call.id.startswith("call_")


@pytest.mark.parametrize(
    ("reason", "finish"), [("max_output_tokens", "length"), ("content_filter", "filtered"), ("because", "stop")]
)
async def test_an_incomplete_answer_says_why(reason: str, finish: str) -> None:
    assert (await API.message([Reply(Said(("x",), finish=reason))])).finish == finish


async def test_usage_tells_what_was_cached() -> None:
    details = {"cached_tokens": 4, "cache_write_tokens": 3}
    counted = {"input_tokens": 9, "output_tokens": 2, "input_tokens_details": details}
    end = response([], usage=counted, model="acme-1-2026")
    reply = await API.message([Reply(stream((message("x"), ()), end=end))])
    assert (reply.model, reply.usage) == ("acme-1-2026", Usage(input=9, output=2, cache_read=4, cache_write=3))


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("server_error", Overloaded),
        ("rate_limit_exceeded", RateLimited),
        ("context_length_exceeded", ContextOverflow),
        ("invalid_prompt", BadRequest),
        ("insufficient_quota", Auth),
    ],
)
async def test_an_error_is_of_its_kind_wherever_it_comes(code: str, expected: type[ProviderError]) -> None:
    error = {"code": code, "message": "It broke."}
    failed = response([], None, status="failed", error=error)
    for body in (
        stream((message("x"), text_deltas(0, ["x"])), end=failed),
        (*text_deltas(0, ["x"]), b"event: error\n" + sse({"type": "error", "sequence_number": 1, **error})),
        (sse({"type": "error", "error": error}),),
        dumps(failed).encode(),
    ):
        with pytest.raises(ProviderError, match=r"It broke") as caught:
            await API.message([Reply(body)])
        assert type(caught.value) is expected


async def test_a_conversation_that_does_not_fit_is_an_overflow() -> None:
    with pytest.raises(ContextOverflow, match="maximum context length is 8192"):
        await API.message([Reply(dumps(OVERFLOW).encode(), status=400)])


async def test_an_answer_without_its_last_event_is_interrupted() -> None:
    with pytest.raises(Interrupted, match="before it was whole"):
        await API.message([Reply(COMMENTED[:-1])])


@pytest.mark.parametrize(
    ("model", "path"),
    [
        ("gpt-5.1", "/v1/chat/completions"),
        ("gpt-5", "/v1/chat/completions"),
        ("gpt-4o", "/v1/chat/completions"),
        ("gpt-5-pro-2025-10-06", "/v1/responses"),
        ("gpt-5.1-codex-max", "/v1/responses"),
        ("gpt-5.6-sol", "/v1/responses"),
        ("gpt-6-astra", "/v1/responses"),
        ("o3-pro", "/v1/responses"),
    ],
)
async def test_the_vendor_file_knows_which_models_need_this_api(tmp_path: Path, model: str, path: str) -> None:
    async with ModelServer() as server:
        environ = {"HOME": str(tmp_path), "OPENAI_BASE_URL": server.url, "OPENAI_MODEL": model}
        chosen = settings.load({}, environ)
        provider = vendors.create(vendors.load("openai", chosen), chosen)
        await ask(provider)
        await provider.aclose()
        assert server.requests[0].path == path
