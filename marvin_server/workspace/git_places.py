"""Where a repository keeps its history, and which parts of it a hostile one has linked to other places."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_READ_ONLY = frozenset({"hooks", "info"})
_WRITTEN = ("logs", "refs", "reftable")


def history(dot_git: Path, root: Path) -> tuple[Path, Path, list[Path]]:
    """The real git and common folders of ``dot_git`` (gitrepository-layout(5)), and what of them is outside ``root``.

    Symbolic links within count too: git follows them when it writes, so that a log of references that links to a
    person's start-up file would get lines of the repository's choice.
    """
    git_dir, common_dir = _folders(dot_git)
    places = dict.fromkeys((git_dir, common_dir))
    links = dict.fromkeys(link for place in places for link in _links(place))
    return git_dir, common_dir, [place for place in places | links if not place.is_relative_to(root)]


def _folders(dot_git: Path) -> tuple[Path, Path]:
    folder = dot_git
    with suppress(OSError, ValueError):
        if dot_git.is_file():
            folder = dot_git.parent / dot_git.read_text(errors="surrogateescape").removeprefix("gitdir:").strip()
        common = (folder / "commondir").read_text(errors="surrogateescape").strip()
        return folder.resolve(), (folder / common).resolve()
    return folder.resolve(), folder.resolve()


def _links(git_dir: Path) -> Iterator[Path]:
    """What symbolic links lead to where git writes; of ``objects`` the first level is enough."""
    for folder in (git_dir, git_dir / "objects"):
        with suppress(OSError), os.scandir(folder) as entries:
            yield from (_real(entry.path) for entry in entries if entry.is_symlink() and entry.name not in _READ_ONLY)
    for name in _WRITTEN:
        for folder, folders, files in os.walk(git_dir / name):
            places = (Path(folder, each) for each in (*folders, *files))
            yield from (_real(place) for place in places if place.is_symlink())


def _real(path: str | Path) -> Path:
    return Path(os.path.realpath(path))
