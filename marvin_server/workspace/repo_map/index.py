"""The facts of all files side by side: which have a word, and which depend on which by the names that they use."""

from array import array
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from functools import cached_property

from marvin_server.workspace.repo_map.scan import Facts

# A name that more files define than these says nothing of where it comes from.
_MOST_DEFINERS = 6


class Index:
    """``files`` by path. Files go by their number in ``paths``."""

    def __init__(self, files: Mapping[str, Facts]) -> None:
        self.paths = sorted(files)
        facts = [files[path] for path in self.paths]
        self._words = [_numbers(one.words) for one in facts]
        self._titled = [_numbers(one.titled) for one in facts]
        self._defines = [_numbers(one.defines) for one in facts]
        self._facts = facts
        self.average = sum(map(len, self._words)) / max(1, len(facts))

    def with_word(self, key: int) -> list[int]:
        """The files that have a word in their text or their path."""
        return [number for number, words in enumerate(self._words) if _has(words, key)]

    def is_titled(self, number: int, key: int) -> bool:
        """Whether a file has a word in its path or in a name that it defines."""
        return _has(self._titled[number], key)

    def defining(self, key: int) -> Sequence[int]:
        """The files that define a name."""
        return self._definers.get(key, ())

    def length(self, number: int) -> float:
        """How many words a file has, as a multiple of the average."""
        return len(self._words[number]) / (self.average or 1)

    def dependencies(self, number: int) -> dict[int, float]:
        """The files whose names a file uses, with weights that add up to 1."""
        weights: dict[int, float] = {}
        for key in _numbers(self._facts[number].uses):
            definers = self._definers.get(key)
            if definers and len(definers) <= _MOST_DEFINERS:
                share = 1 / len(definers) ** 2
                for definer in definers:
                    weights[definer] = weights.get(definer, 0.0) + share
        whole = sum(weights.values())
        return {definer: weight / whole for definer, weight in weights.items()}

    @cached_property
    def _definers(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for number, keys in enumerate(self._defines):
            for key in keys:
                found.setdefault(key, []).append(number)
        return found


def _has(keys: "array[int]", key: int) -> bool:
    place = bisect_left(keys, key)
    return place < len(keys) and keys[place] == key


def _numbers(packed: bytes) -> "array[int]":
    return array("I", packed)
