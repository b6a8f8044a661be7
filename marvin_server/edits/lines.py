"""Lines of text with their ends: only LF and CR LF end a line, and every line keeps its own."""

import re
from collections.abc import Sequence

_LINE = re.compile(r"[^\n]*\n|[^\n]+")


def split(text: str) -> list[str]:
    """The lines of ``text`` with their ends; joined, they are ``text`` again."""
    return _LINE.findall(text)


def bare(line: str) -> str:
    """``line`` without its end."""
    return line.removesuffix("\n").removesuffix("\r")


def ended(line: str) -> bool:
    """Whether ``line`` has an end; the last one of a file may have none."""
    return line.endswith("\n")


def end_at(lines: Sequence[str], index: int) -> str:
    """The end of the line at ``index``, else of the nearest one before it, else LF."""
    for line in (*lines[index : index + 1], *lines[max(0, index - 2) : index][::-1]):
        if ended(line):
            return line[len(bare(line)) :]
    return "\n"


def like(text: str, other: str) -> str:
    r"""``text`` with the line ends of ``other``: without ``\r\n`` where that has none, and the other way round."""
    if "\r\n" not in other:
        return text.replace("\r\n", "\n") if "\n" in other else text
    return text if "\r\n" in text else text.replace("\n", "\r\n")
