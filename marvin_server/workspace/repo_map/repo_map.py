"""The map of a workspace: kept up to date with what is on disk and in the editor, and asked for what matters."""

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path, PurePath

from marvin_server.errors import ToolError
from marvin_server.workspace.confine import Root
from marvin_server.workspace.repo_map.cache import Cache, Known
from marvin_server.workspace.repo_map.index import Index
from marvin_server.workspace.repo_map.ranking import Ranked, ranked
from marvin_server.workspace.repo_map.render import render
from marvin_server.workspace.repo_map.scan import Facts, is_readable, scan
from marvin_server.workspace.repo_map.scanning import content, scan_all
from marvin_server.workspace.repo_map.survey import Survey, files, survey
from marvin_server.workspace.workspace import Workspace

_PATIENCE = 3.0  # seconds that a prompt waits for its map

_INTRODUCTION = (
    "A map of the files that may matter for this prompt, the likeliest first, with the numbers of lines that define "
    "something. It was made from words and names; it is no answer, and other files may matter too.\n"
)


class RepoMap:
    """The map of the files beneath the root of ``workspace``. What it finds is kept in ``folder``, which several
    processes may use, and which may be deleted at any time."""

    def __init__(self, workspace: Workspace, folder: Path) -> None:
        self._workspace = workspace
        self._folder = folder
        self._root: Root | None = None
        self._survey: Survey = {}
        self._known: Known = {}
        self._index: Index | None = None
        self._at_work = asyncio.Lock()

    async def ranked(self, query: str, focus: Sequence[str] = ()) -> list[Ranked]:
        """The files that matter, the best first: see ``ranking.ranked``. ``focus`` is relative to the root; what is
        open in the editor counts with it, and unsaved texts count in place of those on disk. Raises ToolError."""
        root = self._workspace.root
        async with self._at_work:
            await self._refresh(root)
            known = self._known
        unsaved = self._unsaved(root)
        index = self._index
        if index is None or unsaved:
            index = await asyncio.to_thread(_index, root, known, unsaved)
            if not unsaved and known is self._known:
                self._index = index
        at_work = [*focus, *self._open(root)]
        return await asyncio.to_thread(ranked, index, query, at_work, partial(_text, root, unsaved))

    async def text(self, query: str, focus: Sequence[str], max_tokens: int) -> str:
        """The map in at most ``max_tokens`` tokens, see ``render.render``; empty where there is nothing to show."""
        files = await self.ranked(query, focus)
        root, unsaved = self._workspace.root, self._unsaved(self._workspace.root)
        read, named = partial(_text, root, unsaved), self._workspace.named
        return await asyncio.to_thread(render, files, read, named, max_tokens)

    async def block(self, prompt: str, max_tokens: int) -> str:
        """What a system prompt says of the map for ``prompt``; empty while the map takes longer than three seconds to
        make, or cannot be made. Ask once a turn, so that what is sent stays the same within it."""
        try:
            async with asyncio.timeout(_PATIENCE):
                shown = await self.text(prompt, [], max_tokens)
        except (TimeoutError, ToolError):
            return ""
        return _INTRODUCTION + shown if shown else ""

    def _unsaved(self, root: Root) -> Mapping[str, str]:
        texts = self._workspace.open_files.unsaved(root, ".")
        return {path: text for path, text in texts.items() if not root.protection(path, writing=False)}

    def _open(self, root: Root) -> list[str]:
        editor = self._workspace.editor
        paths = [PurePath(buffer.path) for buffer in editor.buffers()] if editor else []
        return [path.relative_to(root.path).as_posix() for path in paths if path.is_relative_to(root.path)]

    async def _refresh(self, root: Root) -> None:
        """Bring what is known up to date with the disk. What was found before it is cancelled is kept."""
        cache = Cache(self._folder, root.path)
        if self._root is None or self._root.path != root.path:
            self._survey, self._known = await asyncio.to_thread(cache.load)
            self._root, self._index = root, None
        self._survey = await asyncio.to_thread(survey, root, self._survey)
        stamps = files(self._survey)
        known = self._known
        changed = {path: stamp for path, stamp in stamps.items() if path not in known or known[path][0] != stamp}
        gone = known.keys() - stamps.keys()
        if not changed and not gone:
            return
        found: Known = {}

        def take(path: str, facts: Facts) -> None:
            found[path] = changed[path], facts

        try:
            await scan_all(root, {path: size for path, (_, size, _) in changed.items()}, take)
        finally:
            self._index = None
            self._known = {path: one for path, one in (known | found).items() if path not in gone}
            await asyncio.shield(asyncio.to_thread(cache.store, self._survey, dict(found), gone))


def _index(root: Root, known: Known, unsaved: Mapping[str, str]) -> Index:
    facts = {path: facts for path, (_, facts) in known.items() if not root.protection(path, writing=False)}
    changed = {path: scan(path, text.encode("utf-8", "replace")) for path, text in unsaved.items()}
    return Index(facts | changed)


def _text(root: Root, unsaved: Mapping[str, str], path: str) -> str | None:
    """The text of a file, None when it has none that people write."""
    raw = unsaved[path].encode("utf-8", "replace") if path in unsaved else content(root, path)
    return raw.decode("utf-8", "replace") if is_readable(path, raw) else None
