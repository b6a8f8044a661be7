"""Compares texts of any length piece by piece: lines that occur once on both sides hold the rest in place."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from marvin_server.edits.hunks import Region, compared


def differing(old: Sequence[str], new: Sequence[str]) -> list[Region]:
    """How the lines ``old`` become ``new``; the regions are sorted and do not touch.

    Between anchors, the lines are compared as ``compared`` does (this is the idea of Bram Cohen's patience diff).
    """
    found: list[Region] = []
    for (i, j), (k, m) in pairwise([(-1, -1), *_anchors(old, new), (len(old), len(new))]):
        found += compared(old[i + 1 : k], new[j + 1 : m], i + 1)
    return found


def _anchors(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """The most lines, as pairs of indexes, that occur once on each side and in the same order."""
    once = {line for line, count in Counter(old).items() if count == 1}
    places = {line: index for index, line in enumerate(old) if line in once}
    twice = {line for line, count in Counter(new).items() if count > 1}
    pairs = [(places[line], j) for j, line in enumerate(new) if line in places and line not in twice]
    # The longest run of growing indexes: the best ends so far, each with the pair before it.
    ends: list[int] = []
    best: list[int] = []
    before: list[int | None] = []
    for number, (i, _) in enumerate(pairs):
        length = bisect_left(ends, i)
        before.append(best[length - 1] if length else None)
        ends[length : length + 1] = [i]
        best[length : length + 1] = [number]
    run: list[tuple[int, int]] = []
    at = best[-1] if best else None
    while at is not None:
        run.append(pairs[at])
        at = before[at]
    return run[::-1]
