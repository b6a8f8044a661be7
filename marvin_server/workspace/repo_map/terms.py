"""An inverted index: which files have which name, packed so that it is loaded without a look at each name."""

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, chain, count

from msgspec import Struct

from marvin_server.workspace.repo_map.words import LONGEST, SHORTEST, spellings, stems

_BEYOND_ASCII = re.compile(rb"[\x80-\xff]+")


class Terms(Struct, frozen=True, array_like=True, dict=True):
    """``lines`` has each name once, with a line break behind it, and ``starts`` where each begins. ``files`` has the
    numbers of the files that have the first name, then those of the second, and so on, and ``ends`` where those of each
    end. Numbers of files have 16 bits, places 32."""

    lines: bytes
    starts: bytes
    files: bytes
    ends: bytes

    def with_stem(self, stem: str) -> tuple[set[bytes], set[int]]:
        """The names with a word of this stem, and the files that have any of them."""
        names = dict(self._with_stem(stem))
        return set(names), set[int]().union(*map(self._files_of, names.values()))

    def of(self, names: set[bytes]) -> Iterator[tuple[bytes, Sequence[int]]]:
        """Those of ``names`` that files have, with these files."""
        for name in names & self._numbers.keys():
            yield name, self._files_of(self._numbers[name])

    def all(self) -> set[bytes]:
        """All names that files have."""
        return set(self._numbers)

    def _with_stem(self, stem: str) -> Iterator[tuple[bytes, int]]:
        starts = memoryview(self.starts).cast("I")
        lines = self._lowered if stem.isascii() else self._lowered_beyond_ascii
        for spelling in spellings(stem):
            sought = spelling.encode("utf-8", "replace")
            place = 0
            while (place := lines.find(sought, place)) >= 0:
                number = bisect_right(starts, place) - 1
                start, place = starts[number], lines.index(b"\n", place)
                if stem in stems(name := self.lines[start:place]):
                    yield name, number

    def _files_of(self, number: int) -> Sequence[int]:
        files, ends = self._arrays
        return files[ends[number - 1] if number else 0 : ends[number]]

    @cached_property
    def _arrays(self) -> "tuple[memoryview[int], memoryview[int]]":
        return memoryview(self.files).cast("H"), memoryview(self.ends).cast("I")

    @cached_property
    def _numbers(self) -> dict[bytes, int]:
        return dict(zip(self.lines.split(b"\n")[:-1], count(), strict=False))

    @cached_property
    def _lowered(self) -> bytes:
        return self.lines.lower()

    @cached_property
    def _lowered_beyond_ascii(self) -> bytes:
        return _BEYOND_ASCII.sub(_lower, self._lowered)


def terms(found: Mapping[bytes, Sequence[int]]) -> Terms:
    """The names in ``found`` that have words in them, with their files."""
    kept = [name for name in found if SHORTEST <= len(name) <= LONGEST and not name.isdigit()]
    files = [found[name] for name in kept]
    lines = b"".join(name + b"\n" for name in kept)
    starts = array("I", accumulate((len(name) + 1 for name in kept), initial=0))
    ends = array("I", accumulate(map(len, files)))
    return Terms(lines, starts.tobytes(), array("H", chain.from_iterable(files)).tobytes(), ends.tobytes())


def _lower(match: re.Match[bytes]) -> bytes:
    """In lower case what is so without becoming longer or shorter, as the rest shall stay where it is."""
    lower = match[0].decode("utf-8", "replace").lower().encode()
    return lower if len(lower) == len(match[0]) else match[0]
