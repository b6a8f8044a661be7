"""The stand-in for ripgrep, a script: ``line_search.py files|lines CONTEXT LIMIT IGNORE_CASE PATTERN FILE...``.

It prints what ``engines`` has ripgrep print. Being a process, it can be ended, whatever a pattern does. It needs
nothing but the standard library.
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


def _find(pattern: re.Pattern[str], line: str) -> int | None:
    """Where ``pattern`` first matches; like ripgrep's, a match holds no byte that is not UTF-8."""
    start = 0
    for end in [*(bad.start() for bad in _UNDECODABLE.finditer(line)), len(line)]:
        if found := pattern.search(line, start, end):
            return found.start()
        start = end + 1
    return None


def _lines(file: io.BufferedReader) -> Iterable[bytes]:
    """The lines of a file, in UTF-8 and without byte order mark."""
    mark = file.peek(3)[:3]
    if mark.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        wide = io.TextIOWrapper(file, "utf-16", errors="replace", newline="\n")
        return (line.encode("utf-8", "replace") for line in wide)
    if mark == codecs.BOM_UTF8:
        file.read(3)
    return file


def _spots(lines: Iterable[bytes], pattern: re.Pattern[str], context: int) -> Iterator[tuple[int, int, int | None]]:
    """The number and offset of each line that matches or is near one, and the column (from 1) of its first match."""
    before: deque[tuple[int, int]] = deque(maxlen=context)
    after = offset = 0
    for number, raw in enumerate(lines, 1):
        line = raw.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8", "surrogateescape")
        if (start := _find(pattern, line)) is not None:
            yield from ((*earlier, None) for earlier in before)
            before.clear()
            yield number, offset, len(line[:start].encode("utf-8", "surrogateescape")) + 1
            after = context
        elif after:
            yield number, offset, None
            after -= 1
        else:
            before.append((number, offset))
        offset += len(raw)


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
                spots = _spots(_lines(file), compiled, int(context))
                if what == "lines":
                    _say_lines(path, spots, int(limit))
                elif any(islice(spots, 1)):
                    sys.stdout.buffer.write(os.fsencode(path) + b"\0")
                    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
