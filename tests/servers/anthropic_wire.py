"""The Anthropic messages wire format, from the server's side.

Source: https://platform.claude.com/docs/en/api/messages/create and .../build-with-claude/streaming.
"""

import json
from collections.abc import Sequence
from typing import Any

from tests.servers.openai_wire import MODEL, dumps
from tests.servers.reply import Call, Said, Thought, Tokens, Wire

SIGNATURE = "c2lnbmF0dXJl"
USED = Tokens()
_ERRORS = {
    400: ("invalid_request_error", "messages: at least one message is required"),
    401: ("authentication_error", "invalid x-api-key"),
    403: ("permission_error", "Your API key does not have permission to use the specified resource."),
    404: ("not_found_error", "model: test-model"),
    413: ("request_too_large", "Request exceeds the maximum size"),
    429: ("rate_limit_error", "This request would exceed your organization's rate limit of 50 requests per minute."),
    500: ("api_error", "Internal server error"),
    504: ("timeout_error", "Request timed out"),
    529: ("overloaded_error", "Overloaded"),
}
OVERFLOW = {
    "type": "error",
    "error": {"type": "invalid_request_error", "message": "prompt is too long: 208310 tokens > 200000 maximum"},
    "request_id": "req_1",
}


def event(kind: str, **fields: object) -> bytes:
    """One server-sent event, named for its type."""
    return f"event: {kind}\ndata: {dumps({'type': kind, **fields})}\n\n".encode()


def block(start: dict[str, Any], *deltas: dict[str, Any], index: int = 0) -> tuple[bytes, ...]:
    """A content block as it is streamed."""
    return (
        event("content_block_start", index=index, content_block=start),
        *(event("content_block_delta", index=index, delta=delta) for delta in deltas),
        event("content_block_stop", index=index),
    )


def stream(*blocks: tuple[bytes, ...], stop: str = "end_turn", tokens: Tokens | None = USED) -> tuple[bytes, ...]:
    """A whole stream of these blocks, as events."""
    content: list[object] = []
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": MODEL, "content": content}
    told = {"usage": {**_usage(tokens), "output_tokens": 1}} if tokens else {}
    counted = {"usage": {"output_tokens": tokens.output}} if tokens else {}
    return (
        event("message_start", message={**head, **told}),
        event("ping"),
        *(one for each in blocks for one in each),
        event("message_delta", delta={"stop_reason": stop, "stop_sequence": None}, **counted),
        event("message_stop"),
    )


def text(*deltas: str, index: int = 0) -> tuple[bytes, ...]:
    """A block of text."""
    said = ({"type": "text_delta", "text": delta} for delta in deltas)
    return block({"type": "text", "text": ""}, *said, index=index)


def thought(*deltas: str, index: int = 0) -> tuple[bytes, ...]:
    """A block of thinking, with its signature last."""
    said = [{"type": "thinking_delta", "thinking": delta} for delta in deltas]
    signature = {"type": "signature_delta", "signature": SIGNATURE}
    return block({"type": "thinking", "thinking": "", "signature": ""}, *said, signature, index=index)


def tool_use(call: Call, index: int = 0) -> tuple[bytes, ...]:
    """A block that asks for a tool; its arguments come in fragments."""
    size = -(-len(call.arguments) // call.fragments) or 1
    pieces = [call.arguments[at : at + size] for at in range(0, len(call.arguments), size)]
    said = ({"type": "input_json_delta", "partial_json": piece} for piece in ["", *pieces])
    return block({"type": "tool_use", "id": call.id, "name": call.name, "input": {}}, *said, index=index)


def _usage(tokens: Tokens) -> dict[str, int]:
    return {
        "input_tokens": tokens.input - tokens.cached,
        "cache_read_input_tokens": tokens.cached,
        "cache_creation_input_tokens": 0,
        "output_tokens": tokens.output,
    }


def _stop(said: Said) -> str:
    return said.finish or ("tool_use" if said.calls else "end_turn")


def _events(said: Said, _body: Any) -> Sequence[bytes]:
    texts = [part for part in said.parts if isinstance(part, str)]
    blocks: list[tuple[bytes, ...]] = []
    if said.thoughts:
        blocks.append(thought(*(part.text for part in said.parts if isinstance(part, Thought))))
    if texts:
        blocks.append(text(*texts, index=len(blocks)))
    for call in said.calls:
        blocks.append(tool_use(call, len(blocks)))
    return stream(*blocks, stop=_stop(said), tokens=said.tokens)


def _whole(said: Said, _body: Any) -> bytes:
    content: list[dict[str, Any]] = []
    if said.thoughts:
        content.append({"type": "thinking", "thinking": said.thoughts, "signature": SIGNATURE})
    if said.text:
        content.append({"type": "text", "text": said.text})
    content += (
        {"type": "tool_use", "id": call.id, "name": call.name, "input": json.loads(call.arguments)}
        for call in said.calls
    )
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": MODEL, "content": content}
    usage = {"usage": _usage(said.tokens)} if said.tokens else {}
    return dumps({**head, "stop_reason": _stop(said), "stop_sequence": None, **usage}).encode()


def _error(status: int) -> bytes:
    kind, message = _ERRORS.get(status, ("api_error", "Something went wrong."))
    return dumps({"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}).encode()


def _streams(body: Any) -> bool:
    return bool(body.get("stream"))


WIRE = Wire("/messages", "text/event-stream", _events, _whole, _error, _streams)
