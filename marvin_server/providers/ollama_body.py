"""A round's question as the body of an Ollama chat request.

Format: https://github.com/ollama/ollama/blob/main/docs/api.md#generate-a-chat-completion; ``truncate`` and ``shift``
are in Ollama's api/types.go alone.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from marvin_server.messages import Image, Message, Thinking, ToolResult, ToolSpec
from marvin_server.providers.base import ModelRequest
from marvin_server.providers.past_calls import arguments_object
from marvin_server.providers.wire_json import dump

Think = bool | str


def encode(request: ModelRequest, *, provider: str, model: str, context: int | None, think: Think | None) -> bytes:
    """The JSON body of ``request``; ``context`` is the size to run the model with, in tokens, None leaves it as it is.

    A conversation that is too long is to be an error, not cut silently: hence ``truncate`` and ``shift``, which
    servers before 0.12.6 ignore. ``format`` is a grammar that rules tool calls out, so it is sent in a round without
    tools alone. Unpaired surrogates, which JSON cannot carry, become U+FFFD.
    """
    body: dict[str, Any] = {
        "model": model,
        "messages": list(_messages(request, provider)),
        "stream": True,
        "truncate": False,
        "shift": False,
    }
    if context is not None:
        body["options"] = {"num_ctx": context}
    if think is not None:
        body["think"] = think
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    elif request.output_schema is not None:
        body["format"] = request.output_schema
    return dump(body)


def _messages(request: ModelRequest, provider: str) -> Iterator[Mapping[str, Any]]:
    if request.system:
        yield {"role": "system", "content": request.system}
    for message in request.history:
        match message.role:
            case "user":
                yield {"role": "user", "content": message.text, **_images(_pictures(message))}
            case "assistant":
                yield from _assistant(message, provider)
            case "tool":
                for part in message.parts:
                    if isinstance(part, ToolResult):
                        yield {"role": "tool", "tool_name": part.name, "content": part.text, **_images(part.images)}


def _assistant(message: Message, provider: str) -> Iterator[Mapping[str, Any]]:
    """A model that reasons between tool calls wants its own thoughts back; another's mean nothing to it."""
    item: dict[str, Any] = {"role": "assistant", "content": message.text}
    if message.provider == provider:
        item["thinking"] = "".join(part.text for part in message.parts if isinstance(part, Thinking))
    if message.tool_calls:
        item["tool_calls"] = [
            {"function": {"name": call.name, "arguments": arguments_object(call.arguments)}}
            for call in message.tool_calls
        ]
    if message.text or message.tool_calls:
        yield {name: value for name, value in item.items() if value or name == "content"}


def _pictures(message: Message) -> tuple[Image, ...]:
    return tuple(part for part in message.parts if isinstance(part, Image))


def _images(images: tuple[Image, ...]) -> Mapping[str, Any]:
    return {"images": [image.data for image in images]} if images else {}


def _tool(tool: ToolSpec) -> Mapping[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}
