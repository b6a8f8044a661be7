"""The part of a text that answers a question best: one definition with what stands above it, not a file as a whole."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise

from msgspec import Struct

from marvin_server.workspace.repo_map.index import Word
from marvin_server.workspace.repo_map.languages import language_of
from marvin_server.workspace.repo_map.scan import definitions
from marvin_server.workspace.repo_map.words import names

_LONGEST = 60  # lines
_TITLE = 1.0  # how much more a word counts in the first lines


class Passage(Struct, frozen=True):
    """Lines ``first`` up to ``end``, without it, counted from 0, and how much of a question's weight they have."""

    score: float
    first: int
    end: int


def passages(path: str, text: str, words: Sequence[Word]) -> list[Passage]:
    """The passages of ``text`` that have any of ``words``, the best first."""
    lines = text.split("\n")
    found: list[Passage] = []
    for first, head, end in _blocks(path, text, lines):
        title = names(lines[head].encode("utf-8", "replace"))
        body = names("\n".join(lines[first:end]).encode("utf-8", "replace"))
        score = sum(
            word.weight * (1 + _TITLE * (not word.names.isdisjoint(title)))
            for word in words
            if not word.names.isdisjoint(body)
        )
        if score:
            found.append(Passage(score / (1 + (end - first) / (4 * _LONGEST)), first, end))
    return sorted(found, key=lambda one: (-one.score, one.first))


def _blocks(path: str, text: str, lines: list[str]) -> Iterator[tuple[int, int, int]]:
    """The first line, the line of the definition, and the end of each part of the text."""
    language = language_of(path)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    heads = [bisect_right(starts, place) - 1 for place, _ in definitions(language, text)] if language else []
    cuts = {0: 0, len(lines): len(lines)}
    for head in heads:
        first = head
        while first and lines[first - 1].strip() and head - first < 8:
            first -= 1
        cuts[first] = max(head, cuts.get(first, 0))
    for first, end in pairwise(sorted(cuts)):
        for part in range(first, end, _LONGEST):
            yield part, max(part, cuts[first]), min(part + _LONGEST, end)
