"""Makes text from models, tools and the web harmless for a terminal: what would act becomes something to see."""

_VISIBLE = {code: 0x2400 + code for code in range(32) if chr(code) not in "\n\t"}
_VISIBLE[0x7F] = 0x2421
_VISIBLE.update(dict.fromkeys(range(0x80, 0xA0), 0xFFFD))
# Directional and invisible characters that make text read differently from what it is.
_VISIBLE.update(dict.fromkeys((0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0xFEFF), 0xFFFD))
_VISIBLE.update(dict.fromkeys(range(0xE0000, 0xE0080), 0xFFFD))


def printable(text: str) -> str:
    """``text`` with control characters shown as symbols (ESC as ␛); newline and tab stay.

    It needs no state: a sequence that is split over two pieces loses its first character just the same.
    """
    return text.translate(_VISIBLE)


def one_line(text: str, limit: int = 2000) -> str:
    """``text`` as a single printable line of at most ``limit`` characters."""
    line = " ".join(printable(text).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"
