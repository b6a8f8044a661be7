"""Where notes are kept, and which there are."""

import re
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import PurePosixPath

from marvin_server.errors import ToolError
from marvin_server.workspace import listing
from marvin_server.workspace.changes import Change
from marvin_server.workspace.confine import Root
from marvin_server.workspace.workspace import Workspace

FOLDER = ".marvin/notes"
_MOST = 2_000
_NAME = re.compile(r"\w[\w .-]*(/\w[\w .-]*)*")


def note_path(name: str) -> str:
    """The path of the note ``name``, relative to the root; a name without a suffix gets ``.md``. Raises ToolError."""
    path = folder_path(name, "a note")
    return path if PurePosixPath(name).suffix else f"{path}.md"


def folder_path(name: str, kind: str = "a folder of notes") -> str:
    """The path of the folder ``name`` in the folder of notes. Raises ToolError."""
    if not _NAME.fullmatch(name):
        raise ToolError(f"{name!r} is no name for {kind}: use letters, digits, spaces and - _ . such as 'design'.")
    return f"{FOLDER}/{name}"


def place(workspace: Workspace, path: str) -> str:
    """``path``, which is relative to the root, as every working directory takes it."""
    return str(workspace.root.path / path)


async def keep_out_of_git(workspace: Workspace) -> None:
    """Make the file that keeps ``.marvin/`` out of the person's commits, unless it is there."""
    with suppress(ToolError):
        await workspace.change("Marvin: .gitignore", [Change(".marvin/.gitignore", None, "*\n")])


def walk(root: Root, folder: str = FOLDER) -> Iterator[tuple[str, int | None]]:
    """Names beneath ``folder`` and their sizes in bytes, None for a folder; sorted, each folder before its content.

    Git's ignore rules do not count here; links are left out. Ends after 2,000 names.
    """
    waiting = [folder]
    for _ in range(_MOST):
        if not waiting:
            return
        path = waiting.pop()
        try:
            if root.link(path) is not None:
                continue
            status = root.stat(path)
        except (OSError, ToolError):
            continue
        is_folder = stat.S_ISDIR(status.st_mode)
        if is_folder:
            waiting += [f"{path}/{name}" for name in sorted(listing.names(root, path), reverse=True)]
        if path != folder:
            yield path.removeprefix(f"{FOLDER}/"), None if is_folder else status.st_size
