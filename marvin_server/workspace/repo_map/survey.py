"""Which files a workspace has, and whether they are as they were: without a walk while no folder has changed."""

import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from msgspec import Struct

from marvin_server.workspace import listing
from marvin_server.workspace.confine import Root

# File systems tell times in steps: what was changed this shortly before it was looked at may change unseen.
_UNSURE = 2_000_000_000  # nanoseconds
_SIGNED = (1 << 63) - 1  # what a signed number of 64 bits can hold
_RULES = frozenset({".gitignore", ".ignore"})

Stamp = tuple[int, int, int]  # mtime in nanoseconds, size in bytes, inode


class Folder(Struct, frozen=True):
    """A folder as it was at ``stamp``, with its files."""

    stamp: Stamp
    files: dict[str, Stamp]


class Survey(Struct, frozen=True):
    """Folders by their paths, which are relative to the root, and how many files beyond those were ``left_out``."""

    folders: Mapping[str, Folder] = {}
    left_out: int = 0

    def files(self) -> dict[str, Stamp]:
        """The stamps of all files by path."""
        return {
            name if path == "." else f"{path}/{name}": stamp
            for path, folder in self.folders.items()
            for name, stamp in folder.files.items()
        }


def survey(root: Root, known: Survey, most: int) -> Survey:
    """The folders and files that ``listing.walk`` finds, ``most`` files at most, shallow ones first.

    ``known`` is what was found the last time, maybe nothing. While its folders and the rules of what to ignore are as
    they were, only the stamps are taken again. Raises ToolError when the root cannot be listed.
    """
    if known.folders:
        again = _stamped(root, {path: folder.files for path, folder in known.folders.items()})
        if _has_same_names(known.folders, again):
            return Survey(again, known.left_out)
    folders = listing.folders(root)
    count = sum(map(len, folders.values()))
    return Survey(_stamped(root, dict(_first(folders, most))), max(0, count - most))


def _has_same_names(known: Mapping[str, Folder], again: Mapping[str, Folder]) -> bool:
    now = time.time_ns()
    for path, folder in known.items():
        other = again.get(path)
        if other is None or other.stamp != folder.stamp or now - folder.stamp[0] < _UNSURE:
            return False
        if len(other.files) != len(folder.files):
            return False
        if any(other.files[name] != folder.files[name] for name in _RULES & folder.files.keys()):
            return False
    return True


def _first(folders: Mapping[str, Sequence[str]], most: int) -> Iterator[tuple[str, Sequence[str]]]:
    room = most
    for path in sorted(folders, key=lambda path: (path.count("/"), path)):
        yield path, folders[path][:room]
        room -= len(folders[path][:room])


def _stamped(root: Root, folders: Mapping[str, Iterable[str]]) -> dict[str, Folder]:
    """By path, not through ``Root``: a stamp tells nothing of what is in a file, and ``Root`` opens what is read."""
    found: dict[str, Folder] = {}
    for path, names in folders.items():
        way = str(root.path) if path == "." else f"{root.path}/{path}"
        try:
            stamp = _stamp(way)
        except OSError:
            continue
        stamps: dict[str, Stamp] = {}
        for name in names:
            with suppress(OSError):
                stamps[name] = _stamp(f"{way}/{name}")
        found[path] = Folder(stamp, stamps)
    return found


def _stamp(path: str) -> Stamp:
    status = os.lstat(path)
    return status.st_mtime_ns, status.st_size, status.st_ino & _SIGNED
