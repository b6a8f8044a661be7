"""One reply of a Copilot session: the SDK's events in, ours and at the end the whole message out.

Events: ``copilot/generated/session_events.py`` of https://github.com/github/copilot-sdk.
"""

import json
from collections.abc import Container, Mapping
from typing import Any

from marvin_server.events import MessageDelta, ThoughtDelta, ThoughtFinished
from marvin_server.messages import Finish, Message, Part, Text, Thinking, ToolCall, Usage, new_id
from marvin_server.providers.base import StreamEvent

_FINISH: Mapping[str, Finish] = {"length": "length", "max_tokens": "length", "content_filter": "filtered"}


class Reply:
    """The reply so far. ``begun`` says that something of it has come, ``finished`` that nothing more will."""

    def __init__(self) -> None:
        self.begun = False
        self.finished = False
        self._id = new_id()
        self._thought: list[str] = []
        self._text: list[str] = []
        self._thinking = False
        self._requests: list[Any] = []
        self._finish: Finish = "stop"
        self._model = ""
        self._usage: Usage | None = None

    def read(self, kind: str, data: Any) -> list[StreamEvent]:
        """Take one event and return what is new in it."""
        match kind:
            case "assistant.reasoning_delta":
                return self._think(data.delta_content)
            case "assistant.message_delta":
                return self._say(data.delta_content)
            case "assistant.usage":
                self._read_usage(data)
            case "assistant.message":
                return self._complete(data)
            case "session.idle":
                self.finished = True
            case _:
                pass
        return []

    def message(self, provider: str, model: str, taken_ids: Container[str]) -> tuple[Message, Mapping[str, str]]:
        """The whole message, and for the id of each of its calls the session's own. No id is one of ``taken_ids``."""
        calls: list[ToolCall] = []
        session_ids: dict[str, str] = {}
        for asked in self._requests:
            given = str(asked.tool_call_id)
            call_id = f"call_{new_id()}" if given in taken_ids or given in session_ids else given
            session_ids[call_id] = given
            arguments = asked.arguments
            text = arguments if isinstance(arguments, str) else json.dumps(arguments or {}, ensure_ascii=False)
            calls.append(ToolCall(call_id, str(asked.name), text))
        thought, said = "".join(self._thought), "".join(self._text)
        texts: tuple[Part, ...] = (*([Thinking(thought)] if thought else []), *([Text(said)] if said else []))
        message = Message(
            "assistant",
            (*texts, *calls),
            id=self._id,
            finish="tool_calls" if calls else self._finish,
            provider=provider,
            model=self._model or model,
            usage=self._usage,
        )
        return message, session_ids

    def _think(self, text: str) -> list[StreamEvent]:
        self.begun = self._thinking = True
        self._thought.append(text)
        return [ThoughtDelta(self._id, text)]

    def _say(self, text: str) -> list[StreamEvent]:
        self.begun = True
        self._text.append(text)
        return [*self._end_thought(), MessageDelta(self._id, text)]

    def _end_thought(self) -> list[StreamEvent]:
        if not self._thinking:
            return []
        self._thinking = False
        return [ThoughtFinished(self._id, "".join(self._thought))]

    def _complete(self, data: Any) -> list[StreamEvent]:
        """The message as a whole, of which some or all has come in deltas; with calls, the session waits for us."""
        rest = "" if self._text else str(data.content or "")
        self._requests = list(data.tool_requests or ())
        self.finished = bool(self._requests)
        return [*self._end_thought(), *(self._say(rest) if rest else [])]

    def _read_usage(self, data: Any) -> None:
        self._model = str(data.model or "")
        self._finish = _FINISH.get(str(data.finish_reason or ""), "stop")
        self._usage = Usage(
            input=int(data.input_tokens or 0),
            output=int(data.output_tokens or 0),
            cache_read=int(data.cache_read_tokens or 0),
            cache_write=int(data.cache_write_tokens or 0),
        )
