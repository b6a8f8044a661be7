"""Finds the paths that a person may mean by a few letters of one."""

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from msgspec import Struct

# So many paths are searched at a time; in between, other threads get their turn.
_CHUNK = 500
# So many are ranked one by one; more of them are taken in the order of what is looked for, one scan each.
_MOST_RANKED = 2_000


class Paths(Struct, frozen=True):
    """Paths that can be searched, the short ones first: as they are, and ``folded`` in pieces of one per line."""

    paths: tuple[str, ...]
    folded: tuple[str, ...]

    @classmethod
    def of(cls, paths: Sequence[str]) -> "Paths":
        """Those of ``paths`` that fit on a line; folders end with a slash."""
        kept = tuple(sorted((path for path in paths if "\n" not in path), key=lambda path: (len(path), path)))
        chunks = (kept[start : start + _CHUNK] for start in range(0, len(kept), _CHUNK))
        return cls(kept, tuple("\n".join(chunk).lower() for chunk in chunks))

    def best(self, letters: str, limit: int) -> list[str]:
        """The ``limit`` paths in which ``letters`` come in this order, whatever their case, best first: the name
        begins with them, holds them, the path does, or they are strewn in it; among these the short ones first. No
        letters mean what is at the top."""
        wanted = letters.lower()
        if not wanted:
            return sorted(path for path in self.paths if "/" not in path[:-1])[:limit]
        patterns = _patterns(wanted)
        found = list(islice(self._holding(patterns[-1]), _MOST_RANKED))
        if len(found) < _MOST_RANKED:
            checks = [re.compile(pattern) for pattern in patterns[:-1]]
            ranked = sorted(found, key=lambda number: _tier(self.paths[number].lower(), checks))
        else:
            ranked = self._first(patterns, limit)
        return [self.paths[number] for number in ranked[:limit]]

    def _first(self, patterns: Sequence[str], limit: int) -> list[int]:
        """The first ``limit`` that fit the first of ``patterns``, then those that fit the next."""
        found: dict[int, None] = {}
        for pattern in patterns:
            for number in self._holding(pattern):
                found[number] = None
                if len(found) == limit:
                    return list(found)
        return list(found)

    def _holding(self, pattern: str) -> Iterator[int]:
        """The numbers of the paths that begin with what fits ``pattern``."""
        search = re.compile(f"^{pattern}", re.MULTILINE)
        for piece, chunk in enumerate(self.folded):
            number, end = piece * _CHUNK, 0
            for match in search.finditer(chunk):
                number += chunk.count("\n", end, match.start())
                end = match.start()
                yield number


def _patterns(wanted: str) -> tuple[str, ...]:
    """What fits the beginning of a path in lower case, the best first: the last fits all that the others fit.

    The last is possessive, so that a path is looked through once.
    """
    whole = re.escape(wanted)
    strewn = "".join(rf"[^\n{re.escape(letter)}]*+{re.escape(letter)}" for letter in wanted)
    return rf"(?:.*/)?{whole}[^/\n]*/?$", rf".*{whole}[^/\n]*/?$", rf".*{whole}", strewn


def _tier(path: str, checks: Sequence[re.Pattern[str]]) -> int:
    return next((tier for tier, check in enumerate(checks) if check.match(path)), len(checks))
