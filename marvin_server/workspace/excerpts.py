"""What is shown of a line in an open text file: all of it, or the part around a match."""

import os

_LONGEST = 500
_LEAD = 150
_REACH = 2000  # bytes to both sides of the match, which hold what is shown, as a character has at most four


def excerpt(fd: int, offset: int, start: int) -> str:
    """The line at the byte ``offset`` of the UTF-8 file ``fd``, without its end; other bytes become U+FFFD.

    Of a line over 500 characters it is the part around the byte ``start``, ``…`` at its cuts.
    """
    skipped = max(0, start - _REACH)
    raw = os.pread(fd, start - skipped + _REACH, offset + skipped)
    lead = start - skipped
    is_whole = b"\n" in raw or len(raw) < lead + _REACH
    raw = raw.partition(b"\n")[0].removesuffix(b"\r")
    before, after = raw[:lead], raw[lead:]
    if skipped:
        before = before[next((i for i, byte in enumerate(before[:4]) if byte & 0xC0 != 0x80), 0) :]
    text = (before + after).decode("utf-8", "replace")
    if len(text) <= _LONGEST and is_whole and not skipped:
        return text
    begin = max(0, min(len(before.decode("utf-8", "replace")) - _LEAD, len(text) - _LONGEST))
    end = begin + _LONGEST
    cuts = begin or skipped, end < len(text) or not is_whole
    return f"{'…' if cuts[0] else ''}{text[begin:end]}{'…' if cuts[1] else ''}"
