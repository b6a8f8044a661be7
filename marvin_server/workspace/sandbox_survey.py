"""Looks through writable roots for what a sandboxed command may not read, and for what it may not change."""

import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from marvin_server.workspace.names import protection

# What makes Git run programs, and what leads it to another folder that does (gitrepository-layout(5)).
_OF_GIT = ("config", "config.worktree", "commondir", "hooks", "modules", "worktrees")
_ENVIRONMENT_OF_PYTHON = "pyvenv.cfg"


class Survey(Struct, frozen=True):
    """What was found beneath the roots: the real paths of ``secrets`` and of what is to stay as it is, ``fixed``.

    A survey that is not ``complete`` ran out of time before it had seen the deeper folders.
    """

    secrets: frozenset[str] = frozenset()
    fixed: frozenset[str] = frozenset()
    complete: bool = True


def survey(roots: Iterable[str], seconds: float) -> Survey:
    """Look through all folders, ignored ones too, shallow before deep, for at most about ``seconds``.

    Folders that cannot be read are left out, and symbolic links lead nowhere, but for a secret that is one.
    """
    bound = time.monotonic() + seconds
    secrets: set[str] = set()
    fixed: set[str] = set()
    level = [(root, "") for root in dict.fromkeys(roots)]
    while level:
        deeper: list[tuple[str, str]] = []
        for folder, relative in level:
            if time.monotonic() > bound:
                return Survey(_there(secrets), _there(fixed), complete=False)
            is_hidden = relative.rpartition("/")[2].startswith(".")
            for entry in _entries(folder):
                inside = f"{relative}/{entry.name}"
                if is_hidden or entry.name.startswith("."):
                    if protection(inside, writing=False):
                        if not _is_virtual_environment(entry):
                            secrets.add(os.path.realpath(entry.path))
                        continue
                    if entry.name.casefold() == ".git":
                        fixed.update(_of_git(os.path.realpath(entry.path)))
                        continue
                    if entry.name.casefold() == ".marvin" or protection(inside, writing=True):
                        fixed.add(os.path.realpath(entry.path))
                        continue
                if entry.is_dir(follow_symlinks=False):
                    deeper.append((entry.path, inside))
        level = deeper
    return Survey(_there(secrets), _there(fixed))


def guarded(roots: Iterable[str], fixed: Iterable[str]) -> Mapping[str, object]:
    """How the guarded files look now: those of ``fixed``, and what at the top of ``roots`` has a protected name.

    Two such mappings differ in the paths that were made, changed or removed in between.
    """
    places = set(fixed)
    for root in roots:
        for entry in _entries(root):
            if protection(entry.name, writing=True):
                places.add(entry.path)
                if entry.name == ".git":
                    places.update(f"{entry.path}/{name}" for name in ("config", "commondir", "hooks"))
    return {place: look for place in places if (look := _look(place)) is not None}


def _entries(folder: str) -> Iterator[os.DirEntry[str]]:
    with suppress(OSError), os.scandir(folder) as entries:
        yield from entries


def _is_virtual_environment(entry: os.DirEntry[str]) -> bool:
    return entry.is_dir(follow_symlinks=False) and Path(entry.path, _ENVIRONMENT_OF_PYTHON).exists()


def _of_git(place: str) -> list[str]:
    return [f"{place}/{name}" for name in _OF_GIT] if Path(place).is_dir() else [place]


def _there(paths: Iterable[str]) -> frozenset[str]:
    return frozenset(path for path in paths if os.path.lexists(path))


def _look(path: str) -> object:
    """What changes with the file ``path``, or with what lies in that folder; None when it is not there."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    if path.endswith("/.git"):
        return status.st_ino
    inside = sorted((entry.name, entry.stat(follow_symlinks=False).st_mtime_ns) for entry in _entries(path))
    return (status.st_ino, status.st_mode, status.st_size, status.st_mtime_ns, inside)
