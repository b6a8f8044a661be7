"""A round's question as the body of an OpenAI chat-completions request.

Format: https://platform.openai.com/docs/api-reference/chat/create.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from marvin_server.messages import Image, Message, Text, ToolCall, ToolResult, ToolSpec
from marvin_server.providers.base import ModelRequest
from marvin_server.providers.past_calls import arguments, tool_name
from marvin_server.providers.wire_json import dump

Item = Mapping[str, Any]

_ECHOED = ("reasoning_content", "reasoning_details")


def encode(request: ModelRequest, *, provider: str, model: str, quirks: Sequence[str]) -> bytes:
    """The JSON body of ``request``.

    What ``provider`` itself left in ``Message.vendor`` goes back to it. Quirks: ``no_stream_options`` and
    ``no_json_schema`` leave out what the vendor refuses, ``reasoning_object`` asks for effort as OpenRouter wants it.
    """
    body: dict[str, Any] = {"model": model, "messages": list(_messages(request, provider)), "stream": True}
    if "no_stream_options" not in quirks:
        body["stream_options"] = {"include_usage": True}
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    if request.output_schema is not None and "no_json_schema" not in quirks:
        schema = {"name": "answer", "schema": request.output_schema}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    if request.effort is not None:
        effort = {"effort": request.effort}
        body |= {"reasoning": effort} if "reasoning_object" in quirks else {"reasoning_effort": request.effort}
    return dump(body)


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
    vendor = message.vendor or {} if message.provider == provider else {}
    extras: Mapping[str, Any] = vendor.get("tool_calls", {})
    item: dict[str, Any] = {"role": "assistant", "content": message.text or None}
    if message.tool_calls:
        item["tool_calls"] = [_call(call, extras.get(call.id, {})) for call in message.tool_calls]
    # An assistant message of thoughts alone has nothing that a vendor would accept.
    if message.text or message.tool_calls:
        yield item | {field: vendor[field] for field in _ECHOED if field in vendor}


def _call(call: ToolCall, extra: Item) -> Item:
    function = {"name": tool_name(call.name), "arguments": arguments(call.arguments)}
    return {"id": call.id, "type": "function", "function": function, **extra}


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
