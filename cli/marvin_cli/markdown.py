"""A stored conversation as a Markdown page."""

import re
from collections.abc import Sequence

from marvin_server.messages import Image, Message, Text, Thinking, ToolCall, ToolResult
from marvin_server.session.store import SessionRecord


def page(record: SessionRecord, history: Sequence[Message]) -> str:
    """The conversation as a Markdown page for people."""
    lines = [f"# {record.title or record.id}", f"{record.cwd} · {record.provider}/{record.model} · {record.created_at}"]
    for message in history:
        if message.role != "tool":
            lines.append(f"## {message.role.capitalize()}")
        for part in message.parts:
            match part:
                case Text(text):
                    lines.append(text.strip())
                case Thinking(text):
                    lines.append("\n".join(f"> {line}" for line in text.strip().splitlines()))
                case Image(mime_type):
                    lines.append(f"*(an image, {mime_type})*")
                case ToolCall(_, name, arguments):
                    lines.append(f"**{name}**\n\n{_fenced(arguments)}")
                case ToolResult(_, name, text, status):
                    lines.append(f"{name}: {status}\n\n{_fenced(text)}")
    return "\n\n".join(line for line in lines if line) + "\n"


def _fenced(text: str) -> str:
    """``text`` as a code block, whose fence is longer than any run of backticks in it."""
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}\n{text.rstrip()}\n{fence}"
