"""The stand-in for ripgrep, a script: ``line_search.py files|lines CONTEXT LIMIT IGNORE_CASE PATTERN FILE...``.

It prints what ``engines`` has ripgrep print. Being a process, it can be ended, whatever a pattern does. Its memory is
bounded: a line over 16 MB is searched piece by piece, so that a match of over 1 MB may be missed in it and ``$`` may
fit the end of a piece, and of a UTF-16 file the first 20 MB are searched. It needs nothing but the standard library.
"""

import codecs
import io
import os
import re
import stat
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice

_UNDECODABLE = re.compile("[\udc80-\udcff]")
_LONGEST = 16_000_000
_OVERLAP = 1_000_000
_WIDE = 20_000_000


def _find(pattern: re.Pattern[str], line: str, start: int) -> int | None:
    """Where ``pattern`` first matches from ``start`` on; like ripgrep's, a match holds no byte that is not UTF-8."""
    for end in [*(bad.start() for bad in _UNDECODABLE.finditer(line, start)), len(line)]:
        if found := pattern.search(line, start, end):
            return found.start()
        start = end + 1
    return None


def _text(file: io.BufferedReader) -> io.BufferedIOBase:
    """The file as UTF-8 without byte order mark."""
    mark = file.peek(3)[:3]
    if mark.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return io.BytesIO(file.read(_WIDE).decode("utf-16", "replace").encode("utf-8", "replace"))
    if mark == codecs.BOM_UTF8:
        file.read(3)
    return file


def _lines(file: io.BufferedIOBase, pattern: re.Pattern[str]) -> Iterator[tuple[int, int | None]]:
    """Of each line how many bytes it has, and how many come before its first match, None without one."""
    while piece := file.readline(_LONGEST):
        size, start, before = 0, None, b""
        while piece:
            if start is None:
                raw = (before + piece).removesuffix(b"\n").removesuffix(b"\r")
                text = raw.decode("utf-8", "surrogateescape")
                # From 1 on in a later piece: ``^`` is not there.
                if (found := _find(pattern, text, 1 if before else 0)) is not None:
                    start = size - len(before) + len(text[:found].encode("utf-8", "surrogateescape"))
            size += len(piece)
            before = piece[-_OVERLAP:]
            piece = b"" if piece.endswith(b"\n") else file.readline(_LONGEST)
        yield size, start


def _spots(lines: Iterable[tuple[int, int | None]], context: int) -> Iterator[tuple[int, int, int | None]]:
    """The number and offset of each line that matches or is near one, and the column (from 1) of its first match."""
    earlier: deque[tuple[int, int]] = deque(maxlen=context)
    after = offset = 0
    for number, (size, start) in enumerate(lines, 1):
        if start is not None:
            yield from ((*line, None) for line in earlier)
            earlier.clear()
            yield number, offset, start + 1
            after = context
        elif after:
            yield number, offset, None
            after -= 1
        else:
            earlier.append((number, offset))
        offset += size


def _say_lines(path: str, spots: Iterable[tuple[int, int, int | None]], limit: int) -> None:
    for number, offset, column in spots:
        limit -= column is not None
        sys.stdout.write(f"{path}-{number}-{offset}-\n" if column is None else f"{path}:{number}:{column}:{offset}:\n")
        if not limit:
            break


def main() -> None:
    """Search the files that the command line names."""
    what, context, limit, ignore_case, pattern, *paths = sys.argv[1:]
    compiled = re.compile(pattern, re.IGNORECASE if ignore_case == "1" else 0)
    for path in paths:
        with suppress(OSError), os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                spots = _spots(_lines(_text(file), compiled), int(context))
                if what == "lines":
                    _say_lines(path, spots, int(limit))
                elif any(islice(spots, 1)):
                    sys.stdout.buffer.write(os.fsencode(path) + b"\0")
                    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
