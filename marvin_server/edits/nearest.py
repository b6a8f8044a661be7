"""The place in a file that is most like text that was not found in it, and how the two differ."""

import difflib
import re
from collections import defaultdict
from collections.abc import Sequence

from msgspec import Struct

_SHOWN_LINES = 20
_SHOWN_WIDTH = 200
_COMMON_WORD = 200
_LARGEST_SEARCH = 4_000_000


class Near(Struct, frozen=True):
    """``line`` (1-based) is the place, None where nothing is alike; ``hint`` tells a model about it."""

    line: int | None
    hint: str


def nearest(text: str, sought: str, name: str) -> Near:
    """Where ``text`` is most like ``sought``, which ``name`` stands for in the hint."""
    wanted, lines = _lines(sought), _lines(text)
    start = _likely_start(lines, wanted) if len(text) <= _LARGEST_SEARCH else None
    if start is None:
        return Near(None, "No place in the file is clearly like it.")
    there = lines[start : start + len(wanted)]
    where = f"The nearest place starts at line {start + 1}."
    if wanted == there:
        return Near(start + 1, f"{where} Only the line ends or the end of the last line differ.")
    return Near(start + 1, f"{where} {_difference(wanted, there, name)}")


def _difference(wanted: Sequence[str], there: Sequence[str], name: str) -> str:
    first = next((i for i, pair in enumerate(zip(wanted, there, strict=False)) if pair[0] != pair[1]), len(there))
    shown = slice(max(0, first - 2), first + _SHOWN_LINES)
    before, after = ([line[:_SHOWN_WIDTH] for line in side[shown]] for side in (wanted, there))
    difference = list(difflib.unified_diff(before, after, n=2, lineterm=""))[3:]
    if ["".join(line.split()) for line in wanted] == ["".join(line.split()) for line in there]:
        difference.append("Only white space differs.")
    return "\n".join([f"- is {name}, + is the file:", *difference])


def _lines(text: str) -> list[str]:
    return text.replace("\r\n", "\n").removesuffix("\n").split("\n")


def _likely_start(lines: Sequence[str], wanted: Sequence[str]) -> int | None:
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
