"""What a chat-completions request says: https://platform.openai.com/docs/api-reference/chat/create."""

from typing import Any


def text(content: Any) -> str:
    """The text of a message's content, which is a string or a list of parts."""
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def asked(body: Any) -> str:
    """The text of the latest prompt."""
    return next(text(one["content"]) for one in reversed(body["messages"]) if one["role"] == "user")
