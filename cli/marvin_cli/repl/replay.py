"""Shows what was said in a session before, as if it had just happened."""

import json
from collections.abc import Sequence
from typing import Any

from marvin_cli.view.base import View
from marvin_server.events import MessageFinished, ThoughtFinished, ToolFinished, ToolStarted
from marvin_server.messages import Message, Thinking, ToolCall, ToolResult
from marvin_server.session.pages import Entry

# What Marvin tells the model in a person's place begins so.
_OWN = "[Marvin: "


def show(view: View, entries: Sequence[Entry]) -> None:
    """Show the messages, the oldest first, each tool call with its result."""
    results = {part.call_id: part for each in entries for part in each.message.parts if isinstance(part, ToolResult)}
    for entry in entries:
        message = entry.message
        if message.role == "user":
            show_prompt(view, message)
        elif message.role == "assistant":
            for part in message.parts:
                if isinstance(part, Thinking):
                    view.show(ThoughtFinished(message.id, part.text))
            view.show(MessageFinished(message))
            for call in message.tool_calls:
                _show_call(view, call, results.get(call.id))


def show_prompt(view: View, message: Message) -> None:
    """Show what a person has said, or what was said to the model for them."""
    if message.text.startswith(_OWN):
        view.say(message.text, "note")
    else:
        pictures = sum(part.type == "image" for part in message.parts)
        view.echo(message.text + "".join("\n[picture]" for _ in range(pictures)))


def _show_call(view: View, call: ToolCall, result: ToolResult | None) -> None:
    values = _values(call.arguments)
    where = next((str(values[name]) for name in ("path", "command", "query", "url") if values.get(name)), "")
    view.show(ToolStarted(call.id, call.name, f"{call.name} {where}".rstrip(), "read", values))
    text, status = (result.text, result.status) if result else ("", "cancelled")
    view.show(ToolFinished(call.id, call.name, status, 0, text))


def _values(arguments: str) -> dict[str, Any]:
    try:
        values: object = json.loads(arguments)
    except (ValueError, RecursionError):
        return {}
    return values if isinstance(values, dict) else {}  # pyright: ignore[reportUnknownVariableType]
