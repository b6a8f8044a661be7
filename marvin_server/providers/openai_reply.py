"""One streamed reply of an OpenAI-style vendor: its chunks in, events and at the end the whole message out.

Format: https://platform.openai.com/docs/api-reference/chat/streaming, and what other vendors make of it.
"""

from collections.abc import Container, Mapping, Sequence
from typing import Any, cast

from marvin_server.events import MessageDelta, ThoughtDelta, ThoughtFinished
from marvin_server.messages import Finish, Message, Part, Text, Thinking, Usage, new_id
from marvin_server.providers.openai_calls import CallDeltas

Fields = dict[str, Any]
Delta = MessageDelta | ThoughtDelta | ThoughtFinished

_FINISH: Mapping[str, Finish] = {
    "length": "length",
    "max_tokens": "length",
    "content_filter": "filtered",
    "safety": "filtered",
}


class Reply:
    """The reply so far. ``finished`` says that the vendor has told why it ended."""

    def __init__(self, quirks: Sequence[str]) -> None:
        self.finished = False
        self._tokens: Usage | None = None
        self._id = new_id()
        self._quirks = quirks
        self._parts: list[Part] = []
        self._thought: list[str] = []
        self._text: list[str] = []
        self._calls = CallDeltas()
        self._finish: Finish = "stop"
        self._model = ""
        self._reasoning_content: list[str] = []
        self._reasoning_details: list[Fields] = []

    def read(self, chunk: Fields) -> list[Delta]:
        """Take one chunk, or the one object of an answer that is not streamed, and return what is new in it."""
        if not self._model and isinstance(model := chunk.get("model"), str):
            self._model = model
        if usage := _fields(chunk.get("usage")) or _fields(_fields(chunk.get("x_groq")).get("usage")):
            self._tokens = _usage(usage)
        new: list[Delta] = []
        for choice in _items(chunk.get("choices"))[:1]:
            self._read_delta(_fields(choice.get("delta" if "delta" in choice else "message")), new)
            if reason := choice.get("finish_reason"):
                self.finished = True
                self._finish = _FINISH.get(str(reason).lower(), "stop")
        return new

    def end(self) -> list[Delta]:
        """What the end of the stream completes."""
        new: list[Delta] = []
        self._end_thought(new)
        return new

    def message(self, provider: str, model: str, taken_ids: Container[str]) -> Message:
        """The whole message. ``model`` is its model when the vendor did not say; no call has an id of ``taken_ids``."""
        calls, extras = self._calls.finish(taken_ids)
        vendor: Fields = {"tool_calls": extras} if extras else {}
        if self._reasoning_content and "echo_reasoning_content" in self._quirks:
            vendor["reasoning_content"] = "".join(self._reasoning_content)
        if self._reasoning_details:
            vendor["reasoning_details"] = self._reasoning_details
        return Message(
            "assistant",
            (*self._parts, *self._text_part(), *calls),
            id=self._id,
            finish="tool_calls" if calls and self._finish == "stop" else self._finish,
            provider=provider,
            model=self._model or model,
            usage=self._tokens,
            vendor=vendor or None,
        )

    def _read_delta(self, delta: Fields, new: list[Delta]) -> None:
        thought = delta.get("reasoning_content") or delta.get("reasoning")
        if isinstance(thought, str):
            self._reasoning_content.append(thought)
            self._think(thought, new)
        content = delta.get("content") or delta.get("refusal")
        if isinstance(content, str):
            self._say(content, new)
        elif content:
            self._read_parts(content, new)
        for call in _items(delta.get("tool_calls")):
            self._calls.add(call)
        if "echo_reasoning_details" in self._quirks:
            for detail in _items(delta.get("reasoning_details")):
                self._keep_detail(detail)

    def _read_parts(self, content: object, new: list[Delta]) -> None:
        """Content as a list of typed parts; Mistral nests thoughts in them."""
        for part in _items(content):
            thoughts = part.get("thinking")
            for item in [{"text": thoughts}] if isinstance(thoughts, str) else _items(thoughts):
                self._think(str(item.get("text") or ""), new)
            if text := part.get("text"):
                self._say(str(text), new)

    def _think(self, text: str, new: list[Delta]) -> None:
        if self._text:
            self._parts += self._text_part()
            self._text = []
        self._thought.append(text)
        new.append(ThoughtDelta(self._id, text))

    def _say(self, text: str, new: list[Delta]) -> None:
        if self._thought:
            self._end_thought(new)
        self._text.append(text)
        new.append(MessageDelta(self._id, text))

    def _end_thought(self, new: list[Delta]) -> None:
        if self._thought:
            text = "".join(self._thought)
            self._thought = []
            self._parts.append(Thinking(text))
            new.append(ThoughtFinished(self._id, text))

    def _text_part(self) -> tuple[Part, ...]:
        return (Text("".join(self._text)),) if self._text else ()

    def _keep_detail(self, detail: Fields) -> None:
        """Keep OpenRouter's reasoning blocks in their order, the fragments of one block joined."""
        last = self._reasoning_details[-1] if self._reasoning_details else {}
        if (last.get("type"), last.get("index")) != (detail.get("type"), detail.get("index")):
            self._reasoning_details.append(dict(detail))
            return
        for name, value in detail.items():
            if name in ("text", "summary", "data") and isinstance(value, str):
                last[name] = (last.get(name) or "") + value
            elif value is not None:
                last[name] = value


def _fields(value: object) -> Fields:
    return cast("Fields", value) if isinstance(value, dict) else {}


def _items(value: object) -> list[Fields]:
    """The objects of a list; a bare text counts as a text part."""
    items = cast("list[object]", value) if isinstance(value, list) else []
    return [{"text": item} if isinstance(item, str) else _fields(item) for item in items]


def _usage(usage: Fields) -> Usage:
    details = _fields(usage.get("prompt_tokens_details"))
    prompt = _count(usage.get("prompt_tokens"))
    return Usage(
        input=prompt,
        # Gemini, and gateways to it, count thoughts in the total alone.
        output=max(_count(usage.get("completion_tokens")), _count(usage.get("total_tokens")) - prompt),
        cache_read=_count(details.get("cached_tokens")),
        cache_write=_count(details.get("cache_write_tokens")),
    )


def _count(value: object) -> int:
    return value if isinstance(value, int) else 0
