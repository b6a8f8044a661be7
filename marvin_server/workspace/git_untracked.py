"""What lies where git is to write and is in no index, so that no commit and no ``git add`` ever kept it."""

import asyncio
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from marvin_server.workspace.git_repository import Repository, batches, literal

_SUBMODULE = "160000 "


async def in_the_way(repository: Repository, names: Sequence[str]) -> list[str]:
    """What git would remove or overwrite to write the files ``names`` of the worktree, ignored or not, and that the
    index does not have as a file: a file or link of such a name or in place of one of its folders, and all that is in
    a folder of such a name."""
    found = await asyncio.to_thread(_occupied, repository.worktree, names)
    kept: set[str] = set()
    for batch in batches([literal(name) for name in found]):
        entries = await repository.names("ls-files", "--stage", "-z", "--", *batch)
        kept |= {entry.partition("\t")[2] for entry in entries if not entry.startswith(_SUBMODULE)}
    return [name for name in found if name not in kept]


def _occupied(worktree: Path, names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(found for name in names for found in _at(worktree, name)))


def _at(worktree: Path, name: str) -> Iterator[str]:
    parts = name.split("/")
    for end in range(1, len(parts) + 1):
        place = "/".join(parts[:end])
        try:
            mode = (worktree / place).lstat().st_mode
        except FileNotFoundError:
            return
        if not stat.S_ISDIR(mode):
            yield place
            return
    yield from _beneath(worktree, name)


def _beneath(worktree: Path, folder: str) -> Iterator[str]:
    with os.scandir(worktree / folder) as entries:
        for entry in sorted(entries, key=lambda each: each.name):
            name = f"{folder}/{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                yield from _beneath(worktree, name)
            else:
                yield name
