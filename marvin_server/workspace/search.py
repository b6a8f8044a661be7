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
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import MappingProxyType

from msgspec import Struct

from marvin_server.errors import ToolError
from marvin_server.workspace.confine import Root
from marvin_server.workspace.documents import explained
from marvin_server.workspace.engines import engines
from marvin_server.workspace.globs import glob_pattern
from marvin_server.workspace.listing import walk
from marvin_server.workspace.matching_lines import Asking, Line, Refused, first_lines
from marvin_server.workspace.names import printable
from marvin_server.workspace.process import Processes

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


class SearchResult(Struct, frozen=True):
    """The lines by path and number, and whether there are more matches than asked."""

    lines: tuple[Line, ...]
    truncated: bool


async def search(
    processes: Processes,
    root: Root,
    pattern: str,
    *,
    environ: Mapping[str, str],
    unsaved: Mapping[str, str] = MappingProxyType({}),
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
    are searched. ``unsaved`` are texts that count in place of those of the files at these paths, which are relative to
    the root and need not be there.

    Both engines look through the same files, but for what a ``.rgignore`` says, which only ripgrep knows. ripgrep
    refuses a few patterns that Python takes (look-around, back-references); these go to Python. Raises ToolError for a
    bad pattern or glob, for a glob that no file fits, and when it takes longer than ``timeout`` seconds (some patterns
    take ``re`` for ever on long lines), besides what ``walk`` and ``Root.open`` raise.
    """
    expression = re.sub(r"([\\.+*?()|\[\]{}^$#&~-])", r"\\\1", pattern) if literal else _without_classes(pattern)
    _check(pattern, expression)
    with explained(root, path, "searching"):
        place = root.place_of_any(path)
        is_folder = place not in unsaved and stat.S_ISDIR(root.stat(path).st_mode)
        if not is_folder:
            root.check_readable(path)
        if place not in unsaved:
            os.close(root.open(path))
    fits = _fitting(root, glob, place)
    added = await asyncio.to_thread(_listed, root, path, fits, unsaved) if is_folder and unsaved else set[str]()
    bound = time.monotonic() + timeout
    for engine in engines(expression, environ, ignore_case=ignore_case, context=context, limit=limit + 1):
        asking = Asking(processes, root, environ, engine, bound, timeout, unsaved)
        with suppress(Refused):
            if not is_folder:
                files = [place]
            elif engine.beneath:
                files = _sorted({file for file in await asking.which_beneath(place) if fits(file)} | added)
            else:
                files = _sorted({*await asyncio.to_thread(_files, root, path, fits), *added})
            are_candidates = not is_folder or bool(engine.beneath)
            lines, truncated = await first_lines(asking, files, limit, context, are_candidates=are_candidates)
            if glob and is_folder and not lines and not added and not await asyncio.to_thread(_files, root, path, fits):
                raise ToolError(
                    f"No file in '{printable(path)}' fits the glob '{printable(glob)}'; try for example '*.py' or "
                    "'src/**'."
                )
            return SearchResult(tuple(lines), truncated)
    raise ToolError("The search failed; try a simpler pattern.")


def _files(root: Root, path: str, fits: Callable[[str], bool]) -> list[str]:
    return list(filter(fits, walk(root, path)))


def _listed(root: Root, path: str, fits: Callable[[str], bool], unsaved: Mapping[str, str]) -> set[str]:
    """Those of ``unsaved`` that are to be looked into: new ones, and those that ``walk`` finds."""
    found = set(_files(root, path, fits))
    return {file for file in unsaved if fits(file) and (file in found or not root.exists(file))}


def _sorted(files: set[str]) -> list[str]:
    return sorted(files, key=lambda file: file.split("/"))


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


def _fitting(root: Root, glob: str | None, place: str) -> Callable[[str], bool]:
    """Whether a file, by its path from the root, is one to look into when the folder ``place`` is searched."""
    if not glob:
        return lambda file: not root.protection(file, writing=False)
    named = glob_pattern(glob.removeprefix("!"))
    above = "" if place == "." else f"{place}/"
    leaves_out = glob.startswith("!")

    def fits(file: str) -> bool:
        is_named = bool(named.fullmatch(file) or named.fullmatch(file.removeprefix(above)))
        return leaves_out != is_named and not root.protection(file, writing=False)

    return fits
