"""Hunks: the contiguous pieces of a change to one file, each with an id, to be shown, kept or left out."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import accumulate, takewhile

from msgspec import Struct
from msgspec.structs import replace

from marvin_server.edits.lines import split
from marvin_server.events import Hunk

_COMPARED_LINES = 400


class Region(Struct, frozen=True):
    """The lines of a file from the index ``start`` up to ``end``, and the lines that take their place."""

    start: int
    end: int
    new: tuple[str, ...]


class FileChange(Struct, frozen=True):
    """What becomes of one file: ``old`` is None for one that is made, ``new`` for one that goes.

    ``move_to`` is its new place, ``executable`` whether it gets or loses that permission; None keeps either. ``notes``
    say how the patch did not fit exactly.
    """

    path: str
    old: str | None
    new: str | None
    hunks: tuple[Hunk, ...]
    move_to: str | None = None
    executable: bool | None = None
    notes: tuple[str, ...] = ()


def keep(change: FileChange, ids: Collection[str]) -> FileChange | None:
    """``change`` with only the hunks that ``ids`` name; None when nothing is left to do.

    A file that is made or deleted has one hunk. Moving and permissions are kept.
    """
    hunks = [hunk for hunk in change.hunks if hunk.id in ids]
    if len(hunks) == len(change.hunks):
        return change
    if change.old is None or change.new is None:
        return None
    lines = split(change.old)
    regions = [Region(h.old_start - 1, h.old_start - 1 + len(h.old_lines), h.new_lines) for h in hunks]
    if not regions and not change.move_to and change.executable is None:
        return None
    return replace(change, new="".join(replaced(lines, regions)), hunks=numbered(change.path, lines, regions))


def whole(path: str, old: str | None, new: str | None) -> tuple[Hunk, ...]:
    """The hunks of a file that is made (``old`` is None), deleted (``new`` is None) or written anew."""
    before, after = split(old or ""), split(new or "")
    if old is None or new is None:
        return numbered(path, before, [Region(0, len(before), tuple(after))])
    return numbered(path, before, compared(before, after))


def replaced(lines: Sequence[str], regions: Iterable[Region]) -> list[str]:
    """``lines`` with ``regions`` in place. Raises ValueError unless these are sorted, apart, and within ``lines``."""
    result: list[str] = []
    end = 0
    for region in regions:
        if not end <= region.start <= region.end <= len(lines):
            raise ValueError(f"the lines {region.start} to {region.end} cannot be replaced after line {end}")
        result += lines[end : region.start]
        result += region.new
        end = region.end
    return result + list(lines[end:])


def numbered(path: str, lines: Sequence[str], regions: Iterable[Region]) -> tuple[Hunk, ...]:
    """``regions`` of ``lines`` as hunks: touching ones are one, and those that change nothing are left out."""
    hunks: list[Hunk] = []
    seen: Counter[str] = Counter()
    shift = 0
    for region in _joined(regions):
        old = tuple(lines[region.start : region.end])
        if old != region.new:
            name = _id(path, old, region.new, seen)
            hunks.append(Hunk(name, region.start + 1, old, region.start + shift + 1, region.new))
        shift += len(region.new) - len(old)
    return tuple(hunks)


def compared(old: Sequence[str], new: Sequence[str], start: int = 0) -> list[Region]:
    """How the lines ``old``, the first of which has the index ``start``, become ``new``.

    Takes time in proportion to the lines: within a changed part of over 400 of them they are not matched up.
    """
    import difflib

    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    before, after = old[head : len(old) - tail], new[head : len(new) - tail]
    start += head
    if not before and not after:
        return []
    sizes = sorted((len(before), len(after)))
    if sizes[0] == 0 or sizes[1] == 1 or sum(sizes) > _COMPARED_LINES:
        return [Region(start, start + len(before), tuple(after))]
    return [
        Region(start + i, start + j, tuple(after[k:m]))
        for kind, i, j, k, m in difflib.SequenceMatcher(None, before, after, False).get_opcodes()
        if kind != "equal"
    ]


def matched(old: Sequence[str], new: Sequence[str]) -> list[str]:
    """How the lines ``old`` become ``new``, as the body of a ``Piece``."""
    result: list[str] = []
    place = 0
    for region in compared(old, new):
        result += [" " + line for line in old[place : region.start]]
        result += ["-" + line for line in old[region.start : region.end]]
        result += ["+" + line for line in region.new]
        place = region.end
    return result + [" " + line for line in old[place:]]


class Splice(Struct, frozen=True):
    """The characters of a text from ``start`` up to ``end``, and the text that takes their place."""

    start: int
    end: int
    new: str


def spliced(path: str, text: str, splices: Sequence[Splice]) -> FileChange:
    """The change that ``splices``, sorted and not overlapping, make to the file ``path`` with ``text``."""
    lines = split(text)
    ends = list(accumulate(map(len, lines)))
    regions: list[Region] = []
    pending = list(splices[::-1])
    while pending:
        group = [pending.pop()]
        first = bisect_right(ends, group[0].start)
        last = _line_after(ends, group[0].end)
        while pending and bisect_right(ends, pending[-1].start) < last:
            group.append(pending.pop())
            last = max(last, _line_after(ends, group[-1].end))
        begin = ends[first - 1] if first else 0
        parts: list[str] = []
        for splice in group:
            parts += text[begin : splice.start], splice.new
            begin = splice.end
        after = split("".join(parts) + text[begin : ends[last - 1] if last else 0])
        regions += compared(lines[first:last], after, first)
    return FileChange(path, text, "".join(replaced(lines, regions)), numbered(path, lines, regions))


def _line_after(ends: Sequence[int], offset: int) -> int:
    """The index of the line after the one that holds ``offset``: what is left of a line is changed with it."""
    return min(bisect_right(ends, offset) + 1, len(ends))


def _joined(regions: Iterable[Region]) -> Iterator[Region]:
    """``regions`` with those that touch as one."""
    group: list[Region] = []
    for region in regions:
        if group and group[-1].end != region.start:
            yield _one(group)
            group = []
        group.append(region)
    if group:
        yield _one(group)


def _one(group: Sequence[Region]) -> Region:
    return Region(group[0].start, group[-1].end, tuple(line for region in group for line in region.new))


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """How many lines both begin with."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _id(path: str, old: Sequence[str], new: Sequence[str], seen: Counter[str]) -> str:
    import hashlib

    content = "\0".join([path, *(f"-{line}" for line in old), *(f"+{line}" for line in new)])
    digest = hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()
    seen[digest] += 1
    return hashlib.sha256(f"{digest} {seen[digest]}".encode()).hexdigest()[:16]
