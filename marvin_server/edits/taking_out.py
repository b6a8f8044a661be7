"""Takes one hunk back out of a text that has changed since, where its place is beyond doubt."""

from marvin_server.edits.hunks import Region, replaced
from marvin_server.edits.lines import split
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
    before = "".join(replaced(lines, [Region(start, end, hunk.old_lines)]))
    merged = merge(made, now, before)
    return _by_text(hunk, lines, split(now)) if merged.conflicts else merged.text


def _by_text(hunk: Hunk, made: list[str], now: list[str]) -> str | None:
    """As ``taken_out``, where lines that touch the hunk have changed: the only place with its lines, next to one of
    the lines that they were next to."""
    start = hunk.new_start - 1
    if not any(line.strip() for line in hunk.new_lines) or len(_places(hunk.new_lines, made)) > 1:
        return None
    places = _places(hunk.new_lines, now)
    if len(places) != 1:
        return None
    size = len(hunk.new_lines)
    was = made[max(0, start - 1) : start], made[start + size : start + size + 1]
    place = places[0]
    there = now[max(0, place - 1) : place], now[place + size : place + size + 1]
    if was[0] != there[0] and was[1] != there[1]:
        return None
    return "".join(replaced(now, [Region(place, place + size, hunk.old_lines)]))


def _places(wanted: tuple[str, ...], lines: list[str]) -> list[int]:
    """The indices at which ``wanted`` is in ``lines``."""
    size = len(wanted)
    return [index for index in range(len(lines) - size + 1) if tuple(lines[index : index + size]) == wanted]
