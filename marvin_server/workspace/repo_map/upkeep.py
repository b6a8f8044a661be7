"""Keeps what is known of a workspace up to date with the disk, in the background."""

import asyncio
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from zlib import crc32

import msgspec
from msgspec import Struct

from marvin_server.workspace.confine import Root
from marvin_server.workspace.repo_map.cache import Cache, Segments
from marvin_server.workspace.repo_map.index import Index
from marvin_server.workspace.repo_map.scanning import scan_all
from marvin_server.workspace.repo_map.segment import Segment
from marvin_server.workspace.repo_map.survey import Stamp, Survey, survey

# So many segments with fewer files than these are scanned again, as one.
_MOST_SMALL = 8
_SMALL = 100


class Upkeep:
    """What is known is kept in ``folder``, see ``Cache``; of a workspace ``most`` files count."""

    def __init__(self, folder: Path, most: int) -> None:
        self._folder = folder
        self._most = most
        self._root: Root | None = None
        self._survey = Survey()
        self._segments: Segments = {}
        self._index: Index | None = None
        self._running: asyncio.Task[Index] | None = None

    async def index(self, root: Root) -> Index:
        """The files beneath ``root`` as they are now. Who is cancelled waits no longer, but the work goes on, and who
        asks next finds it done. Raises ToolError when the root cannot be listed."""
        while self._running is not None:
            await asyncio.wait({self._running})
        self._running = asyncio.create_task(self._refreshed(root))
        self._running.add_done_callback(self._end)
        return await asyncio.shield(self._running)

    async def close(self) -> None:
        """End the work, and keep what it has found."""
        if self._running is not None:
            self._running.cancel()
            await asyncio.wait({self._running})

    def _end(self, ended: asyncio.Task[Index]) -> None:
        self._running = None
        if not ended.cancelled():
            ended.exception()

    async def _refreshed(self, root: Root) -> Index:
        cache = Cache(self._folder, root.path)
        if self._root is None or self._root.path != root.path:
            self._survey, self._segments = await asyncio.to_thread(cache.load)
            self._root, self._index = root, None
        seen = await asyncio.to_thread(_look, root, self._survey, self._segments, self._most)
        if seen.is_same and self._index is not None:
            return self._index
        segments = {key: one for key, one in self._segments.items() if key not in seen.dropped}

        def take(encoded: bytes) -> None:
            checksum = crc32(encoded)
            segments[checksum] = msgspec.msgpack.decode(encoded, type=Segment)
            cache.add(checksum, encoded)

        if not seen.is_same:
            await asyncio.to_thread(cache.store, seen.survey, seen.dropped)
        if seen.missing:
            await scan_all(root, seen.missing, take)
        self._survey, self._segments = seen.survey, segments
        self._index = await asyncio.to_thread(_index, root, seen.survey, segments)
        return self._index


class _Seen(Struct, frozen=True):
    """A workspace as it is now: the files that are ``missing`` in the segments, the segments that are to be
    ``dropped``, and whether all is as it was."""

    survey: Survey
    missing: dict[str, Stamp]
    dropped: set[int]
    is_same: bool


def _look(root: Root, known: Survey, segments: Segments, most: int) -> _Seen:
    found = survey(root, known, most)
    stamps = found.files()
    places = _places(stamps, segments)
    counts = Counter(key for key, _ in places.values())
    small = {key for key in segments if counts[key] < _SMALL}
    dropped = small if len(small) > _MOST_SMALL else {key for key in small if not counts[key]}
    missing = {
        path: stamp
        for path, stamp in stamps.items()
        if (path not in places or places[path][0] in dropped) and not root.protection(path, writing=False)
    }
    return _Seen(found, missing, dropped, is_same=not missing and not dropped and found == known)


def _places(stamps: Mapping[str, Stamp], segments: Segments) -> dict[str, tuple[int, int]]:
    """Where files with these stamps are: the segment by its checksum, and the number in it."""
    return {
        path: (key, number)
        for key, segment in segments.items()
        for number, (path, stamp) in enumerate(segment.files)
        if stamps.get(path) == stamp
    }


def _index(root: Root, found: Survey, segments: Segments) -> Index:
    numbers = {key: number for number, key in enumerate(segments)}
    places = {
        path: (numbers[key], file)
        for path, (key, file) in _places(found.files(), segments).items()
        if not root.protection(path, writing=False)
    }
    return Index(list(segments.values()), places, found.left_out)
