"""What finds matches: ripgrep where it is installed, else ``line_search``, asked alike and read alike.

Each answers two questions. *Which files* is asked by name (ripgrep about a whole folder at once, which it walks as
``listing.walk`` does); its answer is a hint, since a name may lead elsewhere by the time that it is opened. *Which
lines* is asked of files that are open already, as /dev/fd/N, and answered with numbers only, so that the longest line
costs nothing; the text is read from the open file.
"""

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec import Struct

from marvin_server.workspace import line_search
from marvin_server.workspace.listing import UNLISTED

# ripgrep keeps the longest line in memory. Where it gets no more of it, it refuses, and ``line_search`` takes over.
_BOUNDED = ("/bin/sh", "-c", 'ulimit -d 600000 2>/dev/null; exec "$@"', "sh")
_RG = ("--no-config", "--no-messages", "--no-mmap", "--crlf", "--text", "--color=never")
_RG_NAMED = (*_RG, "--no-ignore", "--threads=1")
_RG_BENEATH = (*_RG, "--hidden", *(f"--glob=!{name}" for name in UNLISTED))
_RG_NAMES = ("--files-with-matches", "--null")
_RG_LINES = (
    *("--with-filename", "--no-heading", "--line-number", "--column", "--byte-offset", "--no-context-separator"),
    "--max-columns=1",
)
# ripgrep's \A is the beginning of its buffer, not of a line, and nothing matches after its $ where lines end in CR LF.
_ODD_ANCHOR = re.compile(r"\\A|(?<!\\)\$(?![)|\]]|\Z)")
# ripgrep leaves out the column of a match that is empty and at the line's end.
_SPOT = re.compile(r"/dev/fd/(\d+)(?::(\d+):(?:(\d+):)?(\d+):|-(\d+)-(\d+)-)")


class Engine(Struct, frozen=True):
    """A program that can search: the beginnings of its command lines, which end with the files.

    ``beneath`` asks which files in the folder that ends it; an engine without it has to be told their names.
    """

    which_files: Sequence[str]
    which_lines: Sequence[str]
    beneath: Sequence[str] = ()


class Spot(Struct, frozen=True):
    """A line that matches, or one around it: in the open file ``fd``, the line ``number`` (from 1).

    It begins at the byte ``offset`` of the file, counted without a byte order mark; its first match begins ``start``
    bytes after that.
    """

    fd: int
    number: int
    offset: int
    start: int
    is_match: bool


class Enough(Exception):
    """As much has been found as was asked for."""


def engines(
    expression: str, environ: Mapping[str, str], *, ignore_case: bool, context: int, limit: int
) -> Iterator[Engine]:
    """The engines for ``expression``, the better first. One that refuses it says why instead of an answer.

    ``limit`` is how many matching lines of a file are of interest, ``context`` how many lines around each.
    """
    rg = shutil.which("rg", path=environ.get("PATH", os.defpath))
    if rg and not _ODD_ANCHOR.search(expression):
        case = "--ignore-case" if ignore_case else "--case-sensitive"
        what = (case, f"--regexp=(?:{expression})", "--")
        reach = (f"--context={context}", f"--max-count={limit}")
        start = (*_BOUNDED, rg)
        yield Engine(
            (*start, *_RG_NAMED, *_RG_NAMES, *what),
            (*start, *_RG_NAMED, *_RG_LINES, *reach, *what),
            (*start, *_RG_BENEATH, *_RG_NAMES, *what),
        )
    script = (sys.executable, "-I", "-S", line_search.__file__)
    what = (str(int(ignore_case)), expression)
    yield Engine((*script, "files", "0", "1", *what), (*script, "lines", str(context), str(limit), *what))


class Report:
    """An engine's answer, read item by item as it arrives; each ends with ``end``, and ``take`` says if it is one."""

    def __init__(self, end: str, take: Callable[[str], bool]) -> None:
        self._end, self._take = end, take
        self._rest = ""
        self._others: list[str] = []

    def feed(self, text: str) -> None:
        """Take the next piece of the answer. What ``take`` raises passes through."""
        *items, self._rest = (self._rest + text).split(self._end)
        self._others += [item for item in items if not self._take(item)]

    @property
    def words(self) -> str:
        """What is no item: the words of an engine that refuses."""
        return self._end.join([*self._others, self._rest])


def read_spot(item: str) -> Spot | None:
    """One item of the answer to *which lines*; None for words of the engine's own."""
    if found := _SPOT.match(item):
        fd, number, column, offset, around, around_offset = found.groups()
        if number:
            return Spot(int(fd), int(number), int(offset), int(column or 1) - 1, is_match=True)
        return Spot(int(fd), int(around), int(around_offset), 0, is_match=False)
    return None
