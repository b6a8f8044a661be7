"""A conversation that a Copilot session has not seen, as the one prompt that it begins with."""

from collections.abc import Iterator, Sequence

from marvin_server.messages import Image, Message, Text, ToolCall, ToolResult


def render(history: Sequence[Message]) -> str:
    """The text of ``history``: a lone prompt as it is, else all that was said before and then the last prompt."""
    *earlier, last = history
    if last.role != "user":
        earlier, last = list(history), Message("user", (Text("Go on."),))
    if not earlier:
        return last.text
    said = "\n\n".join(_lines(earlier))
    return f"The conversation so far:\n\n{said}\n\nThe user now says:\n\n{last.text}"


def pictures(history: Sequence[Message]) -> list[Image]:
    """Every picture of ``history``, in order."""
    found: list[Image] = []
    for message in history:
        for part in message.parts:
            if isinstance(part, Image):
                found.append(part)
            elif isinstance(part, ToolResult):
                found += part.images
    return found


def _lines(history: Sequence[Message]) -> Iterator[str]:
    for message in history:
        for part in message.parts:
            match part:
                case Text(text=text):
                    yield f"<{message.role}>\n{text}\n</{message.role}>"
                case ToolCall(name=name, arguments=arguments):
                    yield f"<tool_call>\n{name} {arguments}\n</tool_call>"
                case ToolResult(name=name, text=text):
                    yield f'<tool_result name="{name}">\n{text}\n</tool_result>'
                case _:
                    pass
