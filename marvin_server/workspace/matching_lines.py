"""Asks an engine which files and lines match, and reads those lines from files that ``Root`` opened."""

import os
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress

from msgspec import Struct

from marvin_server.errors import ToolError
from marvin_server.workspace import encodings
from marvin_server.workspace.confine import Root, write_all
from marvin_server.workspace.documents import LARGEST
from marvin_server.workspace.engines import Engine, Enough, Report, Spot, read_spot
from marvin_server.workspace.excerpts import excerpt
from marvin_server.workspace.open_files import as_file
from marvin_server.workspace.process import Processes

_ARGUMENTS = 400_000
_OPEN_FILES = 128


class Line(Struct, frozen=True):
    """A line that matches, or one of the context around it. ``number`` counts from 1.

    ``text`` is without line end; of a line over 500 characters it is the part around the match, ``…`` at its cuts.
    """

    path: str
    number: int
    text: str
    is_match: bool = True


class Refused(Exception):
    """The engine does not take the pattern."""


class Asking(Struct, frozen=True):
    """One engine and what its questions have in common. ``bound`` is when (``time.monotonic``) ``timeout`` is over;
    ``unsaved`` are texts that count in place of those of files."""

    processes: Processes
    root: Root
    environ: Mapping[str, str]
    engine: Engine
    bound: float
    timeout: float
    unsaved: Mapping[str, str]

    async def which_beneath(self, place: str) -> list[str]:
        """All files in the folder ``place`` that seem to match, sorted as ``walk`` sorts; names only."""
        found: list[str] = []

        def take(name: str) -> bool:
            found.append(name.removeprefix("./"))
            return True

        await self._ask(self.engine.beneath, [f"./{place}" if place != "." else "."], Report("\0", take))
        return sorted(found, key=lambda file: file.split("/"))

    async def which_files(self, files: list[str]) -> tuple[list[str], list[str]]:
        """Some of ``files`` that seem to match, unsaved ones always, and those that have not been looked at; names
        only."""
        found: list[str] = []

        def take(name: str) -> bool:
            found.append(name.removeprefix("./"))
            if len(found) == _OPEN_FILES:
                raise Enough
            return True

        batch = _as_many(files)
        await self._ask(self.engine.which_files, [f"./{file}" for file in batch], Report("\0", take))
        end = files.index(found[-1]) + 1 if len(found) == _OPEN_FILES else len(batch)
        return [file for file in files[:end] if file in found or file in self.unsaved], files[end:]

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
            raise Refused


async def first_lines(
    asking: Asking, files: list[str], limit: int, context: int, *, are_candidates: bool
) -> tuple[list[Line], bool]:
    """The first ``limit`` matching lines with those around them, and whether there are more.

    ``are_candidates`` says that it has been asked already which of ``files`` seem to match.
    """
    lines: list[Line] = []
    room, rest = limit, files
    while rest:
        if are_candidates:
            candidates, rest = rest[:_OPEN_FILES], rest[_OPEN_FILES:]
        else:
            candidates, rest = await asking.which_files(rest)
        with _opened(asking, candidates) as opened:
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
def _opened(asking: Asking, files: Sequence[str]) -> Generator[dict[int, _Opened]]:
    """Those of ``files`` that hold text and may be read, by descriptors of their UTF-8."""
    root = asking.root
    with ExitStack() as stack:
        opened: dict[int, _Opened] = {}
        for file in files:
            with suppress(OSError, ToolError):
                if file in asking.unsaved:
                    root.check_readable(file)
                    opened[stack.enter_context(as_file(asking.unsaved[file]))] = _Opened(file, 0)
                    continue
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


def _as_many(files: list[str]) -> list[str]:
    """As many of ``files`` as a command line holds."""
    size = 0
    for count, file in enumerate(files):
        size += len(os.fsencode(file)) + 12
        if size > _ARGUMENTS:
            return files[: count + 1]
    return files
