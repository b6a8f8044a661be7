"""Replace one exact occurrence of a text, and say where to look when there is none or more than one."""

import difflib
import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import islice

from marvin_server.errors import ToolError

_NEWLINE = r"(?:\r\n|(?<!\r)\n)"
_SHOWN_LINES = 20
_SHOWN_WIDTH = 200
_COMMON_WORD = 200
_LARGEST_SEARCH = 4_000_000


class NotFound(ToolError):
    """``old_str`` does not occur. ``line`` (1-based) is the place most like it, None where nothing is alike."""

    def __init__(self, line: int | None, difference: str) -> None:
        hint = f"The nearest place starts at line {line}. {difference}" if line else difference
        super().__init__(f"old_str was not found; the file may have changed since it was read. {hint}".rstrip())
        self.line = line


class Ambiguous(ToolError):
    """``old_str`` occurs more than once. ``lines`` (1-based) are where, the first twenty at most."""

    def __init__(self, lines: tuple[int, ...], *, more: bool) -> None:
        where = ", ".join(map(str, lines)) + (" and more" if more else "")
        super().__init__(f"old_str occurs more than once, at lines {where}. Add lines around it until only one fits.")
        self.lines = lines


def replace_once(text: str, old: str, new: str) -> str:
    """``text`` with the only occurrence of ``old`` replaced by ``new``.

    An ``old`` without carriage returns fits lines that end in CR LF as well; the line ends of ``new`` then become
    those of the place where it goes. An ``old`` with carriage returns is taken exactly, and so is its ``new``.
    Overlapping occurrences count. Raises ``NotFound``, ``Ambiguous``, or ``ToolError`` for an empty ``old``.
    """
    if not old:
        raise ToolError("old_str is empty. Give the exact text to replace, or use append_file to add to the end.")
    any_ending = "\r" in text and "\r" not in old
    matches = list(islice(_matches(text, old, any_ending=any_ending), _SHOWN_LINES + 1))
    if not matches:
        raise _not_found(text, old)
    if len(matches) > 1:
        lines = (text.count("\n", 0, start) + 1 for start, _ in matches[:_SHOWN_LINES])
        raise Ambiguous(tuple(dict.fromkeys(lines)), more=len(matches) > _SHOWN_LINES)
    [(start, end)] = matches
    if any_ending:
        new = re.sub(r"\r?\n", _newline_at(text, start), new)
    return text[:start] + new + text[end:]


def _matches(text: str, old: str, *, any_ending: bool) -> Iterator[tuple[int, int]]:
    if any_ending:
        pattern = re.compile(_NEWLINE.join(map(re.escape, old.split("\n"))))
        match = pattern.search(text)
        while match:
            yield match.span()
            match = pattern.search(text, match.start() + 1)
    else:
        start = text.find(old)
        while start >= 0:
            yield start, start + len(old)
            start = text.find(old, start + 1)


def _newline_at(text: str, position: int) -> str:
    """The line end of the line at ``position``, else of the line before it."""
    end = text.find("\n", position)
    if end < 0:
        end = text.rfind("\n", 0, position)
    return "\r\n" if end > 0 and text[end - 1] == "\r" else "\n"


def _lines(text: str) -> list[str]:
    return text.replace("\r\n", "\n").removesuffix("\n").split("\n")


def _not_found(text: str, old: str) -> NotFound:
    wanted, lines = _lines(old), _lines(text)
    start = _nearest(lines, wanted) if len(text) <= _LARGEST_SEARCH else None
    if start is None:
        return NotFound(None, "No place in the file is clearly like it.")
    there = lines[start : start + len(wanted)]
    if wanted == there:
        return NotFound(start + 1, "Only the line ends or the end of the last line differ.")
    first = next((i for i, pair in enumerate(zip(wanted, there, strict=False)) if pair[0] != pair[1]), len(there))
    shown = slice(max(0, first - 2), first + _SHOWN_LINES)
    before, after = ([line[:_SHOWN_WIDTH] for line in side[shown]] for side in (wanted, there))
    difference = list(difflib.unified_diff(before, after, n=2, lineterm=""))[3:]
    if ["".join(line.split()) for line in wanted] == ["".join(line.split()) for line in there]:
        difference.append("Only white space differs.")
    return NotFound(start + 1, "\n".join(["- is old_str, + is the file:", *difference]))


def _nearest(lines: list[str], wanted: list[str]) -> int | None:
    """The index in ``lines`` where ``wanted`` would start if it were there, by the rare words that both have.

    Each rare word votes for the start that its two places imply; rarer words weigh more. One pass over ``lines``.
    """
    offsets: defaultdict[str, list[int]] = defaultdict(list)
    for offset, line in enumerate(wanted):
        for word in set(re.findall(r"\w+", line)):
            offsets[word].append(offset)
    places: defaultdict[str, list[int]] = defaultdict(list)
    for number, line in enumerate(lines):
        for word in offsets.keys() & set(re.findall(r"\w+", line)):
            places[word].append(number)
    votes: defaultdict[int, float] = defaultdict(float)
    for word, numbers in places.items():
        if len(numbers) * len(offsets[word]) <= _COMMON_WORD:
            for number in numbers:
                for offset in offsets[word]:
                    votes[max(0, number - offset)] += 1 / len(numbers)
    return max(votes, key=lambda start: (votes[start], -start), default=None)
