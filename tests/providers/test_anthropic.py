import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from marvin_server import settings
from marvin_server.errors import Auth, BadRequest, ContextOverflow, Overloaded, ProviderError, RateLimited
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
from marvin_server.providers import vendors
from marvin_server.providers.anthropic_body import encode
from marvin_server.providers.base import ModelRequest
from tests.providers.published_types import check_anthropic
from tests.providers.wire_apis import ANTHROPIC as API
from tests.providers.wire_apis import ASK, FOUND, READ, TOOLS, ask
from tests.servers.anthropic_wire import OVERFLOW, SIGNATURE, block, event, stream, text, thought, tool_use
from tests.servers.model_server import ModelServer
from tests.servers.openai_wire import dumps
from tests.servers.reply import CALL, OTHER_CALL, Reply, Said, Tokens

CACHED = {"cache_control": {"type": "ephemeral"}}


async def history_of(*history: Message, tools: Sequence[ToolSpec] = TOOLS, system: str = ASK.system) -> list[Any]:
    """The messages as they are sent, without cache breakpoints."""
    body = await API.body(ModelRequest(system, history, tools))
    for turn in body["messages"]:
        for content in turn["content"]:
            content.pop("cache_control", None)
    return body["messages"]


def said(*texts: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": one} for one in texts]


@pytest.mark.parametrize("path", ["", "/", "/v1", "/v1/", "/v1/messages", "/anthropic", "/anthropic/v1"])
async def test_the_address_may_be_given_with_or_without_its_version(path: str) -> None:
    async with ModelServer() as server, API.connected(f"{server.origin}{path}?beta=1") as provider:
        await ask(provider)
        (sent,) = server.requests
    prefix = "/anthropic" if "anthropic" in path else ""
    assert sent.path == f"{prefix}/v1/messages?beta=1"
    assert (sent.headers["x-api-key"], sent.headers["anthropic-version"]) == ("sk-secret", "2023-06-01")
    assert "authorization" not in sent.headers


async def test_a_request_carries_the_conversation_the_tools_and_the_cache_breakpoints() -> None:
    picture = Image("image/png", "iVBORw0=")
    grep = ToolCall("call.2", "a.b", "{")
    history = [
        Message("user", (Text("What is this?"), picture)),
        Message("assistant", (Thinking("Hm"), Text("I look."), READ, grep)),
        Message(
            "tool",
            (
                ToolResult("call_1", "read_file", "", images=(picture,)),
                ToolResult("call.2", "a.b", "no", "denied", images=(picture,)),
            ),
        ),
        user_message("and now?"),
    ]
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0="}}
    assert await API.body(ModelRequest("You are Marvin.\n\nBe brief.\n\nToday.", history, TOOLS, stable=26)) == {
        "model": "acme-1",
        "max_tokens": 8192,
        "stream": True,
        "tools": [{"name": "read_file", "description": "Read a file.", "input_schema": {"type": "object"}}],
        "system": [
            {"type": "text", "text": "You are Marvin.\n\nBe brief.", **CACHED},
            {"type": "text", "text": "\n\nToday."},
        ],
        "messages": [
            {"role": "user", "content": [*said("What is this?"), {**image, **CACHED}]},
            {
                "role": "assistant",
                "content": [
                    *said("I look."),
                    {"type": "tool_use", "id": "call_1", "name": "read_file", "input": {"path": "README.md"}},
                    {"type": "tool_use", "id": "call_2", "name": "a_b", "input": {"not_an_object": "{"}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "call_1", "content": [*said("(empty)"), image]},
                    {"type": "tool_result", "tool_use_id": "call_2", "content": said("no"), "is_error": True},
                    {**said("and now?")[0], **CACHED},
                ],
            },
        ],
    }


async def test_the_user_has_the_first_and_the_last_word_and_nobody_speaks_twice_in_a_row() -> None:
    assistant = Message("assistant", (Text("So "),), finish="interrupted")
    assert await history_of(assistant) == [
        {"role": "user", "content": said("Go on.")},
        {"role": "assistant", "content": said("So ")},
        {"role": "user", "content": said("Go on.")},
    ]
    assert await history_of(user_message("a"), user_message("b"), assistant, assistant, user_message("c")) == [
        {"role": "user", "content": said("a", "b")},
        {"role": "assistant", "content": said("So ", "So ")},
        {"role": "user", "content": said("c")},
    ]


async def test_blank_texts_are_not_sent() -> None:
    blank = Message("assistant", (Thinking("x"), Text("\n")))
    assert await history_of(user_message("a"), blank, user_message(" "), user_message("b")) == [
        {"role": "user", "content": said("a", "b")}
    ]


async def test_a_system_prompt_may_be_short_or_absent() -> None:
    assert (await API.body(replace(ASK, system="Be brief.")))["system"] == [
        {"type": "text", "text": "Be brief.", **CACHED}
    ]
    assert "system" not in await API.body(replace(ASK, system=""))


async def test_tools_that_were_called_stay_named_when_none_may_be_called() -> None:
    history = [user_message("hi"), Message("assistant", (READ,)), FOUND]
    body = await API.body(ModelRequest("", history, ()))
    assert body["tools"] == [{"name": "read_file", "input_schema": {"type": "object"}}]
    assert body["tool_choice"] == {"type": "none"}
    assert {"tools", "tool_choice"}.isdisjoint(await API.body(replace(ASK, tools=())))


@pytest.mark.parametrize(
    ("thinking", "effort", "expected"),
    [
        ("adaptive", None, {}),
        ("adaptive", "none", {"output_config": {"effort": "low"}}),
        (
            "adaptive",
            "medium",
            {"output_config": {"effort": "medium"}, "thinking": {"type": "adaptive", "display": "summarized"}},
        ),
        ("budget", "low", {"thinking": {"type": "enabled", "budget_tokens": 4000}}),
        ("budget", "high", {"thinking": {"type": "enabled", "budget_tokens": 16000}}),
        ("budget", "none", {}),
        ("budget", None, {}),
        (None, "high", {}),
    ],
)
async def test_a_model_is_asked_to_think_in_its_own_way(
    thinking: str | None, effort: Any, expected: Mapping[str, Any]
) -> None:
    body = await API.body(replace(ASK, effort=effort), thinking=thinking, max_output=32_000)
    assert {name: body[name] for name in ("output_config", "thinking") if name in body} == expected


async def test_a_model_with_a_budget_does_not_begin_to_think_between_another_vendors_calls() -> None:
    history = [user_message("hi"), Message("assistant", (READ,)), FOUND]
    request = replace(ASK, history=history, effort="high")
    assert "thinking" not in await API.body(request, thinking="budget")
    later = replace(request, history=[*history, Message("assistant", (Text("Done."),)), user_message("next")])
    assert "thinking" in await API.body(later, thinking="budget")


THOUGHTFUL = stream(
    thought("Hm", index=0),
    block({"type": "redacted_thinking", "data": "b3BhcXVl"}, index=1),
    text("I look.", index=2),
    thought(index=3),
    tool_use(CALL, index=4),
    stop="tool_use",
)
SENT_BACK = [
    {"type": "thinking", "thinking": "Hm", "signature": SIGNATURE},
    {"type": "redacted_thinking", "data": "b3BhcXVl"},
    *said("I look."),
    {"type": "thinking", "thinking": "", "signature": SIGNATURE},
    {"type": "tool_use", "id": "call_1", "name": "read_file", "input": {"path": "README.md"}},
]


async def test_signed_thoughts_go_back_unchanged_and_in_their_places() -> None:
    reply = await API.message([Reply(THOUGHTFUL)])
    assert reply.parts == (Thinking("Hm"), Text("I look."), READ)
    later = Message("assistant", (Text("Done."),))
    sent = await history_of(*ASK.history, reply, FOUND, later, user_message("next"))
    assert sent[1]["content"] == SENT_BACK


@pytest.mark.parametrize("change", ["provider", "system", "tools", "history", "cut"])
async def test_a_thought_stays_away_once_what_came_before_it_has_changed(change: str) -> None:
    reply = await API.message([Reply(THOUGHTFUL)])
    history = [*ASK.history, replace(reply, provider="other") if change == "provider" else reply, FOUND]
    if change == "history":
        history[0] = user_message("hello")
    if change == "cut":
        # What a limit of rounds leaves of a message: the call is gone, and with it the thought that led to it.
        history[1:] = [replace(reply, parts=reply.parts[:-1])]
    tools = TOOLS * 2 if change == "tools" else TOOLS
    sent = await history_of(*history, tools=tools, system="Other." if change == "system" else ASK.system)
    kept = SENT_BACK[:3] if change == "cut" else [SENT_BACK[2], SENT_BACK[4]]
    assert sent[1]["content"] == kept


async def test_thoughts_without_a_signature_do_not_go_back() -> None:
    unsigned = block({"type": "thinking", "thinking": ""}, {"type": "thinking_delta", "thinking": "Hm"})
    reply = await API.message([Reply(stream(unsigned, text("Yes.", index=1)))])
    assert (reply.parts, reply.vendor) == ((Thinking("Hm"), Text("Yes.")), None)


@pytest.mark.parametrize(
    ("stop", "finish"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("pause_turn", "stop"),
        ("because", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("refusal", "filtered"),
    ],
)
async def test_the_stop_reason_decides_the_finish(stop: str, finish: str) -> None:
    assert (await API.message([Reply(Said(("x",), finish=stop))])).finish == finish


@pytest.mark.parametrize("explanation", ["This looks like malware.", None])
async def test_a_refusal_without_a_word_says_why(explanation: str | None) -> None:
    details = {"type": "refusal", "category": "cyber", "explanation": explanation}
    head, *_, end = stream()
    stop = event("message_delta", delta={"stop_reason": "refusal", "stop_details": details})
    reply = await API.message([Reply((head, stop, end))])
    assert (reply.text, reply.finish) == (explanation or "The model declined to answer.", "filtered")


async def test_usage_counts_all_of_the_prompt_and_the_last_word_on_each_number() -> None:
    first = {"input_tokens": 3, "cache_read_input_tokens": 40, "cache_creation_input_tokens": 5, "output_tokens": 1}
    counted = {"output_tokens": 7, "input_tokens": 4, "cache_read_input_tokens": None}
    events = (
        event("message_start", message={"model": "acme-1-2026", "usage": first}),
        *text("x"),
        event("message_delta", delta={"stop_reason": "end_turn"}, usage=counted),
        event("message_stop"),
    )
    reply = await API.message([Reply(events)])
    assert (reply.model, reply.usage) == ("acme-1-2026", Usage(input=49, output=7, cache_read=40, cache_write=5))


async def test_citations_server_tools_and_unknown_events_are_passed_over() -> None:
    citation = {"type": "citations_delta", "citation": {"type": "char_location", "cited_text": "y"}}
    search: dict[str, Any] = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    said_so = {"type": "text_delta", "text": "x"}
    blocks = (
        block({"type": "text", "text": ""}, said_so, citation),
        block(search, {"type": "input_json_delta", "partial_json": "{}"}, index=1),
        (event("novelty", index=9),),
        text("y", index=2),
    )
    assert (await API.message([Reply(stream(*blocks))])).parts == (Text("xy"),)


async def test_blocks_may_lack_their_ends_and_tools_their_ids() -> None:
    blocks = (tool_use(CALL)[:-1], tool_use(OTHER_CALL, 1)[:-1])
    nameless = block({"type": "tool_use", "name": "now", "input": {"zone": "UTC"}}, index=2)
    first, second, third = (await API.message([Reply(stream(*blocks, nameless))])).tool_calls
    assert (first, second) == (READ, ToolCall("call_2", OTHER_CALL.name, OTHER_CALL.arguments))
    assert (third.name, json.loads(third.arguments), third.id != "") == ("now", {"zone": "UTC"}, True)


@pytest.mark.parametrize(
    ("kind", "message", "expected", "status"),
    [
        ("overloaded_error", "Overloaded", Overloaded, 529),
        ("rate_limit_error", "Slow down", RateLimited, 429),
        ("authentication_error", "invalid x-api-key", Auth, 401),
        ("not_found_error", "model: acme-9", BadRequest, 404),
        ("api_error", "Internal server error", Overloaded, 500),
        ("invalid_request_error", "prompt is too long: 2 tokens > 1 maximum", ContextOverflow, 400),
        (
            "invalid_request_error",
            "input length and `max_tokens` exceed context limit: 9 + 1 > 9",
            ContextOverflow,
            400,
        ),
        ("invalid_request_error", "messages: wrong", BadRequest, 400),
    ],
)
async def test_an_error_within_the_stream_is_of_its_kind(
    kind: str, message: str, expected: type[ProviderError], status: int
) -> None:
    broken = (*text("x"), event("error", error={"type": kind, "message": message}))
    with pytest.raises(ProviderError) as caught:
        await API.message([Reply(broken)])
    assert (type(caught.value), caught.value.status) == (expected, status)
    assert f"answered {status}: {message}" in str(caught.value)


async def test_a_prompt_that_is_too_long_is_an_overflow() -> None:
    with pytest.raises(ContextOverflow, match="prompt is too long: 208310 tokens"):
        await API.message([Reply(dumps(OVERFLOW).encode(), status=400)])


@pytest.mark.parametrize(
    ("schema", "taken"),
    [
        ({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": False}, True),
        ({"type": "array", "items": {"anyOf": [{"type": "null"}, {"enum": [1, 2]}]}}, True),
        ({"type": "object", "properties": {"a": {"type": "string"}}}, False),
        ({"type": ["object", "null"], "properties": {}}, False),
        ({"type": "array", "items": True}, False),
        ({"type": "integer", "minimum": 1}, False),
        ({"type": "array", "items": {"type": "object"}}, False),
        ({"$defs": {"a": {"type": "string", "minLength": 1}}, "$ref": "#/$defs/a"}, False),
    ],
)
async def test_an_output_schema_is_sent_where_the_vendor_takes_it(schema: Mapping[str, Any], taken: bool) -> None:
    request = replace(ASK, output_schema=schema)
    expected = {"format": {"type": "json_schema", "schema": schema}} if taken else None
    assert (await API.body(request)).get("output_config") == expected
    assert "output_config" not in await API.body(request, quirks=["no_json_schema"])


@pytest.mark.parametrize(
    ("model", "max_output", "thinking"),
    [
        ("claude-sonnet-5-5", 128_000, {"type": "adaptive", "display": "summarized"}),
        ("claude-haiku-4-5-20251001", 64_000, {"type": "enabled", "budget_tokens": 4000}),
        ("acme-1", 8192, None),
    ],
)
async def test_the_vendor_file_knows_what_each_model_takes(
    tmp_path: Path, model: str, max_output: int, thinking: object
) -> None:
    async with ModelServer([Reply(Said(("x",), Tokens()))]) as server:
        environ = {"HOME": str(tmp_path), "ANTHROPIC_BASE_URL": server.origin, "ANTHROPIC_MODEL": model}
        chosen = settings.load({}, environ)
        provider = vendors.create(vendors.load("anthropic", chosen), chosen)
        await ask(provider, replace(ASK, effort="low"))
        await provider.aclose()
        body = server.requests[0].json
    assert (body["model"], body["max_tokens"], body.get("thinking")) == (model, max_output, thinking)


texts = st.text(max_size=5)
calls = st.builds(ToolCall, texts, texts, st.sampled_from(["{}", '{"a": [1]}', "[]", "", '{"a": NaN}', "{"]))
spoken = st.lists(st.one_of(st.builds(Text, texts), st.builds(Thinking, texts)), max_size=3)


@st.composite
def rounds(draw: st.DrawFn) -> list[Message]:
    """Any valid piece of a conversation: a prompt, and perhaps an answer with calls and their results."""
    prompt = user_message(draw(texts))
    asked = draw(st.lists(calls, max_size=3, unique_by=lambda call: call.id))
    parts: tuple[Part, ...] = (*draw(spoken), *asked)
    results = tuple(ToolResult(call.id, call.name, draw(texts)) for call in asked)
    answer = Message("assistant", parts)
    return draw(st.sampled_from([[prompt], [prompt, answer, Message("tool", results)] if asked else [answer]]))


@given(st.lists(rounds(), max_size=4))
def test_any_conversation_becomes_one_that_anthropic_takes(conversation: list[list[Message]]) -> None:
    history = [
        replace(message, parts=tuple(_numbered(part, number) for part in message.parts))
        for number, messages in enumerate(conversation)
        for message in messages
    ]
    request = ModelRequest("", history, TOOLS)
    body: Any = json.loads(encode(request, provider="acme", model="acme-1", max_output=1, thinking=None, quirks=())[0])
    check_anthropic(body)
    roles = [turn["role"] for turn in body["messages"]]
    assert roles == ["user", "assistant"] * (len(roles) // 2) + ["user"]
    wanted: list[str] = []
    for turn in body["messages"]:
        found = [content["tool_use_id"] for content in turn["content"] if content["type"] == "tool_result"]
        assert found == wanted
        assert [content["type"] for content in turn["content"][: len(found)]] == ["tool_result"] * len(found)
        assert all(content["text"].strip() for content in turn["content"] if content["type"] == "text")
        wanted = [content["id"] for content in turn["content"] if content["type"] == "tool_use"]


def _numbered(part: Part, number: int) -> Part:
    """The part with an id that no other round has."""
    match part:
        case ToolCall():
            return replace(part, id=f"{number}{part.id}")
        case ToolResult():
            return replace(part, call_id=f"{number}{part.call_id}")
        case _:
            return part
