"""The OpenAI chat-completions wire format, from the server's side.

Source: https://platform.openai.com/docs/api-reference/chat/create and .../chat/streaming.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tests.servers.reply import Call, Said, Thought, Tokens, Wire

MODEL = "test-model"
_ERRORS = {
    400: ("invalid_request_error", None, "Invalid value for 'messages'."),
    401: ("invalid_request_error", "invalid_api_key", "Incorrect API key provided: sk-wrong."),
    403: ("permission_error", None, "You are not allowed to sample from this model."),
    404: ("invalid_request_error", "model_not_found", "The model `test-model` does not exist."),
    408: ("timeout", None, "Request timed out."),
    409: ("conflict_error", None, "The resource was changed by another request."),
    413: ("invalid_request_error", "request_too_large", "Request exceeds the maximum size."),
    422: ("invalid_request_error", None, "Unprocessable entity: 'tools' is malformed."),
    429: ("requests", "rate_limit_exceeded", "Rate limit reached for requests."),
    500: ("server_error", None, "The server had an error while processing your request."),
    502: ("server_error", None, "Bad gateway."),
    503: ("server_error", "service_unavailable", "The engine is currently overloaded."),
    529: ("overloaded_error", None, "Overloaded."),
}
OVERFLOW = {
    "error": {
        "message": "This model's maximum context length is 8192 tokens. However, your messages resulted in "
        "9001 tokens. Please reduce the length of the messages.",
        "type": "invalid_request_error",
        "param": "messages",
        "code": "context_length_exceeded",
    }
}


def dumps(value: object) -> str:
    """Compact JSON, beyond ASCII as it is."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def sse(payload: object) -> bytes:
    """One server-sent event; a ``str`` is sent as it is, anything else as JSON."""
    return f"data: {payload if isinstance(payload, str) else dumps(payload)}\n\n".encode()


DONE = sse("[DONE]")


def chunk(delta: Mapping[str, Any] | None, finish: str | None = None, **more: object) -> dict[str, Any]:
    """A ``chat.completion.chunk`` with one choice, or none when ``delta`` is None; ``more`` are further fields."""
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_700_000_000, "model": MODEL}
    return {**head, "choices": choices, **more}


def usage(tokens: Tokens) -> dict[str, Any]:
    """The ``usage`` object."""
    return {
        "prompt_tokens": tokens.input,
        "completion_tokens": tokens.output,
        "total_tokens": tokens.input + tokens.output,
        "prompt_tokens_details": {"cached_tokens": tokens.cached},
    }


def call_deltas(call: Call, index: int) -> list[dict[str, Any]]:
    """A tool call as the vendor streams it: id and name first, then the arguments, fragment by fragment."""
    size = -(-len(call.arguments) // call.fragments)
    opening = {"index": index, "id": call.id, "type": "function", "function": {"name": call.name, "arguments": ""}}
    pieces = [call.arguments[at : at + size] for at in range(0, len(call.arguments), size or 1)]
    return [
        {"tool_calls": [opening]},
        *({"tool_calls": [{"index": index, "function": {"arguments": piece}}]} for piece in pieces),
    ]


def stream(*deltas: Mapping[str, Any], finish: str = "stop") -> tuple[bytes, ...]:
    """A whole stream of these deltas, as events."""
    return (*(sse(chunk(delta)) for delta in deltas), sse(chunk({}, finish)), DONE)


def _finish(said: Said) -> str:
    return said.finish or ("tool_calls" if said.calls else "stop")


def _wants_usage(body: Any) -> bool:
    options: dict[str, Any] = body.get("stream_options") or {}
    return bool(options.get("include_usage"))


def _events(said: Said, body: Any) -> Sequence[bytes]:
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    for part in said.parts:
        match part:
            case str():
                deltas.append({"content": part})
            case Thought():
                deltas.append({"reasoning_content": part.text})
            case Call():
                deltas.extend(call_deltas(part, said.calls.index(part)))
    events = [*(sse(chunk(delta)) for delta in deltas), sse(chunk({}, _finish(said)))]
    if said.tokens and _wants_usage(body):
        events.append(sse(chunk(None, usage=usage(said.tokens))))
    return [*events, DONE]


def _whole(said: Said, _body: Any) -> bytes:
    message: dict[str, Any] = {"role": "assistant", "content": said.text or None}
    if said.thoughts:
        message["reasoning_content"] = said.thoughts
    if said.calls:
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in said.calls
        ]
    choice = {"index": 0, "message": message, "finish_reason": _finish(said)}
    head = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1_700_000_000, "model": MODEL}
    return dumps({**head, "choices": [choice], **({"usage": usage(said.tokens)} if said.tokens else {})}).encode()


def _error(status: int) -> bytes:
    kind, code, message = _ERRORS.get(status, ("server_error", None, "Something went wrong."))
    return dumps({"error": {"message": message, "type": kind, "param": None, "code": code}}).encode()


def _streams(body: Any) -> bool:
    return bool(body.get("stream"))


WIRE = Wire("/chat/completions", "text/event-stream", _events, _whole, _error, _streams)
