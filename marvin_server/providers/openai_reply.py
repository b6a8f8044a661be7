"""One streamed reply of an OpenAI-style vendor: its chunks in, events and at the end the whole message out.

Format: https://platform.openai.com/docs/api-reference/chat/streaming, and what other vendors make of it.
"""

from collections.abc import Container, Mapping, Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct

from marvin_server.events import MessageFinished
from marvin_server.messages import Finish, Usage
from marvin_server.providers.base import StreamEvent
from marvin_server.providers.draft import Delta, Draft
from marvin_server.providers.openai_calls import CallDeltas
from marvin_server.providers.wire_json import count, fields, objects

Fields = dict[str, Any]


class _PlainDelta(Struct, forbid_unknown_fields=True):
    """A delta with nothing but text; msgspec refuses any other."""

    content: str
    role: str | None = None
    refusal: None = None
    reasoning: None = None
    reasoning_content: None = None
    tool_calls: None = None
    function_call: None = None


class _PlainChoice(Struct, forbid_unknown_fields=True):
    delta: _PlainDelta
    index: int = 0
    finish_reason: None = None
    native_finish_reason: None = None
    logprobs: None = None


class _PlainChunk(Struct):
    choices: tuple[_PlainChoice]
    model: str | None = None
    usage: None = None
    x_groq: None = None
    error: None = None
    object: Literal["chat.completion.chunk"] = "chat.completion.chunk"


_FINISH: Mapping[str, Finish] = {
    "length": "length",
    "max_tokens": "length",
    "content_filter": "filtered",
    "safety": "filtered",
}


class Reply:
    """See ``answers.Reply``. ``model`` is the message's when the vendor does not say which one answered."""

    def __init__(self, provider: str, model: str, taken_ids: Container[str], quirks: Sequence[str]) -> None:
        self.whole = False
        self.ended = False
        self._provider = provider
        self._model = model
        self._quirks = quirks
        self._draft = Draft(taken_ids)
        self._plain = msgspec.json.Decoder(_PlainChunk)
        self._calls = CallDeltas()
        self._told_model = ""
        self._tokens: Usage | None = None
        self._finish: Finish = "stop"
        self._reasoning_content: list[str] = []
        self._reasoning_details: list[Fields] = []

    def read(self, chunk: Fields) -> Sequence[Delta]:
        """See ``answers.Reply``."""
        if not self._told_model and isinstance(model := chunk.get("model"), str):
            self._told_model = model
        if usage := fields(chunk.get("usage")) or fields(fields(chunk.get("x_groq")).get("usage")):
            self._tokens = _usage(usage)
        for choice in objects(chunk.get("choices"))[:1]:
            self._read_delta(fields(choice.get("delta" if "delta" in choice else "message")))
            if reason := choice.get("finish_reason"):
                self.whole = True
                self._finish = _FINISH.get(str(reason).lower(), "stop")
        return self._draft.take()

    def glance(self, data: str) -> Sequence[Delta] | None:
        """What is new in a chunk that only adds text, as nearly all do, read ten times faster; None for any other."""
        try:
            chunk = self._plain.decode(data)
        except (msgspec.MsgspecError, UnicodeEncodeError):
            return None
        self._told_model = self._told_model or chunk.model or ""
        self._draft.say(chunk.choices[0].delta.content)
        return self._draft.take()

    def end(self) -> Sequence[StreamEvent]:
        """See ``answers.Reply``."""
        extras = self._calls.finish(self._draft)
        vendor: Fields = {"tool_calls": extras} if extras else {}
        if self._reasoning_content and "echo_reasoning_content" in self._quirks:
            vendor["reasoning_content"] = "".join(self._reasoning_content)
        if self._reasoning_details:
            vendor["reasoning_details"] = self._reasoning_details
        message = self._draft.message(
            finish=self._finish,
            provider=self._provider,
            model=self._told_model or self._model,
            usage=self._tokens,
            vendor=vendor,
        )
        return (*self._draft.take(), MessageFinished(message))

    def _read_delta(self, delta: Fields) -> None:
        thought = delta.get("reasoning_content") or delta.get("reasoning")
        if isinstance(thought, str):
            self._reasoning_content.append(thought)
            self._draft.think(thought)
        content = delta.get("content") or delta.get("refusal")
        if isinstance(content, str):
            self._draft.say(content)
        elif content:
            self._read_parts(content)
        for call in objects(delta.get("tool_calls")):
            self._calls.add(call)
        if "echo_reasoning_details" in self._quirks:
            for detail in objects(delta.get("reasoning_details")):
                self._keep_detail(detail)

    def _read_parts(self, content: object) -> None:
        """Content as a list of typed parts; Mistral nests thoughts in them."""
        for part in objects(content):
            thoughts = part.get("thinking")
            for item in [{"text": thoughts}] if isinstance(thoughts, str) else objects(thoughts):
                self._draft.think(str(item.get("text") or ""))
            self._draft.say(str(part.get("text") or ""))

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


def _usage(usage: Fields) -> Usage:
    details = fields(usage.get("prompt_tokens_details"))
    prompt = count(usage.get("prompt_tokens"))
    return Usage(
        input=prompt,
        # Gemini, and gateways to it, count thoughts in the total alone.
        output=max(count(usage.get("completion_tokens")), count(usage.get("total_tokens")) - prompt),
        cache_read=count(details.get("cached_tokens")),
        cache_write=count(details.get("cache_write_tokens")),
    )
