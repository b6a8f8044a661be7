"""What endpoints that call themselves OpenAI-compatible really send: one named scenario for each oddity."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from tests.servers.openai_wire import DONE as END
from tests.servers.openai_wire import OVERFLOW, call_deltas, chunk, dumps, sse, stream, usage
from tests.servers.reply import CALL, DONE, GREETING, OTHER_CALL, Call, Reply, Scenario, Tokens

_ERROR = {"message": "Provider returned error", "code": 502, "metadata": {"provider_name": "Acme"}}


def _texts() -> list[dict[str, Any]]:
    return [{"content": part} for part in GREETING.parts]


def _whole_call(call: Call = CALL, **more: object) -> dict[str, Any]:
    """A tool call in one delta, without its index."""
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}, **more}


def _calls(*wanted: dict[str, Any], finish: str = "tool_calls") -> Scenario:
    return [Reply(stream(*({"tool_calls": [call]} for call in wanted), finish=finish)), Reply(DONE)]


def _says(*events: bytes) -> Scenario:
    return [Reply(events)]


def _with_comments() -> Scenario:
    first, *rest = stream(*_texts())
    return _says(b": OPENROUTER PROCESSING\n\n", b": OPENROUTER PROCESSING\n\n", first, b":\n\n", b": ping\n", *rest)


def _with_pings() -> Scenario:
    first, *rest = stream(*_texts())
    return _says(b'event: ping\ndata: {"type": "ping"}\n\n', first, b"event: ping\ndata:\n\n", *rest)


def _with_fields() -> Scenario:
    return _says(*(b"id: 7\nevent: message\nretry: 3000\nvendor: acme\n" + event for event in stream(*_texts())))


def _multi_line() -> Scenario:
    *events, end = stream(*_texts())
    pretty = (json.dumps(json.loads(event[6:]), indent=1, ensure_ascii=False).encode() for event in events)
    return _says(*(b"data: " + text.replace(b"\n", b"\ndata: ") + b"\n\n" for text in pretty), end)


def _without_space() -> Scenario:
    return _says(*(event.replace(b"data: ", b"data:", 1) for event in stream(*_texts())))


def _without_done() -> Scenario:
    return _says(*stream(*_texts())[:-1])


def _without_finish() -> Scenario:
    return _says(*(sse(chunk(delta)) for delta in _texts()), END)


def _content_null() -> Scenario:
    return _says(*stream({"role": "assistant", "content": None}, *_texts(), {"content": None}))


def _usage_beside_no_choice() -> Scenario:
    *events, end = stream(*_texts())
    return _says(sse(chunk(None, prompt_filter_results=[])), *events, sse(chunk(None, usage=usage(Tokens()))), end)


def _usage_beside_finish() -> Scenario:
    texts = (sse(chunk(delta, usage=None)) for delta in _texts())
    return _says(*texts, sse(chunk({}, "stop", usage=usage(Tokens()))), END)


def _usage_in_every_chunk() -> Scenario:
    counts = [Tokens(output=number) for number in (1, 3, 5)]
    texts = (sse(chunk(delta, usage=usage(tokens))) for delta, tokens in zip(_texts(), counts, strict=True))
    return _says(*texts, sse(chunk({}, "stop", usage=usage(Tokens()))), END)


def _thoughts(field: str) -> Scenario:
    return _says(*stream({field: "Let me "}, {field: "think.", "content": ""}, *_texts()))


def _interleaved() -> Scenario:
    first, second = call_deltas(CALL, 0), call_deltas(OTHER_CALL, 1)
    mixed = [delta for pair in zip(first, second, strict=False) for delta in pair]
    return [Reply(stream(*mixed, *first[len(second) :], finish="tool_calls")), Reply(DONE)]


def _id_in_every_fragment() -> Scenario:
    opening, *fragments = call_deltas(CALL, 0)
    named = [{"tool_calls": [{**delta["tool_calls"][0], "id": CALL.id}]} for delta in fragments]
    return [Reply(stream(opening, *named, finish="tool_calls")), Reply(DONE)]


def _two_at_index_zero() -> Scenario:
    return _calls(_whole_call(index=0), _whole_call(OTHER_CALL, index=0))


def _without_id() -> Scenario:
    return _calls({"index": 0, "function": {"name": CALL.name, "arguments": CALL.arguments}})


def _empty_id() -> Scenario:
    return _calls(_whole_call(index=0, id=""))


def _arguments_as_object() -> Scenario:
    return _calls(_whole_call(index=0, function={"name": CALL.name, "arguments": json.loads(CALL.arguments)}))


def _error_in_chunk() -> Scenario:
    return _says(sse(chunk(_texts()[0])), sse(chunk({"content": ""}, "error", error=_ERROR)))


def _error_event() -> Scenario:
    return _says(sse(chunk(_texts()[0])), b"event: error\n" + sse({"error": _ERROR}), END)


def _bare_error() -> Scenario:
    return _says(sse({"error": _ERROR}))


def _overflow_in_stream() -> Scenario:
    return _says(sse(OVERFLOW))


def _not_json_chunk() -> Scenario:
    return _says(sse(chunk(_texts()[0])), sse("{not json"), END)


SCENARIOS: Mapping[str, Callable[[], Scenario]] = {
    "comments": _with_comments,
    "pings": _with_pings,
    "other-fields": _with_fields,
    "multi-line-data": _multi_line,
    "no-space-after-colon": _without_space,
    "no-done": _without_done,
    "no-finish-reason": _without_finish,
    "content-null": _content_null,
    "usage-without-choices": _usage_beside_no_choice,
    "usage-beside-finish": _usage_beside_finish,
    "usage-in-every-chunk": _usage_in_every_chunk,
    "reasoning": lambda: _thoughts("reasoning"),
    "reasoning-content": lambda: _thoughts("reasoning_content"),
    "tool-call-whole": lambda: _calls(_whole_call(index=0)),
    "tool-call-no-index": lambda: _calls(_whole_call()),
    "two-tool-calls-no-index": lambda: _calls(_whole_call(), _whole_call(OTHER_CALL)),
    "two-tool-calls-index-zero": _two_at_index_zero,
    "two-tool-calls-interleaved": _interleaved,
    "tool-call-no-id": _without_id,
    "tool-call-empty-id": _empty_id,
    "tool-call-id-in-every-fragment": _id_in_every_fragment,
    "tool-call-finish-stop": lambda: _calls(_whole_call(index=0), finish="stop"),
    "arguments-as-object": _arguments_as_object,
    "error-in-chunk": _error_in_chunk,
    "error-event": _error_event,
    "error-first": _bare_error,
    "not-json-chunk": _not_json_chunk,
    "overflow": lambda: [Reply(dumps(OVERFLOW).encode(), status=400, content_type="application/json")],
    "overflow-in-stream": _overflow_in_stream,
}
