"""The segments of a workspace side by side: which files have a word, and which depend on which by the names in them."""

import math
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from marvin_server.workspace.repo_map.segment import Segment

# A name that more files define than these says nothing of where it comes from, nor does one as short as this.
_MOST_DEFINERS = 6
_SHORTEST = 4
_SQUARES = 3600  # can be divided by the squares of all numbers up to _MOST_DEFINERS

Place = tuple[int, int]  # the number of a segment, and that of a file in it


class Word(Struct, frozen=True):
    """The ``names`` that hold the word with this ``stem``; the ``files`` that have it in their text or path, and those
    that are ``titled`` with it, by their path or a name that they define. The fewer files, the more is its ``weight``.
    """

    stem: str
    weight: float
    names: set[bytes]
    files: set[int]
    titled: set[int]


class Index:
    """Files go by their number in ``paths``, which are sorted. ``places`` says where in ``segments`` each of them is;
    what else the segments have does not count. ``left_out`` is how many files of the workspace were not looked at."""

    def __init__(self, segments: Sequence[Segment], places: Mapping[str, Place], left_out: int = 0) -> None:
        self.paths = sorted(places)
        self.left_out = left_out
        self._places = [places[path] for path in self.paths]
        self._segments = segments
        self._numbers: list[list[int | None]] = [[None] * len(segment.sizes) for segment in segments]
        for number, (segment, file) in enumerate(self._places):
            self._numbers[segment][file] = number
        self._average = sum(map(self._names, range(len(self.paths)))) / max(1, len(self.paths)) or 1

    def overlaid(self, segment: Segment) -> "Index":
        """This index with the files of ``segment`` in the place of those of the same paths."""
        places = dict(zip(self.paths, self._places, strict=True))
        places |= {path: (len(self._segments), file) for file, (path, _) in enumerate(segment.files)}
        return Index([*self._segments, segment], places, self.left_out)

    def with_word(self, stem: str) -> Word:
        """Where the word with this stem is."""
        names: set[bytes] = set()
        files: set[int] = set()
        titled: set[int] = set()
        for number, segment in enumerate(self._segments):
            spelled, has = segment.has.with_stem(stem)
            _, called = segment.called.with_stem(stem)
            defines = (defining for _, defining in segment.defines.of(spelled))
            names |= spelled
            files.update(self._present(number, has | called))
            titled.update(self._present(number, called.union(*defines)))
        weight = math.log(1 + (len(self.paths) - len(files) + 0.5) / (len(files) + 0.5))
        return Word(stem, weight, names, files, titled)

    def defining(self, names: set[bytes]) -> dict[bytes, list[int]]:
        """Those of ``names`` that are defined, and the files that do it."""
        found: dict[bytes, list[int]] = {}
        for number, segment in enumerate(self._segments):
            for name, files in segment.defines.of(names):
                if present := self._present(number, files):
                    found.setdefault(name, []).extend(present)
        return found

    def length(self, number: int) -> float:
        """How many names a file has, as a multiple of the average."""
        return self._names(number) / self._average

    def dependencies(self, number: int, names: set[bytes]) -> dict[int, float]:
        """The files that define those ``names`` which a file uses, with weights that add up to 1."""
        weights: dict[int, float] = {}
        for name, definers in sorted(self.defining(names).items()):
            if _tells(name, definers) and number not in definers:
                for definer in definers:
                    weights[definer] = weights.get(definer, 0.0) + 1 / len(definers) ** 2
        whole = sum(weights.values())
        return {definer: weight / whole for definer, weight in weights.items()}

    def depended_on(self) -> dict[int, float]:
        """The files whose names other files use, with weights: for each name, how many files use it."""
        weights: dict[int, float] = {}
        definers = self.defining(set[bytes]().union(*(segment.defines.all() for segment in self._segments)))
        telling = {name for name, files in definers.items() if _tells(name, files)}
        for number, segment in enumerate(self._segments):
            for name, files in segment.has.of(telling):
                users = len(set(self._present(number, files)).difference(definers[name]))
                for definer in definers[name] if users else ():
                    weights[definer] = weights.get(definer, 0) + users * _SQUARES // len(definers[name]) ** 2
        return weights

    def _names(self, number: int) -> int:
        segment, file = self._places[number]
        return self._segments[segment].sizes[file]

    def _present(self, segment: int, files: Iterable[int]) -> list[int]:
        """The numbers of those ``files`` of a segment that count."""
        numbers = self._numbers[segment]
        return [number for file in files if (number := numbers[file]) is not None]


def _tells(name: bytes, definers: Sequence[int]) -> bool:
    """Whether a name says where it comes from."""
    return len(name) >= _SHORTEST and len(definers) <= _MOST_DEFINERS
