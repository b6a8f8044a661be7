"""The unified diff between two versions of one file."""

import difflib
import re
from collections.abc import Iterator
from itertools import takewhile

from msgspec import Struct

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_CONTEXT = 3
_COMPARED_LINES = 400


class Difference(Struct, frozen=True):
    """``diff`` is a unified diff of one hunk, empty for equal texts; ``added`` and ``removed`` count its lines."""

    diff: str
    added: int
    removed: int


def difference(path: str, before: str, after: str) -> Difference:
    """How ``before`` becomes ``after``, as one hunk in the format of GNU diff.

    Takes time in proportion to the texts: lines within a changed region of over 400 lines are not matched up.
    """
    old, new = _LINE.findall(before), _LINE.findall(after)
    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    changed_old, changed_new = old[head : len(old) - tail], new[head : len(new) - tail]
    if not changed_old and not changed_new:
        return Difference("", 0, 0)
    lines = list(_changes(changed_old, changed_new))
    start = max(0, head - _CONTEXT)
    context = [" " + line for line in old[start:head]], [" " + line for line in old[len(old) - tail :][:_CONTEXT]]
    around = len(context[0]) + len(context[1])
    spans = [_span(start, len(changed) + around) for changed in (changed_old, changed_new)]
    header = f"--- a/{path}\n+++ b/{path}\n@@ -{spans[0]} +{spans[1]} @@\n"
    body = (
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
        for line in (*context[0], *lines, *context[1])
    )
    return Difference(
        header + "".join(body),
        sum(line.startswith("+") for line in lines),
        sum(line.startswith("-") for line in lines),
    )


def _common(one: list[str], other: list[str]) -> int:
    """How many lines both begin with."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _changes(old: list[str], new: list[str]) -> Iterator[str]:
    whole = [("replace", 0, len(old), 0, len(new))]
    large = len(old) + len(new) > _COMPARED_LINES
    for kind, i, j, k, m in whole if large else difflib.SequenceMatcher(None, old, new, False).get_opcodes():
        if kind == "equal":
            yield from (" " + line for line in old[i:j])
        else:
            yield from ("-" + line for line in old[i:j])
            yield from ("+" + line for line in new[k:m])


def _span(start: int, count: int) -> str:
    """A hunk's lines: the first is one-based, and names the line before when there are none."""
    return f"{start + 1 if count else start},{count}"
