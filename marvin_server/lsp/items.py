"""A stored conversation as the items that a client shows."""

import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from marvin_server.messages import ToolCall, ToolResult
from marvin_server.protocol.items import AnyItem, CallStatus, MessageItem, ToolCallItem
from marvin_server.session.catalogue import Entry


def items(entries: Sequence[Entry], *, is_running: bool) -> tuple[AnyItem, ...]:
    """The items of a page, oldest first: what a person or a model said, and after it each tool call of it.

    A call has the status of its result; without one it is running while a turn is, and else was cancelled.
    """
    results = {part.call_id: part for entry in entries for part in entry.message.parts if isinstance(part, ToolResult)}
    told: list[AnyItem] = []
    for entry in entries:
        message = entry.message
        if message.role != "tool":
            told.append(MessageItem(id=message.id, created_at=entry.at, parent_id=entry.parent_id, message=message))
        told += [_call(entry, call, results.get(call.id), is_running=is_running) for call in message.tool_calls]
    return tuple(told)


def _call(entry: Entry, call: ToolCall, result: ToolResult | None, *, is_running: bool) -> ToolCallItem:
    given: Any = call.arguments
    with suppress(ValueError, RecursionError):
        given = json.loads(call.arguments)
    without: CallStatus = "running" if is_running else "cancelled"
    return ToolCallItem(
        id=call.id,
        created_at=entry.at,
        parent_id=entry.message.id,
        name=call.name,
        input=given,
        status=result.status if result else without,
        output=result.text if result else None,
    )
