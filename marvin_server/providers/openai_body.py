"""A round's question as the body of an OpenAI chat-completions request.

Format: https://platform.openai.com/docs/api-reference/chat/create.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from marvin_server.messages import Image, Message, Text, ToolCall, ToolResult, ToolSpec
from marvin_server.providers.base import ModelRequest

Item = Mapping[str, Any]


def encode(request: ModelRequest, *, provider: str, model: str, quirks: Sequence[str]) -> bytes:
    """The JSON body of ``request``.

    What ``provider`` itself left in ``Message.vendor`` goes back to it. Unpaired surrogates, which JSON cannot carry,
    become U+FFFD. Quirks: ``no_stream_options`` and ``no_json_schema`` leave out what the vendor refuses.
    """
    body: dict[str, Any] = {"model": model, "messages": list(_messages(request, provider)), "stream": True}
    if "no_stream_options" not in quirks:
        body["stream_options"] = {"include_usage": True}
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    if request.output_schema is not None and "no_json_schema" not in quirks:
        schema = {"name": "answer", "schema": request.output_schema}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    try:
        return text.encode()
    except UnicodeEncodeError:
        return mend_surrogates(text).encode()


def mend_surrogates(text: str) -> str:
    """The text with pairs of surrogates made characters and unpaired ones U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _messages(request: ModelRequest, provider: str) -> Iterator[Item]:
    if request.system:
        yield {"role": "system", "content": request.system}
    for message in request.history:
        match message.role:
            case "user":
                yield {"role": "user", "content": _content(message)}
            case "assistant":
                yield from _assistant(message, provider)
            case "tool":
                yield from _results(message)


def _content(message: Message) -> str | list[Item]:
    if not any(isinstance(part, Image) for part in message.parts):
        return message.text
    content: list[Item] = []
    for part in message.parts:
        if isinstance(part, Text):
            content.append({"type": "text", "text": part.text})
        elif isinstance(part, Image):
            content.append(_image(part))
    return content


def _assistant(message: Message, provider: str) -> Iterator[Item]:
    vendor = dict(message.vendor or {}) if message.provider == provider else {}
    extras: Mapping[str, Any] = vendor.pop("tool_calls", {})
    item: dict[str, Any] = {"role": "assistant", "content": message.text or None}
    if message.tool_calls:
        item["tool_calls"] = [_call(call, extras.get(call.id, {})) for call in message.tool_calls]
    # An assistant message of thoughts alone has nothing that a vendor would accept.
    if message.text or message.tool_calls:
        yield item | vendor


def _call(call: ToolCall, extra: Item) -> Item:
    function = {"name": re.sub(r"[^A-Za-z0-9_-]", "_", call.name) or "unknown", "arguments": _arguments(call.arguments)}
    return {"id": call.id, "type": "function", "function": function, **extra}


def _arguments(text: str) -> str:
    """Arguments as vendors accept them back: the model's own text, in an object of one field if it is not an object."""
    try:
        if isinstance(json.loads(text), dict):
            return text
    except (ValueError, RecursionError):
        pass
    return json.dumps({"not_an_object": text}, ensure_ascii=False)


def _results(message: Message) -> Iterator[Item]:
    """One item for each result. Their pictures follow in a user message, the only kind that may hold any."""
    pictures: list[Item] = []
    for part in message.parts:
        if isinstance(part, ToolResult):
            yield {"role": "tool", "tool_call_id": part.call_id, "content": part.text or "(empty)"}
            if part.images:
                pictures += [{"type": "text", "text": f"Pictures from {part.name}:"}, *map(_image, part.images)]
    if pictures:
        yield {"role": "user", "content": pictures}


def _image(image: Image) -> Item:
    return {"type": "image_url", "image_url": {"url": f"data:{image.mime_type};base64,{image.data}"}}


def _tool(tool: ToolSpec) -> Item:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}
