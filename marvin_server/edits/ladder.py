"""Where lines occur in a file: found exactly, else by a ladder of rungs that forgive more and more.

Each distinct wanted line becomes one character, and so does each line of the file, so that looking for lines is
looking for a short text in a long one. That takes a pass over the file for each rung that is reached, and next to
nothing for each search.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate

from msgspec import Struct

from marvin_server.edits.lines import bare

_PUNCTUATION = str.maketrans(
    dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-")
    | dict.fromkeys("\u2018\u2019\u201a\u201b", "'")
    | dict.fromkeys("\u201c\u201d\u201e\u201f", '"')
    | dict.fromkeys("\u00a0\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000", " ")
)
_UNWANTED = "\0"


def plain(text: str) -> str:
    """``text`` with typographic dashes, quotation marks and spaces as ASCII."""
    return text.translate(_PUNCTUATION)


class Rung(Struct, frozen=True):
    """One way to compare lines. ``forgives`` says in words what may differ, empty for nothing but the line end."""

    forgives: str
    fold: Callable[[str], str]
    ignores_indentation: bool = False


EXACT = Rung("", bare)
LADDER = (
    EXACT,
    Rung("white space at the ends of lines", str.rstrip),
    Rung("white space at both edges of lines", str.strip, ignores_indentation=True),
    Rung(
        "typographic punctuation and white space at both edges of lines",
        lambda line: plain(line).strip(),
        ignores_indentation=True,
    ),
)


class _Encoded(Struct, frozen=True):
    alphabet: Mapping[str, str]
    text: str


class Lines:
    """The lines of a file, ready to be searched for sequences of ``wanted`` lines, and for no others."""

    def __init__(self, lines: Sequence[str], wanted: Iterable[str]) -> None:
        self._lines = lines
        self._wanted = dict.fromkeys(wanted)
        self._encoded: dict[Rung, _Encoded] = {}
        self._beginnings: tuple[str, list[int]] | None = None

    def places(self, wanted: Sequence[str], rung: Rung, start: int = 0) -> Iterator[int]:
        """The indices from ``start`` on where ``wanted``, not empty, occurs; overlapping ones too."""
        encoded = self._on(rung)
        sought = "".join(encoded.alphabet[rung.fold(line)] for line in wanted)
        place = encoded.text.find(sought, start)
        while place >= 0:
            yield place
            place = encoded.text.find(sought, place + 1)

    def is_at(self, wanted: Sequence[str], rung: Rung, place: int) -> bool:
        """Whether ``wanted`` is at the index ``place``."""
        there = self._lines[place : place + len(wanted)] if place >= 0 else ()
        return len(there) == len(wanted) and all(map(lambda a, b: rung.fold(a) == rung.fold(b), there, wanted))

    def beginning(self, text: str, start: int = 0) -> int | None:
        """The index from ``start`` on of the first line that begins with ``text``, white space in front aside."""
        if self._beginnings is None:
            stripped = ["\n" + line.strip() for line in self._lines]
            self._beginnings = "".join(stripped), [0, *accumulate(map(len, stripped))]
        from bisect import bisect_right

        joined, offsets = self._beginnings
        place = joined.find("\n" + text.strip(), offsets[min(start, len(offsets) - 1)]) if text.strip() else -1
        return None if place < 0 else bisect_right(offsets, place) - 1

    def _on(self, rung: Rung) -> _Encoded:
        if rung not in self._encoded:
            folded = dict.fromkeys(map(rung.fold, self._wanted))
            alphabet = {line: chr(number) for number, line in enumerate(folded, start=1)}
            text = "".join([alphabet.get(rung.fold(line), _UNWANTED) for line in self._lines])
            self._encoded[rung] = _Encoded(alphabet, text)
        return self._encoded[rung]
