"""Some lines of a text file of any size, without reading much more of it than those."""

import io
import os
from collections.abc import Callable, Iterator

from msgspec import Struct

from marvin_server.workspace.encodings import Encoding

_LONGEST_LINE = 2000
_PIECE = 8192
_BEYOND = 32_000_000  # bytes that are read from the first line that was asked for


class LineRange(Struct, frozen=True):
    r"""Lines without ``\n`` or ``\r\n``, and how many there are; at least, when ``is_counted`` is false."""

    lines: list[str]
    total: int
    is_counted: bool = True


def read_range(fd: int, encoding: Encoding, start: int, end: int, stopped: Callable[[], bool]) -> LineRange:
    """Lines ``start`` to ``end`` (from 1, both included) of the open file ``fd``, as long as it is now.

    No more than 32 MB are read from line ``start`` on. A line over 2,000 characters is cut, with a note. What is not
    text in ``encoding`` becomes a backslash escape. The answer counts for nothing once ``stopped`` is true.
    """
    source = _Source(fd, stopped)
    lines: list[str] = []
    total = 0
    if start == 1:
        source.end_within(_BEYOND)
    with io.TextIOWrapper(io.BufferedReader(source), encoding, "backslashreplace", newline="\n") as stream:
        for total, line in enumerate(_cut_lines(stream, source), 1):
            if start <= total <= end:
                lines.append(line.removeprefix("\ufeff") if total == 1 else line)
            elif total == start - 1:
                source.end_within(_BEYOND)
    return LineRange(lines, total, is_counted=not source.is_cut)


class _Source(io.RawIOBase):
    """The bytes of an open file up to the size that it has at first, and no further than it may be read."""

    def __init__(self, fd: int, stopped: Callable[[], bool]) -> None:
        self._fd, self._stopped = fd, stopped
        self._place = 0
        self._size = self._end = os.fstat(fd).st_size

    def readable(self) -> bool:
        return True

    def end_within(self, count: int) -> None:
        """End after ``count`` more bytes at most."""
        self._end = min(self._size, self._place + count)

    @property
    def is_cut(self) -> bool:
        return self._place == self._end < self._size

    def readinto(self, buffer: "memoryview[int]") -> int:  # pyright: ignore[reportIncompatibleMethodOverride]
        if self._stopped():
            return 0
        count = os.preadv(self._fd, [buffer[: self._end - self._place]], self._place)
        self._place += count
        return count


def _cut_lines(stream: io.TextIOWrapper, source: _Source) -> Iterator[str]:
    """The lines of ``stream`` without their ends, none of them kept in memory beyond what is shown of it."""
    while piece := stream.readline(_LONGEST_LINE + 2):
        length = len(piece)
        last = piece
        while not last.endswith("\n") and (more := stream.readline(_PIECE)):
            last = more
            length += len(more)
        line = piece.removesuffix("\n").removesuffix("\r")
        if len(line) > _LONGEST_LINE or last is not piece:
            number = f"at least {length:,}" if source.is_cut and not last.endswith("\n") else f"{length:,}"
            line = f"{line[:_LONGEST_LINE]} … [line cut: {number} characters in all]"
        yield line
