"""Finds lines in the workspace's files: by ripgrep where it is installed, else by ``line_search``, with one answer.

One thing differs: a carriage return in the midst of a line is matched by ``.`` in Python only.
"""

import asyncio
import base64
import json
import os
import re
import shutil
import stat
import sys
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from marvin_server.errors import ToolError
from marvin_server.workspace import line_search
from marvin_server.workspace.confine import Root
from marvin_server.workspace.documents import explained
from marvin_server.workspace.globs import glob_pattern
from marvin_server.workspace.listing import walk
from marvin_server.workspace.names import protection
from marvin_server.workspace.process import Processes

_LONGEST_LINE = 500
_LEAD = 150
_BATCH = 400_000
_RG = ("--no-config", "--json", "--no-messages", "--no-ignore", "--no-mmap", "--crlf", "--threads=1")


class Line(Struct, frozen=True):
    """A line that matches, or one of the context around it. ``number`` counts from 1.

    ``text`` is without line end; of a line over 500 characters it is the part around the match, ``…`` at its cuts.
    """

    path: str
    number: int
    text: str
    is_match: bool = True


class SearchResult(Struct, frozen=True):
    """The lines by path and number; how many files were looked through; whether there are more matches than asked."""

    lines: tuple[Line, ...]
    files: int
    truncated: bool

    @property
    def matches(self) -> tuple[Line, ...]:
        return tuple(line for line in self.lines if line.is_match)


async def search(
    processes: Processes,
    root: Root,
    pattern: str,
    *,
    environ: Mapping[str, str],
    path: str = ".",
    glob: str | None = None,
    ignore_case: bool = False,
    literal: bool = False,
    context: int = 0,
    limit: int = 200,
    timeout: float = 30.0,
) -> SearchResult:
    """The first ``limit`` lines that match ``pattern`` in the file ``path``, or in the files that ``walk`` finds there.

    ``pattern`` is a regular expression that Python's ``re`` takes (or plain text, with ``literal``), matched within
    single lines. ``glob`` picks files by name (``*.py``) or by path (``src/**/*.{ts,tsx}``) from ``path`` or from the
    root; one that begins with ``!`` leaves them out. ``context`` is the number of lines around a match. Files with a
    NUL byte are skipped, and ``.env`` files unless ``path`` names one.

    Both engines get the same list of files. ripgrep refuses a few patterns that Python takes (look-around,
    back-references); these go to Python. Raises ToolError for a bad pattern or glob, or when it takes longer than
    ``timeout`` seconds (some patterns take ``re`` for ever on long lines), and what ``walk`` and ``Root.open`` raise.
    """
    _check(pattern, literal=literal)
    files = await asyncio.to_thread(_files, root, path, glob)
    expression = re.sub(r"([\\.+*?()|\[\]{}^$#&~-])", r"\\\1", pattern) if literal else pattern
    bound = time.monotonic() + timeout
    for engine in _engines(expression, environ, ignore_case=ignore_case, context=context):
        found = _Found(limit, context)
        try:
            for batch in _batches(files):
                found.is_whole = False
                completed = await processes.run(
                    [*engine, *batch],
                    cwd=root.path,
                    environ=environ,
                    timeout=max(0.0, bound - time.monotonic()),
                    emit=found.feed,
                )
                if completed.timed_out:
                    raise ToolError(
                        f"The search took over {timeout:g} s. Name a path or a glob, or simplify the pattern."
                    )
                if not found.is_whole:
                    break
        except _Enough:
            found.is_whole = True
        if found.is_whole:
            lines, truncated = found.first()
            return SearchResult(lines, len(files), truncated)
    raise ToolError("The search failed; try a simpler pattern.")


def _check(pattern: str, *, literal: bool) -> None:
    """Raise ToolError for a pattern that is none."""
    if "\n" in pattern or "\0" in pattern:
        raise ToolError("A pattern is matched within single lines; it cannot hold a line break or a NUL.")
    if literal:
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            re.compile(pattern)
    except re.error as error:
        reason = f"{error.msg} at position {error.pos}"
    except (RecursionError, OverflowError, Warning) as error:
        reason = str(error)
    else:
        return
    raise ToolError(f"Bad pattern {pattern!r}: {reason}. Use literal=true to search for the text as it stands.")


