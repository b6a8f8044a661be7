"""The names of all files and folders of a workspace, kept at hand for whoever completes what a person types."""

import asyncio
import time
from itertools import islice
from pathlib import Path

from marvin_server.errors import ToolError
from marvin_server.workspace.confine import Root
from marvin_server.workspace.fuzzy import Paths
from marvin_server.workspace.listing import walk
from marvin_server.workspace.names import is_undecodable

_MOST = 200_000
_FRESH_SECONDS = 5.0


class FileNames:
    """What Git would not ignore, by folder. Names that are older than a few seconds are still given, and looked up
    again meanwhile, so that only the first question about a folder waits for its walk."""

    def __init__(self) -> None:
        self._known: dict[Path, tuple[float, Paths]] = {}
        self._looking: dict[Path, asyncio.Task[Paths]] = {}

    async def of(self, folder: Path) -> Paths:
        """The files beneath ``folder``, relative to it, and their folders, which end with a slash; none when it cannot
        be read, and not more than 200,000 files."""
        at, paths = self._known.get(folder, (None, None))
        if at is not None and paths is not None and time.monotonic() - at < _FRESH_SECONDS:
            return paths
        if folder not in self._looking:
            self._looking[folder] = asyncio.create_task(self._look(folder))
        return paths or await asyncio.shield(self._looking[folder])

    async def _look(self, folder: Path) -> Paths:
        try:
            paths = await asyncio.to_thread(_paths, folder)
            self._known[folder] = (time.monotonic(), paths)
            return paths
        finally:
            del self._looking[folder]


def _paths(folder: Path) -> Paths:
    try:
        root = Root(folder)
    except OSError:
        return Paths.of(())
    try:
        files = [path for path in islice(walk(root), _MOST) if not is_undecodable(path)]
    except (OSError, ToolError):
        return Paths.of(())
    finally:
        root.close()
    folders: dict[str, None] = {}
    for path in files:
        above = path.rpartition("/")[0]
        while above and f"{above}/" not in folders:
            folders[f"{above}/"] = None
            above = above.rpartition("/")[0]
    return Paths.of((*folders, *files))
