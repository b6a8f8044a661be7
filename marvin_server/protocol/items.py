"""What a stored conversation is made of, as a client shows it."""

from typing import Any, Literal

from marvin_server.events import Compacted
from marvin_server.messages import Message
from marvin_server.protocol.base import FromServer

CallStatus = Literal["ok", "error", "denied", "cancelled", "running"]


class Item(FromServer, frozen=True, kw_only=True, tag_field="kind"):
    """One entry; ``parent_id`` is the message that it follows, None for the first. ``turn_id`` is that of the turn in
    which it came, which ``marvin/turn/undo`` takes; None for what came between turns, or from another session."""

    id: str
    created_at: str
    parent_id: str | None = None
    turn_id: str | None = None


class MessageItem(Item, frozen=True, kw_only=True, tag="message"):
    """What a person or a model said."""

    message: Message


class ToolCallItem(Item, frozen=True, kw_only=True, tag="toolCall"):
    """A tool call of the message before it. ``input`` is what the model gave: an object, or the text where that was no
    JSON; ``output`` is what the model read, None while there is nothing."""

    name: str
    input: Any
    status: CallStatus
    output: str | None = None


class CompactionItem(Item, frozen=True, kw_only=True, tag="compaction"):
    """What the model reads in the place of earlier messages from here on, or that a summary was taken back, as the
    event told it."""

    compaction: Compacted


AnyItem = MessageItem | ToolCallItem | CompactionItem
