"""A round's question as the body of an OpenAI responses request.

Format: https://platform.openai.com/docs/api-reference/responses/create.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from marvin_server.messages import Image, Message, Text, ToolCall, ToolResult, ToolSpec
from marvin_server.providers.base import ModelRequest
from marvin_server.providers.draft import weave
from marvin_server.providers.past_calls import arguments, call_ids, tool_name
from marvin_server.providers.wire_json import dump

Item = Mapping[str, Any]


def encode(request: ModelRequest, *, provider: str, model: str, quirks: Sequence[str]) -> bytes:
    """The JSON body of ``request``.

    Nothing is stored with the vendor, so its encrypted reasoning is asked for, and goes back to the ``provider`` and
    ``model`` that left it in ``Message.vendor``. The quirk ``no_json_schema`` leaves out what the vendor refuses.
    """
    ids = call_ids(request.history)
    body: dict[str, Any] = {
        "model": model,
        "input": [item for message in request.history for item in _items(message, provider, model, ids)],
        "stream": True,
        "store": False,
        "include": ["reasoning.encrypted_content"],
    }
    if request.system:
        body["instructions"] = request.system
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    if request.effort is not None:
        summary = {} if request.effort == "none" else {"summary": "auto"}
        body["reasoning"] = {"effort": request.effort, **summary}
    if request.output_schema is not None and "no_json_schema" not in quirks:
        answer = {"type": "json_schema", "name": "answer", "schema": request.output_schema, "strict": False}
        body["text"] = {"format": answer}
    return dump(body)


def _items(message: Message, provider: str, model: str, ids: Mapping[str, str]) -> Iterator[Item]:
    match message.role:
        case "user":
            if content := _content(message.parts):
                yield {"role": "user", "content": content}
        case "assistant":
            vendor = message.vendor or {}
            own = message.provider == provider and vendor.get("for") == model
            yield from _assistant(message, vendor if own else {}, ids)
        case "tool":
            for part in message.parts:
                if isinstance(part, ToolResult):
                    call_id = ids.get(part.call_id, part.call_id)
                    yield {"type": "function_call_output", "call_id": call_id, "output": _output(part)}


def _assistant(message: Message, vendor: Mapping[str, Any], ids: Mapping[str, str]) -> Iterator[Item]:
    phases = dict(vendor.get("phases", ()))
    place = 0
    for part in weave(message.parts, vendor.get("reasoning", ())):
        match part:
            case Text():
                phase = {"phase": phases[place]} if place in phases else {}
                if part.text:
                    yield {"role": "assistant", "content": part.text, **phase}
            case ToolCall():
                name, given = tool_name(part.name), arguments(part.arguments)
                yield {"type": "function_call", "call_id": ids[part.id], "name": name, "arguments": given}
            case Mapping():
                yield part
                continue
            case _:
                pass
        place += 1


def _content(parts: Sequence[object]) -> list[Item]:
    content: list[Item] = []
    for part in parts:
        if isinstance(part, Text) and part.text:
            content.append({"type": "input_text", "text": part.text})
        elif isinstance(part, Image):
            url = f"data:{part.mime_type};base64,{part.data}"
            content.append({"type": "input_image", "image_url": url, "detail": "auto"})
    return content


def _output(result: ToolResult) -> str | list[Item]:
    if not result.images:
        return result.text or "(empty)"
    return _content((Text(result.text), *result.images))


def _tool(tool: ToolSpec) -> Item:
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
        "strict": False,
    }
