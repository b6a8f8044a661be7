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


def ended_as(now: str, made: str, before: str) -> tuple[str, str]:
    """``made``, which has become ``now``, and ``before``, from which it was made, with the end of ``now``: a line end
    at the very end, which some editors add by themselves, is no change of a line. Where ``now`` and ``made`` end alike
    both stay as they are."""
    end = "\r\n" if "\r\n" in now else "\n"
    if not now or not made:
        return made, before
    if ended(now) and not ended(made):
        return made + end, before + end if before and not ended(before) else before
    if ended(made) and not ended(now):
        return made.removesuffix(end), before.removesuffix(end)
    if ended(now) and _empty_at_end(now) - _empty_at_end(made) == len(end):
        return made + end, before + end if before else before
    return made, before


def _empty_at_end(text: str) -> int:
    """How many characters there are in the line ends at the end of ``text``."""
    return len(text) - len(text.rstrip("\r\n"))


def like(text: str, other: str) -> str:
    r"""``text`` with the line ends of ``other``: without ``\r\n`` where that has none, and the other way round."""
    if "\r\n" not in other:
        return text.replace("\r\n", "\n") if "\n" in other else text
    return text if "\r\n" in text else text.replace("\n", "\r\n")


def alike(text: str, other: str) -> bool:
    """Whether the texts are the same but for the last line end, and the kinds of line ends, a lone CR among them.
    Editors that keep line ends apart from the text cannot show such differences."""
    one, two = (each.replace("\r\n", "\n").replace("\r", "\n") for each in (text, other))
    return one in {two, f"{two}\n", two.removesuffix("\n")}
