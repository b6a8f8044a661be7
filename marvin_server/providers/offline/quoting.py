"""What marks exact words within a sentence, and what a sentence may end with besides them."""

import re

QUOTE = r"`[^`\n]+`|\"[^\"\n]*\"|“[^”\n]*”|(?<!\w)'[^'\n]*'(?!\w)"
COURTESY = r"(?:[,.!]?\s+(?:please|thanks|thank you|for me|now|again))*"
CLOSING = COURTESY + r"\s*[.!?]*"


def unquoted(text: str) -> str:
    """``text`` without the quotes around all of it, if there are any."""
    text = text.strip()
    return text[1:-1] if len(text) > 1 and re.fullmatch(QUOTE, text) else text


def without_quotations(text: str) -> str:
    """``text`` with its quoted spans blanked, each as long as it was; backticks stay."""
    return re.sub(QUOTE, lambda match: re.sub("[^`]", "_", match[0]), text)
