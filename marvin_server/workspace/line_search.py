"""The stand-in for ripgrep, a script of its own: ``line_search.py CONTEXT IGNORE_CASE PATTERN FILE...``.

It prints what ``rg --json`` prints, as far as ``search`` reads it (https://docs.rs/grep-printer, "JSON"). Being a
process, it can be ended, whatever a pattern does. It needs nothing but the standard library.
"""

import base64
import codecs
import io
import json
import os
import re
import stat
import sys
from collections import deque
from collections.abc import Iterable
from contextlib import suppress

_UNDECODABLE = re.compile("[\udc80-\udcff]")


def _find(pattern: re.Pattern[str], line: str) -> tuple[int, int] | None:
    """Where ``pattern`` first matches; like ripgrep's, a match holds no byte that is not UTF-8."""
    start = 0
    for end in [*(bad.start() for bad in _UNDECODABLE.finditer(line)), len(line)]:
        if found := pattern.search(line, start, end):
            return found.span()
        start = end + 1
    return None


def _lines(file: io.BufferedReader) -> Iterable[bytes]:
    """The lines of a file, in UTF-8 and without byte order mark."""
    mark = file.peek(3)[:3]
    if mark.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return io.BytesIO(file.read().decode("utf-16", "replace").encode())
    if mark == codecs.BOM_UTF8:
        file.read(3)
    return file


def _raw(content: bytes) -> dict[str, str]:
    try:
        return {"text": content.decode()}
    except UnicodeDecodeError:
        return {"bytes": base64.b64encode(content).decode()}


def _say(kind: str, **fields: object) -> None:
    sys.stdout.write(json.dumps({"type": kind, "data": fields}) + "\n")


def _search(path: str, lines: Iterable[bytes], pattern: re.Pattern[str], context: int) -> None:
    name = _raw(os.fsencode(path))
    before: deque[tuple[int, bytes]] = deque(maxlen=context)
    after = 0
    binary_offset = None
    _say("begin", path=name)
    for number, raw in enumerate(lines, 1):
        if b"\0" in raw:
            binary_offset = 0
            break
        line = raw.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8", "surrogateescape")
        if found := _find(pattern, line):
            for earlier, text in before:
                _say("context", path=name, lines=_raw(text), line_number=earlier, submatches=[])
            before.clear()
            span = [len(line[:place].encode("utf-8", "surrogateescape")) for place in found]
            submatches = [{"start": span[0], "end": span[1]}]
            _say("match", path=name, lines=_raw(raw), line_number=number, submatches=submatches)
            after = context
        elif after:
            _say("context", path=name, lines=_raw(raw), line_number=number, submatches=[])
            after -= 1
        else:
            before.append((number, raw))
    _say("end", path=name, binary_offset=binary_offset)


def main() -> None:
    """Search the files that the command line names."""
    context, ignore_case, pattern, *paths = sys.argv[1:]
    compiled = re.compile(pattern, re.IGNORECASE if ignore_case == "1" else 0)
    for path in paths:
        with suppress(OSError), os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                _search(path, _lines(file), compiled, int(context))
    _say("summary")


if __name__ == "__main__":
    main()
