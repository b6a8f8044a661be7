"""The OpenAI responses wire format, from the server's side.

Source: https://platform.openai.com/docs/api-reference/responses/create and .../responses-streaming.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from tests.servers import openai_wire
from tests.servers.openai_wire import MODEL, dumps
from tests.servers.reply import Call, Said, Tokens, Wire

Item = dict[str, Any]
USED = Tokens()


def event(kind: str, **fields: object) -> bytes:
    """One server-sent event, named for its type, which begins with ``response.``."""
    return f"event: response.{kind}\ndata: {dumps({'type': f'response.{kind}', **fields})}\n\n".encode()


def response(output: Sequence[Item], tokens: Tokens | None = USED, **more: object) -> Item:
    """A ``response`` object; ``more`` replaces its fields."""
    usage = None
    if tokens:
        usage = {
            "input_tokens": tokens.input,
            "input_tokens_details": {"cached_tokens": tokens.cached, "cache_write_tokens": 0},
            "output_tokens": tokens.output,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": tokens.input + tokens.output,
        }
    head = {"id": "resp_1", "object": "response", "created_at": 1_700_000_000, "model": MODEL, "status": "completed"}
    return {**head, "error": None, "incomplete_details": None, "output": list(output), "usage": usage, **more}


def message(text: str, **more: object) -> Item:
    """A ``message`` item."""
    annotations: list[object] = []
    content = [{"type": "output_text", "text": text, "annotations": annotations}]
    return {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": content, **more}


def reasoning(*summary: str, encrypted: str | None = "ZW5jcnlwdGVk") -> Item:
    """A ``reasoning`` item."""
    texts = [{"type": "summary_text", "text": text} for text in summary]
    return {"id": "rs_1", "type": "reasoning", "summary": texts, "content": None, "encrypted_content": encrypted}


def function_call(call: Call) -> Item:
    """A ``function_call`` item."""
    head = {"id": f"fc_{call.id}", "type": "function_call", "status": "completed", "call_id": call.id}
    return {**head, "name": call.name, "arguments": call.arguments}


def stream(*items: tuple[Item, Sequence[bytes]], end: Item | None = None) -> tuple[bytes, ...]:
    """A whole stream of these items, each with the events between its beginning and its end."""
    last = end or response([item for item, _ in items])
    return (
        event("created", response={**last, "status": "in_progress", "output": [], "usage": None}),
        event("in_progress", response={**last, "status": "in_progress", "output": [], "usage": None}),
        *(one for index, (item, deltas) in enumerate(items) for one in _item(index, item, deltas)),
        event("completed" if last["status"] == "completed" else str(last["status"]), response=last),
    )


def text_deltas(index: int, deltas: Sequence[str], kind: str = "output_text") -> list[bytes]:
    """The events of a text that is streamed, and its end."""
    place = {"item_id": f"item_{index}", "output_index": index, "content_index": 0}
    said = [event(f"{kind}.delta", **place, delta=delta) for delta in deltas]
    return [*said, event(f"{kind}.done", **place, text="".join(deltas))]


def argument_deltas(index: int, call: Call) -> list[bytes]:
    """The events of arguments that are streamed in fragments."""
    size = -(-len(call.arguments) // call.fragments) or 1
    pieces = [call.arguments[at : at + size] for at in range(0, len(call.arguments), size)]
    place = {"item_id": f"item_{index}", "output_index": index}
    said = [event("function_call_arguments.delta", **place, delta=piece) for piece in pieces]
    return [*said, event("function_call_arguments.done", **place, arguments=call.arguments)]


def _item(index: int, item: Item, deltas: Sequence[bytes]) -> Iterator[bytes]:
    begun = {**item, "status": "in_progress"}
    begun |= {"arguments": ""} if "arguments" in item else {}
    begun |= {"content": []} if item["type"] == "message" else {}
    yield event("output_item.added", output_index=index, item=begun)
    yield from deltas
    yield event("output_item.done", output_index=index, item=item)


def _items(said: Said) -> Iterator[tuple[Item, list[bytes]]]:
    index = 0
    if said.thoughts:
        thoughts = [part.text for part in said.parts if not isinstance(part, str | Call)]
        place = {"item_id": "item_0", "output_index": 0, "summary_index": 0}
        part = event("reasoning_summary_part.added", **place, part={"type": "summary_text", "text": ""})
        deltas = [event("reasoning_summary_text.delta", **place, delta=thought) for thought in thoughts]
        yield reasoning(said.thoughts), [part, *deltas]
        index += 1
    if said.text:
        texts = [part for part in said.parts if isinstance(part, str)]
        yield message(said.text), text_deltas(index, texts)
        index += 1
    for call in said.calls:
        yield function_call(call), argument_deltas(index, call)
        index += 1


def _end(said: Said) -> Item:
    output = [item for item, _ in _items(said)]
    if said.finish:
        return response(output, said.tokens, status="incomplete", incomplete_details={"reason": said.finish})
    return response(output, said.tokens)


def _events(said: Said, _body: Any) -> Sequence[bytes]:
    return stream(*_items(said), end=_end(said))


def _whole(said: Said, _body: Any) -> bytes:
    return dumps(_end(said)).encode()


def _streams(body: Any) -> bool:
    return bool(body.get("stream"))


WIRE = Wire("/responses", "text/event-stream", _events, _whole, openai_wire.WIRE.error, _streams)
