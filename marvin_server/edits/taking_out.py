"""Takes one hunk back out of a text that has changed since, where its place is beyond doubt."""

from collections.abc import Sequence

from marvin_server.edits.hunks import Region, replaced
from marvin_server.edits.lines import ended_as, split
from marvin_server.edits.merge import merge
from marvin_server.events import Hunk


def taken_out(hunk: Hunk, made: str, now: str) -> str | None:
    """The text ``now`` with the old lines of ``hunk`` in place of its new ones; None when these are not there any more,
    or it cannot be told which they are.

    ``made`` is the text right after the hunk was made; both texts have the same kind of line ends.
    """
    lines = split(made)
    start = hunk.new_start - 1
    end = start + len(hunk.new_lines)
    if tuple(lines[start:end]) != hunk.new_lines:
        return None
    made, before = ended_as(now, made, "".join(replaced(lines, [Region(start, end, hunk.old_lines)])))
    merged = merge(made, now, before)
    if not merged.conflicts:
        return merged.text
    lines = split(made)
    return _by_text(lines, Region(start, end, tuple(split(before)[start : start + len(hunk.old_lines)])), split(now))


def _by_text(made: Sequence[str], back: Region, now: Sequence[str]) -> str | None:
    """As ``taken_out``, where lines that touch those of ``made`` which ``back`` replaces have changed: the only place
    with these lines, next to one of the lines that they were next to."""
    wanted = made[back.start : back.end]
    if not any(line.strip() for line in wanted) or len(_places(wanted, made)) > 1:
        return None
    places = _places(wanted, now)
    if len(places) != 1:
        return None
    place, end = places[0], places[0] + len(wanted)
    was = made[max(0, back.start - 1) : back.start], made[back.end : back.end + 1]
    there = now[max(0, place - 1) : place], now[end : end + 1]
    if was[0] != there[0] and was[1] != there[1]:
        return None
    return "".join(replaced(now, [Region(place, end, back.new)]))


def _places(wanted: Sequence[str], lines: Sequence[str]) -> list[int]:
    """The indices at which ``wanted`` is in ``lines``."""
    size = len(wanted)
    return [index for index in range(len(lines) - size + 1) if lines[index : index + size] == wanted]
