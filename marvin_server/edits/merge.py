"""Three-way merge of lines: what two sides made of one text, brought together where they do not meet."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from marvin_server.edits.anchors import differing
from marvin_server.edits.hunks import Region, replaced
from marvin_server.edits.lines import split


class Conflict(Struct, frozen=True):
    """Where both sides changed the same lines, touching ones, or lines whose place is a matter of taste.

    ``line`` is the number, from 1, of the first such line of ours; ``ours`` and ``theirs`` are what each side has.
    """

    line: int
    ours: tuple[str, ...]
    theirs: tuple[str, ...]


class Merged(Struct, frozen=True):
    """``text`` has the changes of both sides, and ours alone wherever there are ``conflicts``."""

    text: str
    conflicts: tuple[Conflict, ...] = ()


def merge(base: str, ours: str, theirs: str) -> Merged:
    """What ``ours`` and ``theirs`` together make of ``base``; lines end with LF, and keep what is before it.

    Changes are kept apart by at least one line that neither side changed, else they conflict unless they are the same.
    Where equal lines follow each other it can be unclear which of them a side has changed: the texts are compared
    from both ends, and a result that depends on the direction is a conflict too.
    """
    sides = (split(base), split(ours), split(theirs))
    lines, conflicts = _merged(*sides)
    if not conflicts:
        mirrored, doubts = _merged(*(side[::-1] for side in sides))
        conflicts = [_turned(doubt, len(sides[1])) for doubt in reversed(doubts)] or [
            Conflict(region.start + 1, tuple(lines[region.start : region.end]), region.new)
            for region in differing(lines, mirrored[::-1])
        ]
        if conflicts:
            return Merged(ours, tuple(conflicts))
    return Merged("".join(lines), tuple(conflicts))


def _merged(base: Sequence[str], ours: Sequence[str], theirs: Sequence[str]) -> tuple[list[str], list[Conflict]]:
    lines: list[str] = []
    conflicts: list[Conflict] = []
    end = shift = 0
    for start, stop, mine, other in _clusters(base, differing(base, ours), differing(base, theirs)):
        lines += base[end:start]
        kept, new = (_applied(base, start, stop, regions) for regions in (mine, other))
        if mine and other and kept != new:
            conflicts.append(Conflict(start + shift + 1, tuple(kept), tuple(new)))
        lines += kept if mine else new
        shift += sum(len(region.new) - (region.end - region.start) for region in mine)
        end = stop
    return lines + list(base[end:]), conflicts


def _turned(conflict: Conflict, lines: int) -> Conflict:
    """A conflict that was found from the end of ``lines`` lines of ours, as seen from their beginning."""
    line = lines - conflict.line - len(conflict.ours) + 2
    return Conflict(line, conflict.ours[::-1], conflict.theirs[::-1])


def _clusters(
    base: Sequence[str], ours: Iterable[Region], theirs: Iterable[Region]
) -> list[tuple[int, int, list[Region], list[Region]]]:
    """The parts of the base, from a line up to another, in which regions overlap or touch, with each side's regions."""
    clusters: list[tuple[int, int, list[Region], list[Region]]] = []
    sided = [(*_reach(base, region), region, side) for side, regions in enumerate((ours, theirs)) for region in regions]
    for start, stop, region, side in sorted(sided, key=lambda each: each[:2]):
        regions: tuple[list[Region], list[Region]] = ([], [])
        begin, end = start, stop
        if clusters and start <= clusters[-1][1]:
            begin, end, *known = clusters.pop()
            regions = (known[0], known[1])
        regions[side].append(region)
        clusters.append((begin, max(stop, end), *regions))
    return clusters


def _reach(base: Sequence[str], region: Region) -> tuple[int, int]:
    """From where up to where the lines that ``region`` adds or takes away may as well be, since equal ones follow."""
    start, end = region.start, region.end
    lines = region.new or tuple(base[start:end])
    if region.new and start != end:
        return start, end
    up = down = 0
    while start - up > 0 and base[start - up - 1] == lines[-1 - up % len(lines)]:
        up += 1
    while end + down < len(base) and base[end + down] == lines[down % len(lines)]:
        down += 1
    return start - up, end + down


def _applied(base: Sequence[str], start: int, stop: int, regions: Sequence[Region]) -> list[str]:
    """The lines of the base from ``start`` up to ``stop`` with ``regions`` in place."""
    moved = [Region(region.start - start, region.end - start, region.new) for region in regions]
    return replaced(base[start:stop], moved)
