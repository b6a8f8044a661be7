"""A stored conversation as the items that a client shows."""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from marvin_server.events import ToolFinished
from marvin_server.messages import ToolCall, ToolResult
from marvin_server.protocol.items import AnyItem, CompactionItem, MessageItem, ToolCallItem
from marvin_server.session.pages import Compaction, Entry

Result = ToolResult | ToolFinished


def items(entries: Sequence[Entry], finished: Mapping[str, ToolFinished], *, is_at_work: bool) -> tuple[AnyItem, ...]:
    """The items of a page, oldest first: what a person or a model said, after it each tool call of it, and
    what became of the conversation's length before the next.

    A call has the status of its result, which is among ``finished`` while others of its round still run. Without one
    it was cancelled; ``is_at_work`` says that the calls of the last message are running.
    """
    results: dict[str, Result] = {**finished}
    results |= {part.call_id: part for entry in entries for part in entry.message.parts if isinstance(part, ToolResult)}
    told: list[AnyItem] = []
    for entry in entries:
        message = entry.message
        if message.role != "tool":
            item = MessageItem(
                id=message.id,
                created_at=entry.at,
                parent_id=entry.parent_id,
                turn_id=entry.turn_id,
                message=message,
            )
            told.append(item)
        is_running = is_at_work and entry is entries[-1]
        told += [_call(entry, call, results.get(call.id), is_running=is_running) for call in message.tool_calls]
        told += [_compaction(entry, made) for made in entry.compactions]
    return tuple(told)


def _compaction(entry: Entry, made: Compaction) -> CompactionItem:
    return CompactionItem(
        id=made.compaction.id,
        created_at=made.at,
        # Results of tool calls are no item: the message with the calls is.
        parent_id=entry.parent_id if entry.message.role == "tool" else entry.message.id,
        turn_id=made.turn_id,
        compaction=made.compaction,
    )


def _call(entry: Entry, call: ToolCall, result: Result | None, *, is_running: bool) -> ToolCallItem:
    given: Any = call.arguments
    with suppress(ValueError, RecursionError):
        given = json.loads(call.arguments)
    output = result.text if isinstance(result, ToolResult) else result.output if result else None
    return ToolCallItem(
        id=call.id,
        created_at=entry.at,
        parent_id=entry.message.id,
        turn_id=entry.turn_id,
        name=call.name,
        input=given,
        status=result.status if result else "running" if is_running else "cancelled",
        output=output,
    )