def _files(root: Root, path: str, glob: str | None) -> list[str]:
    with explained(root, path, "searching"):
        if not stat.S_ISDIR(root.stat(path).st_mode):
            os.close(root.open(path))
            return [root.place(path)]
    files = [file for file in walk(root, path) if not protection(file, writing=False)]
    if not glob:
        return files
    named = glob_pattern(glob.removeprefix("!"))
    above = "" if (place := root.place(path)) == "." else f"{place}/"
    leaves_out = glob.startswith("!")
    return [
        file for file in files if leaves_out != bool(named.fullmatch(file) or named.fullmatch(file.removeprefix(above)))
    ]


def _engines(expression: str, environ: Mapping[str, str], *, ignore_case: bool, context: int) -> Iterator[list[str]]:
    """The commands that can search, the better first; the files' names come after."""
    rg = shutil.which("rg", path=environ.get("PATH", os.defpath))
    if rg and r"\A" not in expression:  # ripgrep's \A is the beginning of its buffer, not of a line
        case = "--ignore-case" if ignore_case else "--case-sensitive"
        # One match takes the rest of its line, as ripgrep describes every single match of a line.
        yield [rg, *_RG, case, f"--context={context}", f"--regexp=(?:{expression}).*", "--"]
    yield [sys.executable, "-I", "-S", line_search.__file__, str(context), str(int(ignore_case)), expression]


def _batches(files: Sequence[str]) -> Iterator[list[str]]:
    """The files in parts that fit a command line, each name such that it cannot be an option or standard input."""
    batch: list[str] = []
    size = 0
    for file in files:
        batch.append(f"./{file}")
        size += len(os.fsencode(file)) + 12
        if size > _BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


class _Enough(Exception):
    """More matches than asked for have been found."""


class _Found:
    """What the engine reports, read from its JSON messages as they arrive.

    ``is_whole`` says whether the engine came to its end; one that refuses the pattern does not.
    """

    def __init__(self, limit: int, context: int) -> None:
        self.is_whole = True
        self._limit, self._context = limit, context
        self._pieces: list[str] = []
        self._lines: list[Line] = []
        self._matches = 0
        self._in_file: list[Line] = []
        self._matches_in_file = 0

    def feed(self, text: str) -> None:
        """Take the next piece of the report. Raises _Enough when there is no need for more."""
        first, *lines = text.split("\n")
        self._pieces.append(first)
        for line in lines:
            self._take("".join(self._pieces))
            self._pieces = [line]

    def first(self) -> tuple[tuple[Line, ...], bool]:
        """The lines up to the limit, and whether there are more matches."""
        if self._matches <= self._limit:
            return tuple(self._lines), False
        ends = [index for index, line in enumerate(self._lines) if line.is_match]
        last, dropped = self._lines[ends[self._limit - 1]], ends[self._limit]
        reach = last.number + self._context
        kept = (line for line in self._lines[:dropped] if line.path != last.path or line.number <= reach)
        return tuple(kept), True

    def _take(self, report: str) -> None:
        if not report.startswith("{"):
            return
        message = json.loads(report)
        match message["type"]:
            case "begin":
                self._in_file, self._matches_in_file = [], 0
            case "end":
                self._end_file(is_binary=message["data"]["binary_offset"] is not None)
            case "summary":
                self.is_whole = True
            case kind:
                is_match = kind == "match"
                self._matches_in_file += is_match
                if self._matches + self._matches_in_file <= self._limit + is_match:
                    self._in_file.append(_line(message["data"], is_match=is_match))

    def _end_file(self, *, is_binary: bool) -> None:
        if not is_binary:
            self._lines += self._in_file
            self._matches += self._matches_in_file
        if self._matches > self._limit:
            raise _Enough


def _line(content: dict[str, Any], *, is_match: bool) -> Line:
    raw = _raw(content["lines"]).removesuffix(b"\n").removesuffix(b"\r")
    offset = content["submatches"][0]["start"] if content["submatches"] else 0
    start = len(raw[:offset].decode("utf-8", "replace"))
    path = os.fsdecode(_raw(content["path"]).removeprefix(b"./"))
    return Line(path, content["line_number"], _shortened(raw.decode("utf-8", "replace"), start), is_match)


def _raw(content: dict[str, str]) -> bytes:
    """The bytes of a text; those that are not UTF-8 are reported in base64."""
    return content["text"].encode() if "text" in content else base64.b64decode(content["bytes"])


def _shortened(text: str, start: int) -> str:
    """The part of a long line around the match that begins at ``start``."""
    if len(text) <= _LONGEST_LINE:
        return text
    begin = max(0, min(start - _LEAD, len(text) - _LONGEST_LINE))
    end = begin + _LONGEST_LINE
    return f"{'…' if begin else ''}{text[begin:end]}{'…' if end < len(text) else ''}"
