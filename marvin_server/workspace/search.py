"""Finds lines in the workspace's files: by ripgrep where it is installed, else by ``line_search``, with one answer.

A name that an engine is told may lead elsewhere when it is opened, so engines learn names only to say which files are
worth opening; every line that is returned is from a file that ``Root`` opened.
One thing differs between them: a carriage return in the midst of a line is matched by ``.`` in Python only.
"""

import asyncio
import os
import re
import stat
import time
import warnings
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress

from msgspec import Struct

from marvin_server.errors import ToolError
from marvin_server.workspace import encodings
from marvin_server.workspace.confine import Root, write_all
from marvin_server.workspace.documents import LARGEST, explained
from marvin_server.workspace.engines import Engine, Enough, Report, Spot, engines, read_spot
from marvin_server.workspace.excerpts import excerpt
from marvin_server.workspace.globs import glob_pattern
from marvin_server.workspace.listing import walk
from marvin_server.workspace.names import printable, protection
from marvin_server.workspace.process import Processes

_ARGUMENTS = 400_000
_OPEN_FILES = 128
_CLASSES = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "blank": r" \t",
    "digit": "0-9",
    "lower": "a-z",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\s",
    "upper": "A-Z",
    "word": r"\w",
    "xdigit": "0-9A-Fa-f",
}


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
    root; one that begins with ``!`` leaves them out. ``context`` is the number of lines around a match. Binary files
    are skipped (see ``encodings.detect``), and ``.env`` files unless ``path`` names one; of UTF-16 the first 20 MB
    are searched.

    Both engines get the same list of files. ripgrep refuses a few patterns that Python takes (look-around,
    back-references); these go to Python. Raises ToolError for a bad pattern or glob, for a glob that no file fits, and
    when it takes longer than ``timeout`` seconds (some patterns take ``re`` for ever on long lines), besides what
    ``walk`` and ``Root.open`` raise.
    """
    expression = re.sub(r"([\\.+*?()|\[\]{}^$#&~-])", r"\\\1", pattern) if literal else _without_classes(pattern)
    _check(pattern, expression)
    files = await asyncio.to_thread(_files, root, path, glob)
    bound = time.monotonic() + timeout
    for engine in engines(expression, environ, ignore_case=ignore_case, context=context, limit=limit + 1):
        asking = _Asking(processes, root, environ, engine, bound, timeout)
        with suppress(_Refused):
            lines, truncated = await _first_lines(asking, files, limit, context)
            return SearchResult(tuple(lines), len(files), truncated)
    raise ToolError("The search failed; try a simpler pattern.")


def _without_classes(pattern: str) -> str:
    """``pattern`` with POSIX classes such as ``[:alpha:]``, which Python's ``re`` lacks, written out."""
    return re.sub(r"(?<=[\[\w\s-])\[:(\w+):\]", lambda found: _CLASSES.get(found[1], found[0]), pattern)


def _check(pattern: str, expression: str) -> None:
    """Raise ToolError when ``expression``, which was written as ``pattern``, is none."""
    if "\n" in pattern or "\0" in pattern:
        raise ToolError("A pattern is matched within single lines; it cannot hold a line break or a NUL.")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            re.compile(expression)
    except re.error as error:
        reason = f"{error.msg} at position {error.pos}"
    except (RecursionError, OverflowError) as error:
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
    fitting = [
        file for file in files if leaves_out != bool(named.fullmatch(file) or named.fullmatch(file.removeprefix(above)))
    ]
    if not fitting:
        raise ToolError(
            f"No file in '{printable(path)}' fits the glob '{printable(glob)}'; try for example '*.py' or 'src/**'."
        )
    return fitting


class _Refused(Exception):
    """The engine does not take the pattern."""


