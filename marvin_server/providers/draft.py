"""A message that a model is still writing: deltas in; events, and at the end the whole message, out."""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any

from marvin_server.events import MessageDelta, ThoughtDelta, ThoughtFinished
from marvin_server.messages import Finish, Message, Part, Text, Thinking, ToolCall, Usage, new_id

Delta = MessageDelta | ThoughtDelta | ThoughtFinished
Item = Mapping[str, Any]


class Draft:
    """The message so far. No call gets an id that is empty, used twice or in ``taken_ids``.

    ``kept`` pairs each item that the vendor wants back with its place: the number of texts and calls before it.
    """

    def __init__(self, taken_ids: Container[str]) -> None:
        self.parts: list[Part] = []
        self.kept: list[tuple[int, Item]] = []
        self._id = new_id()
        self._taken_ids = taken_ids
        self._text: list[str] = []
        self._thought: list[str] = []
        self._new: list[Delta] = []

    def say(self, text: str) -> None:
        """Go on with the answer."""
        if text:
            self.end_thought()
            self._text.append(text)
            self._new.append(MessageDelta(self._id, text))

    def think(self, text: str) -> None:
        """Go on with a thought."""
        if text:
            self.end_text()
            self._thought.append(text)
            self._new.append(ThoughtDelta(self._id, text))

    def call(self, given_id: str, name: str, arguments: str) -> str:
        """Add a whole tool call and return its id."""
        self.end_thought()
        self.end_text()
        used = {part.id for part in self.parts if isinstance(part, ToolCall)}
        unusable = not given_id or given_id in used or given_id in self._taken_ids
        call = ToolCall(f"call_{new_id()}" if unusable else given_id, name, arguments or "{}")
        self.parts.append(call)
        return call.id

    def keep(self, item: Item) -> None:
        """Keep what the vendor wants back in this place."""
        self.end_thought()
        self.end_text()
        self.kept.append((self.length, item))

    @property
    def length(self) -> int:
        """The number of finished texts and calls."""
        return sum(not isinstance(part, Thinking) for part in self.parts)

    def end_text(self) -> None:
        """Finish a text that has begun."""
        if self._text:
            self.parts.append(Text("".join(self._text)))
            self._text = []

    def end_thought(self) -> None:
        """Finish a thought that has begun."""
        if self._thought:
            text = "".join(self._thought)
            self._thought = []
            self.parts.append(Thinking(text))
            self._new.append(ThoughtFinished(self._id, text))

    def take(self) -> Sequence[Delta]:
        """The events since this was last asked."""
        new, self._new = self._new, []
        return new

    def message(
        self, *, finish: Finish, provider: str, model: str, usage: Usage | None, vendor: Mapping[str, Any]
    ) -> Message:
        """The whole message. Its finish is ``tool_calls`` when it ended well and has any."""
        self.end_thought()
        self.end_text()
        has_calls = any(isinstance(part, ToolCall) for part in self.parts)
        return Message(
            "assistant",
            tuple(self.parts),
            id=self._id,
            finish="tool_calls" if has_calls and finish == "stop" else finish,
            provider=provider,
            model=model,
            usage=usage,
            vendor=vendor or None,
        )


def weave(parts: Iterable[Part], kept: Iterable[tuple[int, Item]]) -> Iterator[Part | Item]:
    """The texts and calls of a message with what was kept put back into its places; nothing of it comes last."""
    spoken = [part for part in parts if not isinstance(part, Thinking)]
    items = list(kept)
    for place, part in enumerate(spoken):
        yield from (item for at, item in items if at == place)
        yield part
