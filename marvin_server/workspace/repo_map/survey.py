"""Which files a workspace has, and whether they are as they were: without a walk while no folder has changed."""

import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from msgspec import Struct

from marvin_server.workspace import listing
from marvin_server.workspace.confine import Root

MOST_FILES = 25_000
# File systems tell times in steps: what was changed this shortly before it was looked at may change unseen.
_UNSURE = 2_000_000_000  # nanoseconds
_RULES = frozenset({".gitignore", ".ignore"})

Stamp = tuple[int, int, int]  # mtime in nanoseconds, size in bytes, inode


class Folder(Struct, frozen=True):
    """A folder as it was at ``stamp``, with its files, but for those that need a question before they are read."""

    stamp: Stamp
    files: dict[str, Stamp]


Survey = dict[str, Folder]  # by path, relative to the root


def survey(root: Root, known: Mapping[str, Folder]) -> Survey:
    """The folders and files that ``listing.walk`` finds, the first ``MOST_FILES`` of them, shallow ones first.

    ``known`` is what was found the last time, maybe nothing. While its folders and the rules of what to ignore are as
    they were, only the stamps are taken again. Raises ToolError when the root cannot be listed.
    """
    if known:
        again = _stamped(root, {path: folder.files for path, folder in known.items()})
        if _has_same_names(known, again):
            return again
    return _stamped(root, dict(_first(root, listing.folders(root))))


def files(found: Mapping[str, Folder]) -> dict[str, Stamp]:
    """The stamps of all files by path."""
    return {inside(path, name): stamp for path, folder in found.items() for name, stamp in folder.files.items()}


def inside(folder: str, name: str) -> str:
    """The path of ``name`` in ``folder``."""
    return name if folder == "." else f"{folder}/{name}"


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


def _first(root: Root, folders: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, list[str]]]:
    room = MOST_FILES
    for path in sorted(folders, key=lambda path: (path.count("/"), path)):
        free = [name for name in folders[path][:room] if not root.protection(inside(path, name), writing=False)]
        yield path, free
        room -= len(free)


def _stamped(root: Root, folders: Mapping[str, Iterable[str]]) -> Survey:
    """By path, not through ``Root``: a stamp tells nothing of what is in a file, and ``Root`` opens what is read."""
    found: Survey = {}
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
    return status.st_mtime_ns, status.st_size, status.st_ino