class _Asking(Struct, frozen=True):
    """One engine and what its questions have in common. ``bound`` is when (``time.monotonic``) ``timeout`` is over."""

    processes: Processes
    root: Root
    environ: Mapping[str, str]
    engine: Engine
    bound: float
    timeout: float

    async def which_files(self, files: list[str]) -> tuple[list[str], list[str]]:
        """Some of ``files`` that seem to match, and those that have not been looked at; names only."""
        found: list[str] = []

        def take(name: str) -> bool:
            found.append(name.removeprefix("./"))
            if len(found) == _OPEN_FILES:
                raise Enough
            return True

        batch = _fitting(files)
        await self._ask(self.engine.which_files, [f"./{file}" for file in batch], Report("\0", take))
        is_full = len(found) == _OPEN_FILES
        return found, files[files.index(found[-1]) + 1 if is_full else len(batch) :]

    async def which_lines(self, fds: Sequence[int], enough: int) -> list[Spot]:
        """Where the open files ``fds`` match, in order, until more than ``enough`` lines do."""
        spots: list[Spot] = []
        matches = 0

        def take(item: str) -> bool:
            nonlocal matches
            if (spot := read_spot(item)) is None:
                return False
            spots.append(spot)
            matches += spot.is_match
            if matches > enough:
                raise Enough
            return True

        await self._ask(self.engine.which_lines, [f"/dev/fd/{fd}" for fd in fds], Report("\n", take), fds)
        return spots

    async def _ask(
        self, question: Sequence[str], files: Sequence[str], report: Report, fds: Sequence[int] = ()
    ) -> None:
        try:
            completed = await self.processes.run(
                [*question, *files],
                cwd=self.root.path,
                environ=self.environ,
                timeout=max(0.0, self.bound - time.monotonic()),
                emit=report.feed,
                errors="surrogateescape",
                pass_fds=fds,
            )
        except Enough:
            return
        if completed.timed_out:
            raise ToolError(f"The search took over {self.timeout:g} s. Name a path or a glob, or simplify the pattern.")
        if completed.exit_code and report.words:
            raise _Refused


async def _first_lines(asking: _Asking, files: list[str], limit: int, context: int) -> tuple[list[Line], bool]:
    """The first ``limit`` matching lines with those around them, and whether there are more."""
    lines: list[Line] = []
    room, rest = limit, files
    while rest:
        candidates, rest = await asking.which_files(rest) if len(files) > 1 else (rest, [])
        with _opened(asking.root, candidates) as opened:
            spots = await asking.which_lines(list(opened), room) if opened else []
            matches = sum(spot.is_match for spot in spots)
            lines += [
                Line(file.path, spot.number, excerpt(spot.fd, file.mark + spot.offset, spot.start), spot.is_match)
                for spot in _cut(spots, room, context)
                for file in [opened[spot.fd]]
            ]
        if matches > room:
            return lines, True
        room -= matches
    return lines, False


def _cut(spots: list[Spot], room: int, context: int) -> list[Spot]:
    """The first ``room`` matches of ``spots`` with the lines around them."""
    matches = [index for index, spot in enumerate(spots) if spot.is_match]
    if len(matches) <= room:
        return spots
    if not room:
        return []
    last = spots[matches[room - 1]]
    return [spot for spot in spots[: matches[room]] if spot.fd != last.fd or spot.number <= last.number + context]


class _Opened(Struct, frozen=True):
    """A file that is open for a search: its path, and how many bytes its byte order mark has."""

    path: str
    mark: int


@contextmanager
def _opened(root: Root, files: Sequence[str]) -> Generator[dict[int, _Opened]]:
    """Those of ``files`` that hold text and may be read, by descriptors of their UTF-8."""
    with ExitStack() as stack:
        opened: dict[int, _Opened] = {}
        for file in files:
            with suppress(OSError, ToolError):
                fd = root.open(file)
                stack.callback(os.close, fd)
                encoding = encodings.by_mark(fd, file)
                if encoding in encodings.MARKS:
                    fd = _as_utf8(fd, encoding)
                    stack.callback(os.close, fd)
                opened[fd] = _Opened(file, 3 if encoding == "utf-8-sig" else 0)
        yield opened


def _as_utf8(fd: int, encoding: encodings.Encoding) -> int:
    """A nameless file with the UTF-8 of the UTF-16 file ``fd``, of its first 20 MB at most."""
    import tempfile

    text = os.pread(fd, LARGEST, len(encodings.MARKS[encoding])).decode(encoding, "replace")
    with tempfile.TemporaryFile(buffering=0) as copy:
        write_all(copy.fileno(), text.encode("utf-8", "replace"))
        return os.dup(copy.fileno())


def _fitting(files: list[str]) -> list[str]:
    """As many of ``files`` as a command line holds."""
    size = 0
    for count, file in enumerate(files):
        size += len(os.fsencode(file)) + 12
        if size > _ARGUMENTS:
            return files[: count + 1]
    return files
