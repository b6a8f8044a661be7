"""The map of a workspace: kept up to date with what is on disk and in the editor, and asked for what matters."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path, PurePath

from marvin_server.errors import ToolError
from marvin_server.tokens import estimate
from marvin_server.workspace.confine import Root
from marvin_server.workspace.repo_map.index import Index
from marvin_server.workspace.repo_map.ranking import Ranked, ranked
from marvin_server.workspace.repo_map.reading import content
from marvin_server.workspace.repo_map.render import render
from marvin_server.workspace.repo_map.scan import is_readable, scan
from marvin_server.workspace.repo_map.segment import segment
from marvin_server.workspace.repo_map.upkeep import Upkeep
from marvin_server.workspace.workspace import Workspace

MOST_FILES = 25_000
_UNSAVED = (0, 0, 0)  # the stamp of what is on no disk
_PATIENCE = 3.0  # seconds that a prompt waits for its map

_INTRODUCTION = (
    "A map of the files that may matter for this prompt, the likeliest first, with the numbers of lines that define "
    "something. It was made from words and names; it is no answer, and other files may matter too.\n"
)
_LEFT_OUT = "[Only the {:,} files nearest to the root were looked at: {:,} deeper ones are not on this map.]"

_Read = Callable[[str], str | None]


class RepoMap:
    """The map of the files beneath the root of ``workspace``, of which ``most_files`` count, shallow ones first. What
    it finds is kept in ``folder``, which several processes may use, and which may be deleted at any time."""

    def __init__(self, workspace: Workspace, folder: Path, most_files: int = MOST_FILES) -> None:
        self._workspace = workspace
        self._most_files = most_files
        self._upkeep = Upkeep(folder, most_files)

    async def ranked(self, query: str, focus: Sequence[str] = ()) -> list[Ranked]:
        """The files that matter, the best first: see ``ranking.ranked``. ``focus`` is relative to the root; what is
        open in the editor counts with it, and unsaved texts count in place of those on disk. Raises ToolError."""
        return (await self._asked(query, focus))[0]

    async def text(self, query: str, focus: Sequence[str], max_tokens: int) -> str:
        """The map in at most ``max_tokens`` tokens, see ``render.render``, with a line about the files that were not
        looked at; empty where there is nothing to say. Raises ToolError."""
        files, left_out, read = await self._asked(query, focus)
        note = _LEFT_OUT.format(self._most_files, left_out) if left_out else ""
        named = self._workspace.named
        shown = await asyncio.to_thread(render, files, read, named, max_tokens - estimate(note))
        return "\n".join(filter(None, (shown, note)))

    async def block(self, prompt: str, max_tokens: int) -> str:
        """What a system prompt says of the map for ``prompt``; empty while the map takes longer than three seconds to
        make, or cannot be made. Ask once a turn, so that what is sent stays the same within it."""
        try:
            async with asyncio.timeout(_PATIENCE):
                shown = await self.text(prompt, [], max_tokens)
        except (TimeoutError, ToolError):
            return ""
        return _INTRODUCTION + shown if shown else ""

    async def close(self) -> None:
        """End what still goes on in the background; what it has found is kept."""
        await self._upkeep.close()

    async def _asked(self, query: str, focus: Sequence[str]) -> "tuple[list[Ranked], int, _Read]":
        root = self._workspace.root
        index = await self._upkeep.index(root)
        unsaved = self._unsaved(root)
        read = cache(partial(_text, root, unsaved))
        at_work = [*focus, *self._open(root)]

        def rank() -> list[Ranked]:
            return ranked(_with(index, unsaved) if unsaved else index, query, at_work, read)

        return await asyncio.to_thread(rank), index.left_out, read

    def _unsaved(self, root: Root) -> Mapping[str, str]:
        texts = self._workspace.open_files.unsaved(root, ".")
        return {path: text for path, text in texts.items() if not root.protection(path, writing=False)}

    def _open(self, root: Root) -> list[str]:
        editor = self._workspace.editor
        paths = [PurePath(buffer.path) for buffer in editor.buffers()] if editor else []
        return [path.relative_to(root.path).as_posix() for path in paths if path.is_relative_to(root.path)]


def _with(index: Index, unsaved: Mapping[str, str]) -> Index:
    texts = ((path, text.encode("utf-8", "replace")) for path, text in unsaved.items())
    return index.overlaid(segment((path, _UNSAVED, scan(path, text)) for path, text in texts))


def _text(root: Root, unsaved: Mapping[str, str], path: str) -> str | None:
    """The text of a file, None when it has none that people write."""
    raw = unsaved[path].encode("utf-8", "replace") if path in unsaved else content(root, path)
    return raw.decode("utf-8", "replace") if is_readable(path, raw) else None
