"""The transcript: messages and the typed parts that they are made of. Pure, frozen values."""

import os
import time
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct, field

Role = Literal["user", "assistant", "tool"]
Finish = Literal["stop", "tool_calls", "length", "filtered", "interrupted"]
Status = Literal["ok", "error", "denied", "cancelled"]
Effect = Literal["read", "edit", "execute", "network", "message"]


def new_id() -> str:
    """An opaque id of 26 hex digits that sorts by the time of its making."""
    return f"{time.time_ns() // 1_000_000:012x}{os.urandom(7).hex()}"


class Tagged(Struct, frozen=True, omit_defaults=True, tag_field="type"):
    """A frozen value that knows its kind: ``tag`` in the class's definition, ``type`` here and in JSON."""

    @property
    def type(self) -> str:
        return str(self.__struct_config__.tag)


class Text(Tagged, frozen=True, tag="text"):
    """What a person or a model wrote. With a ``label``, a few words, it is what an editor has added to a prompt, from
    the document ``uri`` where it is from one."""

    text: str
    label: str | None = None
    uri: str | None = None


class Thinking(Tagged, frozen=True, tag="thinking"):
    """A model's visible reasoning; kept apart from its answer."""

    text: str


class Image(Tagged, frozen=True, tag="image"):
    """A picture: ``data`` is base64 text of the bytes, ``mime_type`` such as ``image/png``."""

    mime_type: str
    data: str


class ToolCall(Tagged, frozen=True, tag="tool_call"):
    """A model's request to run a tool. ``arguments`` is the JSON text exactly as the model wrote it."""

    id: str
    name: str
    arguments: str


class ToolResult(Tagged, frozen=True, tag="tool_result"):
    """The answer to the tool call whose id is ``call_id``; ``text`` is what the model reads."""

    call_id: str
    name: str
    text: str
    status: Status = "ok"
    images: tuple[Image, ...] = ()


Part = Text | Thinking | Image | ToolCall | ToolResult


class Usage(Struct, frozen=True):
    """Tokens of one or more model requests. ``input`` counts all prompt tokens, cached ones included."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0

    @property
    def plausible(self) -> "Usage":
        """The same within 0 and 2**53, whatever a vendor may claim."""
        counts = (self.input, self.output, self.cache_read, self.cache_write)
        return Usage(*(min(max(count, 0), 2**53) for count in counts))

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.input + other.input,
            self.output + other.output,
            self.cache_read + other.cache_read,
            self.cache_write + other.cache_write,
        )


class Charge(Struct, frozen=True):
    """What one model request cost in USD, and what was ``saved`` by its cached tokens; None: unknown.

    ``saved`` is below 0 where writing to the cache cost more than reading from it saved; None: nothing was cached.
    """

    cost: float | None
    saved: float | None = None


class Message(Struct, frozen=True, omit_defaults=True):
    """One unit of the transcript.

    A ``tool`` message answers every tool call of the assistant message before it. ``vendor`` is opaque: a provider
    puts what its endpoint wants back (signatures, reasoning ids) there and gets it unchanged with the next request.
    """

    role: Role
    parts: tuple[Part, ...]
    id: str = field(default_factory=new_id)
    finish: Finish | None = None
    provider: str | None = None
    model: str | None = None
    usage: Usage | None = None
    vendor: Mapping[str, Any] | None = None

    @property
    def text(self) -> str:
        """The plain text of the message: its text parts, joined."""
        return "".join(part.text for part in self.parts if isinstance(part, Text))

    @property
    def said(self) -> str:
        """The text without what an editor has added."""
        return "".join(part.text for part in self.parts if isinstance(part, Text) and part.label is None)

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The tool calls that this message asks for, in order."""
        return tuple(part for part in self.parts if isinstance(part, ToolCall))


class ToolSpec(Struct, frozen=True):
    """What a model is told of a tool: ``parameters`` is the JSON Schema of an object."""

    name: str
    description: str
    parameters: Mapping[str, Any]


def user_message(text: str, images: Sequence[Image] = (), added: Sequence[Text] = ()) -> Message:
    """The message for a prompt: pictures first, as vendors advise, then what is asked of them, and what an editor has
    ``added`` to that. With pictures there may be no words, and then there is no part for them: vendors refuse it."""
    said = () if images and not text.strip() else (Text(text),)
    return Message("user", (*images, *said, *added))
