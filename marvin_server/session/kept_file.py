"""The files of a patch as checkpoints have them: as they are to be before it is made, and as they are after it."""

import stat
from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from marvin_server.edits.hunks import FileChange
from marvin_server.edits.lines import like
from marvin_server.edits.merge import merge
from marvin_server.errors import CheckpointError
from marvin_server.workspace import encodings
from marvin_server.workspace.checkpoint_files import Found, look, look_in_editor
from marvin_server.workspace.checkpoint_objects import FileState, Objects, state
from marvin_server.workspace.checkpoint_texts import kept_text, text_of
from marvin_server.workspace.confine import Root
from marvin_server.workspace.documents import LARGEST
from marvin_server.workspace.open_files import OpenFiles

_NEW = stat.S_IFREG | 0o644


class KeptFile(Struct, frozen=True):
    """What a change makes of the file at ``path``, which is at ``new_path`` after it; both are true paths beneath the
    root. ``before`` and ``after`` are kept; they are of the text in the editor when it ``is_in_editor``."""

    path: str
    new_path: str
    before: FileState | None
    after: FileState | None
    is_in_editor: bool

    @property
    def were(self) -> dict[str, FileState | None]:
        """The state of each path before the change."""
        return {self.new_path: None, self.path: self.before}

    @property
    def are(self) -> dict[str, FileState | None]:
        """The state of each path after the change."""
        return {self.path: None, self.new_path: self.after}


class KeptFiles:
    """Keeps what changes to files beneath ``root`` are made of in ``objects``. Its methods raise CheckpointError,
    ToolError and OSError for a file that cannot be kept; run them in a thread."""

    def __init__(self, root: Root, open_files: OpenFiles, objects: Objects) -> None:
        self.root = root
        self._open_files = open_files
        self._objects = objects

    def planned(self, change: FileChange) -> KeptFile:
        """The file as it is, and as ``change`` is to make it."""
        path = self.root.place_of_any(change.path)
        new_path = self.root.place_of_any(change.move_to) if change.move_to else path
        found = self._look(path)
        only_text = change.new is not None and change.move_to is None and change.executable is None
        if only_text and look_in_editor(self.root, path, found, self._open_files):
            return self._in_editor(KeptFile(path, path, found.state, None, True), change)
        before = found.state and self._keep(found.content, found.state.mode)
        after = None if change.new is None else self._as_written(found, change, change.new)
        return KeptFile(path, new_path, before, after, False)

    def made(self, planned: KeptFile, change: FileChange, *, in_editor: bool) -> KeptFile:
        """The file now that ``change`` was made."""
        if in_editor:
            return self._in_editor(planned, change)
        found = self._look(planned.new_path)
        after = found.state and self._keep(found.content, found.state.mode)
        return replace(planned, after=after, is_in_editor=False)

    def is_untouched(self, planned: KeptFile) -> bool:
        """Whether the file is without the change, whatever the person has typed."""
        found = look(self.root, planned.path, LARGEST)
        if not planned.is_in_editor:
            return found.state == planned.before
        open_now = look_in_editor(self.root, planned.path, found, self._open_files)
        if open_now is None or planned.before is None or planned.after is None:
            return False
        texts = [self._objects.content(each.id) for each in (planned.before, planned.after)]
        before, now, after = (text_of(content, planned.path) for content in (texts[0], open_now.content, texts[1]))
        merged = merge(before, now, after)
        return now == before or (not merged.conflicts and merged.text != now)

    def checkpoints(self, files: Iterable[KeptFile]) -> tuple[str, str]:
        """The ids of checkpoints of ``files`` before and after their changes."""
        before: dict[str, FileState | None] = {}
        after: dict[str, FileState | None] = {}
        for each in files:
            before |= each.were
            after |= each.are
        return self._objects.checkpoint_of(before), self._objects.checkpoint_of(after)

    def _in_editor(self, planned: KeptFile, change: FileChange) -> KeptFile:
        mode = planned.before.mode if planned.before else _NEW
        before, after = (self._keep(kept_text(text or "", change.path), mode) for text in (change.old, change.new))
        return replace(planned, before=before, after=after, is_in_editor=True)

    def _as_written(self, found: Found, change: FileChange, text: str) -> FileState:
        """The file that will be on disk with ``text``."""
        mode = found.state.mode if found.state else _NEW
        if change.executable is not None:
            mode = mode | 0o111 if change.executable else mode & ~0o111
        encoding = "utf-8"
        if found.state is not None:
            encoding = encodings.detected(found.content, change.path)
            text = like(text, text_of(found.content, change.path))
        return self._keep(encodings.encode(text, encoding, change.path), mode)

    def _look(self, path: str) -> Found:
        found = look(self.root, path, LARGEST)
        if found.problem and not found.blocked_by:
            raise CheckpointError(found.problem)
        return found

    def _keep(self, content: bytes, mode: int) -> FileState:
        self._objects.keep(content)
        return state(content, mode)
