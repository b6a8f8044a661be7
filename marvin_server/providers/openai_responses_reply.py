"""One reply of the OpenAI responses API: its events in, Marvin's events and at the end the whole message out.

Format: https://platform.openai.com/docs/api-reference/responses-streaming.
"""

from collections.abc import Container, Mapping, Sequence
from typing import Any

from marvin_server.events import MessageFinished
from marvin_server.messages import Finish, Usage
from marvin_server.providers.base import StreamEvent
from marvin_server.providers.draft import Delta, Draft
from marvin_server.providers.wire_json import count, fields, objects

Fields = dict[str, Any]

_FINISH: Mapping[str, Finish] = {"max_output_tokens": "length", "content_filter": "filtered"}


class Reply:
    """See ``answers.Reply``. ``model`` is the message's when the vendor does not say which one answered."""

    def __init__(self, provider: str, model: str, taken_ids: Container[str]) -> None:
        self.whole = False
        self.ended = False
        self._provider = provider
        self._model = model
        self._told_model = ""
        self._draft = Draft(taken_ids)
        self._streamed: set[object] = set()
        self._open_calls: dict[object, Fields] = {}
        self._phases: list[tuple[int, str]] = []
        self._usage: Usage | None = None
        self._finish: Finish = "stop"

    def read(self, chunk: Fields) -> Sequence[Delta]:
        """See ``answers.Reply``."""
        item = fields(chunk.get("item"))
        # llama.cpp tells items apart by their ids alone; gateways change the ids from event to event.
        place = chunk.get("output_index", chunk.get("item_id", item.get("id")))
        match str(chunk.get("type") or chunk.get("object")).removeprefix("response."):
            case "output_text.delta" | "refusal.delta":
                self._streamed.add(place)
                self._draft.say(str(chunk.get("delta") or ""))
            case "reasoning_summary_text.delta" | "reasoning_text.delta":
                self._streamed.add(place)
                self._draft.think(str(chunk.get("delta") or ""))
            case "reasoning_summary_part.added" if chunk.get("summary_index"):
                self._draft.think("\n\n")
            case "output_item.added" if item.get("type") == "function_call":
                self._open_calls[place] = item
            case "function_call_arguments.delta" if place in self._open_calls:
                call = self._open_calls[place]
                call["arguments"] = str(call.get("arguments") or "") + str(chunk.get("delta") or "")
            case "output_item.done":
                self._finish_item(item, place)
            case "completed" | "incomplete":
                self._read_end(fields(chunk.get("response")))
            case "response":
                for index, whole in enumerate(objects(chunk.get("output"))):
                    self._finish_item(whole, index)
                self._read_end(chunk)
            case _:
                pass
        return self._draft.take()

    def end(self) -> Sequence[StreamEvent]:
        """See ``answers.Reply``."""
        for call in self._open_calls.values():
            self._call(call)
        vendor: Fields = {"reasoning": self._draft.kept} if self._draft.kept else {}
        if self._phases:
            vendor["phases"] = self._phases
        message = self._draft.message(
            finish=self._finish,
            provider=self._provider,
            model=self._told_model or self._model,
            usage=self._usage,
            vendor={**vendor, "for": self._model} if vendor else {},
        )
        return (*self._draft.take(), MessageFinished(message))

    def _finish_item(self, item: Fields, place: object) -> None:
        """Take a whole item; what was streamed of it is not said again."""
        match item.get("type"):
            case "function_call":
                begun = self._open_calls.pop(place, {})
                self._call({**begun, **{name: value for name, value in item.items() if value}})
            case "reasoning":
                if place not in self._streamed:
                    texts = objects(item.get("summary")) or objects(item.get("content"))
                    self._draft.think("\n\n".join(str(text.get("text") or "") for text in texts))
                self._draft.end_thought()
                if item.get("encrypted_content"):
                    self._draft.keep({name: value for name, value in item.items() if value is not None})
            case "message":
                if place not in self._streamed:
                    for content in objects(item.get("content")):
                        self._draft.say(str(content.get("text") or content.get("refusal") or ""))
                self._draft.end_text()
                if phase := item.get("phase"):
                    self._phases.append((self._draft.length - 1, str(phase)))
            case _:
                pass

    def _call(self, call: Fields) -> None:
        self._draft.call(str(call.get("call_id") or ""), str(call.get("name") or ""), str(call.get("arguments") or ""))

    def _read_end(self, response: Fields) -> None:
        self.whole = self.ended = True
        self._told_model = str(response.get("model") or "")
        reason = fields(response.get("incomplete_details")).get("reason")
        self._finish = _FINISH.get(str(reason), "stop")
        if usage := fields(response.get("usage")):
            self._usage = _usage(usage)


def _usage(usage: Fields) -> Usage:
    details = fields(usage.get("input_tokens_details"))
    return Usage(
        input=count(usage.get("input_tokens")),
        output=count(usage.get("output_tokens")),
        cache_read=count(details.get("cached_tokens")),
        cache_write=count(details.get("cache_write_tokens")),
    )
