"""A conversation, whoever led it, as the messages that Anthropic accepts.

User and assistant take turns, the user first and last; texts are never blank; results come first in their turn.
Rules: https://platform.claude.com/docs/en/build-with-claude/preserved-thinking/prefix-checks and
https://platform.claude.com/docs/en/agents-and-tools/tool-use/handle-tool-calls.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from marvin_server.messages import Image, Message, Part, Text, ToolCall, ToolResult
from marvin_server.providers.draft import weave
from marvin_server.providers.past_calls import arguments_object, call_ids, tool_name
from marvin_server.providers.wire_json import dump

Turn = dict[str, Any]
Block = dict[str, Any]

_NO_PROMPT = "Go on."


class _Fingerprint:
    """What all that was added stands for, as a short text."""

    def __init__(self, before: object) -> None:
        self._digest = hashlib.sha256(dump(before))
        self._seen = 0

    def after(self, history: Sequence[Turn]) -> str:
        """The fingerprint with the turns that are new in ``history``."""
        for turn in history[self._seen :]:
            self._digest.update(dump(turn))
        self._seen = len(history)
        return self._digest.hexdigest()[:32]


def turns(history: Sequence[Message], *, provider: str, before: object) -> tuple[list[Turn], str]:
    """The messages of a request, and the fingerprint of ``before`` and all of them.

    ``before`` is what the request holds ahead of its messages. A thought is signed for exactly what came before it, so
    it goes back only if its message's fingerprint is the one of the turns before that message.
    """
    ids = call_ids(history)
    found: list[Turn] = []
    fingerprint = _Fingerprint(before)
    for message in history:
        role = "assistant" if message.role == "assistant" else "user"
        if role == "assistant" and not found:
            found.append({"role": "user", "content": [_text(_NO_PROMPT)]})
        thoughts: Sequence[tuple[int, Block]] = ()
        if role == "assistant" and message.provider == provider and message.vendor and "thoughts" in message.vendor:
            same = message.vendor.get("after") == fingerprint.after(found)
            thoughts = message.vendor["thoughts"] if same else ()
        if blocks := [block for part in weave(message.parts, thoughts) for block in _blocks(part, ids)]:
            if found and found[-1]["role"] == role:
                found[-1]["content"] += blocks
            else:
                found.append({"role": role, "content": blocks})
    if not found or found[-1]["role"] == "assistant":
        found.append({"role": "user", "content": [_text(_NO_PROMPT)]})
    return found, fingerprint.after(found)


def _blocks(part: Part | Mapping[str, Any], ids: Mapping[str, str]) -> Iterator[Block]:
    match part:
        case Text() if part.text.strip():
            yield _text(part.text)
        case Image():
            yield _image(part)
        case ToolCall():
            given = arguments_object(part.arguments)
            yield {"type": "tool_use", "id": ids[part.id], "name": tool_name(part.name), "input": given}
        case ToolResult():
            yield _result(part, ids)
        case Mapping():
            yield dict(part)
        case _:
            pass


def _result(result: ToolResult, ids: Mapping[str, str]) -> Block:
    block: Block = {
        "type": "tool_result",
        "tool_use_id": ids.get(result.call_id, result.call_id),
        "content": [_text(result.text if result.text.strip() else "(empty)")],
    }
    if result.status != "ok":
        # An error may hold nothing but text.
        return block | {"is_error": True}
    block["content"] += map(_image, result.images)
    return block


def _image(image: Image) -> Block:
    return {"type": "image", "source": {"type": "base64", "media_type": image.mime_type, "data": image.data}}


def _text(text: str) -> Block:
    return {"type": "text", "text": text}
