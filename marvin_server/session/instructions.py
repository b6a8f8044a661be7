"""What a person has written for the model in their own folders: convention files, which hold everywhere, and
instructions for a place, which hold in a folder and all beneath it."""

import errno
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from msgspec import Struct

from marvin_server import paths
from marvin_server.agent.prompt import Written
from marvin_server.errors import ToolError
from marvin_server.paths import Paths
from marvin_server.session.project import shown
from marvin_server.session.stamps import Stamp, stamp
from marvin_server.workspace import encodings
from marvin_server.workspace.names import printable

CONVENTIONS = ("SOUL.md", "IDENTITY.md", "USER.md", "TOOLS.md", "MEMORY.md", "HEARTBEAT.md", "AGENTS.md")
_LONGEST = 20_000  # characters
_HEAD, _TAIL = 14_000, 4_000
_LARGEST = 1_000_000  # bytes


class OwnFiles(Struct, frozen=True):
    """``conventions`` in the order of ``CONVENTIONS``; ``instructions`` with the nearest to the folder first. A
    ``problem`` is a line for the person about a file that cannot be read."""

    conventions: tuple[Written, ...] = ()
    instructions: tuple[Written, ...] = ()
    problems: tuple[str, ...] = ()


def read(places: Paths, environ: Mapping[str, str], directory: Path) -> OwnFiles:
    """The files that count in the folder ``directory``. Of one with more than 20,000 characters the first 14,000 and
    the last 4,000 count; an empty one is none."""
    problems: list[str] = []
    home = environ.get("HOME", "")
    conventions = _texts([places.config / name for name in CONVENTIONS], home, problems)
    instructions = _texts(_of_place(paths.instructions(places, environ), directory), home, problems)
    return OwnFiles(conventions, instructions, tuple(problems))


def _of_place(folders: Sequence[Path], directory: Path) -> Iterator[Path]:
    for place in (directory, *directory.parents):
        if (name := str(place.relative_to(place.anchor))) != ".":
            yield from (folder / f"{name}.md" for folder in folders)


def _texts(files: Iterable[Path], home: str, problems: list[str]) -> tuple[Written, ...]:
    found: list[Written] = []
    for file in files:
        # Most are not there, and to look is cheaper than to fail.
        if not os.path.lexists(file):
            continue
        name = printable(f"~{str(file)[len(home) :]}" if home and file.is_relative_to(home) else str(file))
        try:
            text = _read(file, name)
        except (OSError, ToolError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            problems.append(f"{name} is left out: {reason}")
            continue
        if text.strip():
            found.append(Written(name, text))
    return tuple(found)


def _read(file: Path, name: str) -> str:
    status = file.stat()
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "it is no file")
    return _text(file, name, stamp(status))


@lru_cache(64)
def _text(file: Path, name: str, _: Stamp) -> str:
    """The text of the file as it is at this stamp, cut where it is too long."""
    with file.open("rb") as opened:
        content = opened.read(_LARGEST)
    text = shown(encodings.decode(content, encodings.detected(content, name), name).replace("\r\n", "\n"))
    if len(text) <= _LONGEST:
        return text
    left_out = len(text) - _HEAD - _TAIL
    return f"{text[:_HEAD]}\n[… {left_out:,} characters left out; a file has {_LONGEST:,} at most]\n{text[-_TAIL:]}"
