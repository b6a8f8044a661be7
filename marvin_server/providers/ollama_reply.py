"""One streamed reply of Ollama: lines of JSON in, events and at the end the whole message out.

Format: https://github.com/ollama/ollama/blob/main/docs/api.md#generate-a-chat-completion.
"""

import json
from collections.abc import Container
from typing import Any

from marvin_server.errors import BadRequest
from marvin_server.events import MessageDelta, ThoughtDelta, ThoughtFinished
from marvin_server.messages import Message, Part, Text, Thinking, ToolCall, Usage, new_id
from marvin_server.providers.wire_json import count, fields, objects

Delta = MessageDelta | ThoughtDelta | ThoughtFinished
_LINE_BYTES = 32_000_000


class Lines:
    """Cuts a stream of bytes into lines, without their ends. The work is linear in the bytes fed."""

    def __init__(self) -> None:
        self._unfinished: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that ``chunk`` completes, blank ones left out. Raises ``BadRequest`` for one of over 32 MB."""
        *whole, rest = chunk.split(b"\n")
        if whole:
            whole[0] = b"".join((*self._unfinished, whole[0]))
            self._unfinished, self._size = [], 0
        self._unfinished.append(rest)
        self._size += len(rest)
        if self._size > _LINE_BYTES:
            raise BadRequest(f"the stream holds a line of more than {_LINE_BYTES // 1_000_000} MB")
        return [line for line in map(bytes.strip, whole) if line]

    def rest(self) -> bytes:
        """What came after the last line's end."""
        return b"".join(self._unfinished).strip()


class Reply:
    """The reply so far. ``finished`` says that the server has told why it ended."""

    def __init__(self) -> None:
        self.finished = False
        self._id = new_id()
        self._texts: list[tuple[type[Text | Thinking], list[str]]] = []
        self._calls: list[ToolCall] = []
        self._reason = ""
        self._model = ""
        self._usage: Usage | None = None

    def read(self, value: dict[str, Any]) -> list[Delta]:
        """Take one line's object and return what is new in it."""
        message = fields(value.get("message"))
        new: list[Delta] = []
        if thought := str(message.get("thinking") or ""):
            self._append(Thinking, thought)
            new.append(ThoughtDelta(self._id, thought))
        if text := str(message.get("content") or ""):
            new += self._end_of_thought()
            self._append(Text, text)
            new.append(MessageDelta(self._id, text))
        self._calls += map(_call, objects(message.get("tool_calls")))
        if value.get("done"):
            new += self._end_of_thought()
            self._end(value)
        return new

    def message(self, provider: str, model: str, taken_ids: Container[str]) -> Message:
        """The whole message. ``model`` is its model when the server did not say; no call has an id of ``taken_ids``."""
        calls: dict[str, ToolCall] = {}
        for call in self._calls:
            unusable = not call.id or call.id in calls or call.id in taken_ids
            call_id = f"call_{new_id()}" if unusable else call.id
            calls[call_id] = ToolCall(call_id, call.name, call.arguments)
        texts: list[Part] = [kind("".join(pieces)) for kind, pieces in self._texts]
        return Message(
            "assistant",
            (*texts, *calls.values()),
            id=self._id,
            finish="length" if self._reason == "length" else "tool_calls" if calls else "stop",
            provider=provider,
            model=self._model or model,
            usage=self._usage,
        )

    def _append(self, kind: type[Text | Thinking], text: str) -> None:
        if not self._texts or self._texts[-1][0] is not kind:
            self._texts.append((kind, []))
        self._texts[-1][1].append(text)

    def _end_of_thought(self) -> list[Delta]:
        """The end of the thought that the reply has last been at, if that was one."""
        if self.finished or not self._texts or self._texts[-1][0] is not Thinking:
            return []
        return [ThoughtFinished(self._id, "".join(self._texts[-1][1]))]

    def _end(self, value: dict[str, Any]) -> None:
        self.finished = True
        self._reason = str(value.get("done_reason") or "")
        self._model = str(value.get("model") or "")
        if "prompt_eval_count" in value or "eval_count" in value:
            self._usage = Usage(count(value.get("prompt_eval_count")), count(value.get("eval_count")))


def _call(call: dict[str, Any]) -> ToolCall:
    """A call as it came: mostly without an id, its arguments an object."""
    function = fields(call.get("function"))
    given = function.get("arguments")
    arguments = given if isinstance(given, str) else json.dumps(given or {}, ensure_ascii=False)
    return ToolCall(str(call.get("id") or ""), str(function.get("name") or ""), arguments or "{}")
