"""The text around the parts of a patch: prose is skipped, but nothing that looks like a part of a patch gets lost."""

import re
from collections.abc import Sequence

from marvin_server.edits.patch import Unreadable

_SIGNATURE = "-- "
_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
_PART = re.compile(
    r"\s*(<{5,}|>{5,})|diff --git |\+\+\+ |@@( |$)|\*\*\* (Begin Patch|(Add|Delete|Update) File:|Move to:)"
)


def is_fence(line: str) -> bool:
    """Whether ``line`` opens or closes a code fence."""
    return _FENCE.match(line) is not None


def is_signature(line: str) -> bool:
    """Whether ``line`` sets a mail's signature apart, which ends a diff."""
    return line == _SIGNATURE


def skip(lines: Sequence[str], start: int, end: int) -> None:
    """Pass over the lines from the index ``start`` up to ``end``.

    Raises ``Unreadable`` where one looks like a marker or a header of any format.
    """
    for index in range(start, end):
        if _PART.match(lines[index]):
            raise _lost(lines, index, "It is no part of the patch before it; send it as a patch of its own.")


def skip_after_hunk(lines: Sequence[str], start: int, end: int, *, is_whole: bool) -> None:
    """As ``skip``, of what follows a hunk of a diff: no line there may begin with ``+`` or ``-``.

    The end of the code fence that the diff is in ends that if the hunk ``is_whole``, and a mail's signature does.
    """
    skip(lines, start, end)
    fences = [index for index in range(start, end) if is_fence(lines[index])]
    closes = fences[-1] if fences and is_whole and sum(map(is_fence, lines[:start])) % 2 else end
    for index in range(start, end):
        if index == closes or is_signature(lines[index]):
            return
        if lines[index].startswith(("+", "-")):
            raise _lost(lines, index, "The hunk ended before it: every line of a hunk begins with ' ', '-' or '+'.")


def _lost(lines: Sequence[str], index: int, advice: str) -> Unreadable:
    return Unreadable(f"{lines[index][:80]!r} would be lost. {advice}", index + 1)
