"""The transcript: messages and the typed parts that they are made of. Pure, frozen values."""

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Role = Literal["user", "assistant", "tool"]
Finish = Literal["stop", "tool_calls", "length", "filtered", "interrupted"]
Status = Literal["ok", "error", "denied", "cancelled"]
Effect = Literal["read", "edit", "execute", "network", "message"]


def new_id() -> str:
    """An opaque id of 26 hex digits that sorts by the time of its making."""
    return f"{time.time_ns() // 1_000_000:012x}{os.urandom(7).hex()}"


@dataclass(frozen=True, slots=True)
class Text:
    """What a person or a model wrote."""

    text: str
    type: Literal["text"] = "text"


@dataclass(frozen=True, slots=True)
class Thinking:
    """A model's visible reasoning; kept apart from its answer."""

    text: str
    type: Literal["thinking"] = "thinking"


@dataclass(frozen=True, slots=True)
class Image:
    """A picture: ``data`` is base64 text of the bytes, ``mime_type`` such as ``image/png``."""

    mime_type: str
    data: str
    type: Literal["image"] = "image"


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model's request to run a tool. ``arguments`` is the JSON text exactly as the model wrote it."""

    id: str
    name: str
    arguments: str
    type: Literal["tool_call"] = "tool_call"


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The answer to the tool call whose id is ``call_id``; ``text`` is what the model reads."""

    call_id: str
    name: str
    text: str
    status: Status = "ok"
    images: tuple[Image, ...] = ()
    type: Literal["tool_result"] = "tool_result"


Part = Text | Thinking | Image | ToolCall | ToolResult


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one or more model requests. ``input`` counts all prompt tokens, cached ones included."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.input + other.input,
            self.output + other.output,
            self.cache_read + other.cache_read,
            self.cache_write + other.cache_write,
        )


@dataclass(frozen=True, slots=True)
class Message:
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
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The tool calls that this message asks for, in order."""
        return tuple(part for part in self.parts if isinstance(part, ToolCall))


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """What a model is told of a tool: ``parameters`` is the JSON Schema of an object."""

    name: str
    description: str
    parameters: Mapping[str, Any]


def user_message(text: str) -> Message:
    """The message for a prompt of plain text."""
    return Message("user", (Text(text),))
