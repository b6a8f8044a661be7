"""One reply of an Anthropic-style vendor: its events in, Marvin's events and at the end the whole message out.

Format: https://platform.claude.com/docs/en/build-with-claude/streaming.
"""

import json
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from marvin_server.events import MessageFinished
from marvin_server.messages import Finish, Usage
from marvin_server.providers.base import StreamEvent
from marvin_server.providers.draft import Delta, Draft
from marvin_server.providers.wire_json import count, fields, objects

Fields = dict[str, Any]

# Marvin uses no tools of the vendor's own, so ``pause_turn`` cannot come; it ends an answer as any unknown reason does.
_FINISH: Mapping[str, Finish] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "filtered",
}


@dataclass(slots=True)
class _Block:
    """The content block that is open: how it began, and the JSON or the thought that came since."""

    start: Fields
    json: list[str] = field(default_factory=list[str])
    thought: list[str] = field(default_factory=list[str])
    signature: str = ""


class Reply:
    """See ``answers.Reply``. ``fingerprint`` is kept with signed thoughts; ``model`` is the message's when not told."""

    def __init__(self, provider: str, model: str, taken_ids: Container[str], fingerprint: str) -> None:
        self.whole = False
        self.ended = False
        self._provider = provider
        self._model = model
        self._fingerprint = fingerprint
        self._draft = Draft(taken_ids)
        self._block: _Block | None = None
        self._usage: Fields = {}
        self._finish: Finish = "stop"
        self._explanation = ""

    def read(self, chunk: Fields) -> Sequence[Delta]:
        """See ``answers.Reply``."""
        match chunk.get("type"):
            case "message_start":
                self._read_head(fields(chunk.get("message")))
            case "content_block_start":
                self._open(fields(chunk.get("content_block")))
            case "content_block_delta":
                self._read_delta(fields(chunk.get("delta")))
            case "content_block_stop":
                self._close()
            case "message_delta":
                self._count(chunk)
                self._read_stop(fields(chunk.get("delta")))
            case "message_stop":
                self.whole = self.ended = True
            case "message":
                self._read_head(chunk)
                for block in objects(chunk.get("content")):
                    self._open(block)
                self._read_stop(chunk)
            case _:
                pass
        return self._draft.take()

    def end(self) -> Sequence[StreamEvent]:
        """See ``answers.Reply``."""
        self._close()
        if self._finish == "filtered" and not self._draft.length:
            self._draft.say(self._explanation or "The model declined to answer.")
        kept = self._draft.kept
        message = self._draft.message(
            finish=self._finish,
            provider=self._provider,
            model=self._model,
            usage=_usage(self._usage) if self._usage else None,
            vendor={"thoughts": kept, "after": self._fingerprint} if kept else {},
        )
        return (*self._draft.take(), MessageFinished(message))

    def _read_head(self, message: Fields) -> None:
        self._model = str(message.get("model") or self._model)
        self._count(message)

    def _count(self, holder: Fields) -> None:
        """Take over the counts that are told; each is of the whole reply so far."""
        self._usage |= {name: value for name, value in fields(holder.get("usage")).items() if value is not None}

    def _read_stop(self, stop: Fields) -> None:
        if reason := stop.get("stop_reason"):
            self.whole = True
            self._finish = _FINISH.get(str(reason), "stop")
            self._explanation = str(fields(stop.get("stop_details")).get("explanation") or "")

    def _open(self, start: Fields) -> None:
        """Begin a block; one that is not streamed is all in its start."""
        self._close()
        self._block = _Block(start)
        self._draft.say(str(start.get("text") or ""))
        self._think(str(start.get("thinking") or ""))
        self._block.signature = str(start.get("signature") or "")

    def _read_delta(self, delta: Fields) -> None:
        if self._block is None:
            self._block = _Block({})
        match delta.get("type"):
            case "text_delta":
                self._draft.say(str(delta.get("text") or ""))
            case "thinking_delta":
                self._think(str(delta.get("thinking") or ""))
            case "signature_delta":
                self._block.signature += str(delta.get("signature") or "")
            case "input_json_delta":
                self._block.json.append(str(delta.get("partial_json") or ""))
            case _:
                pass

    def _think(self, text: str) -> None:
        if self._block:
            self._block.thought.append(text)
        self._draft.think(text)

    def _close(self) -> None:
        """Finish the block that is open."""
        block, self._block = self._block, None
        if block is None:
            return
        self._draft.end_thought()
        start = block.start
        if start.get("type") == "tool_use":
            given = start.get("input")
            whole = json.dumps(given, ensure_ascii=False) if given else ""
            self._draft.call(str(start.get("id") or ""), str(start.get("name") or ""), "".join(block.json) or whole)
        elif start.get("type") == "redacted_thinking":
            self._draft.keep(start)
        elif block.signature:
            thought = "".join(block.thought)
            self._draft.keep({"type": "thinking", "thinking": thought, "signature": block.signature})


def _usage(usage: Fields) -> Usage:
    """The vendor's count of the input leaves out what was read from the cache or written to it."""
    read, written = count(usage.get("cache_read_input_tokens")), count(usage.get("cache_creation_input_tokens"))
    return Usage(
        input=count(usage.get("input_tokens")) + read + written,
        output=count(usage.get("output_tokens")),
        cache_read=read,
        cache_write=written,
    )
