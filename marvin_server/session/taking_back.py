"""One workspace's files as they become when changes are taken back: planned, shown, then done."""

import stat
from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct

from marvin_server.edits.hunks import FileChange, whole
from marvin_server.edits.merge import Conflict, merge
from marvin_server.edits.unified import shown
from marvin_server.errors import ToolError
from marvin_server.workspace.checkpoint_files import Found, is_emptied, look_at_document, put, remove_empty
from marvin_server.workspace.checkpoint_objects import FileState, Objects, state
from marvin_server.workspace.confine import Root
from marvin_server.workspace.documents import LARGEST
from marvin_server.workspace.editor import BufferEdit
from marvin_server.workspace.encodings import readable
from marvin_server.workspace.names import printable
from marvin_server.workspace.open_files import OpenFiles, to_text

_UNSAVED = "it has unsaved changes in the editor: save it there, then try again"


class Failed(Struct, frozen=True):
    """A file that was left alone. ``conflicts`` are the places in it as it is now (``ours``) that were changed since,
    with what would have been put there (``theirs``)."""

    path: str
    reason: str
    conflicts: tuple[Conflict, ...] = ()


class TakingBack:
    """How the files beneath ``root`` become when ``changes`` are taken back, in this order.

    A change is a checkpoint before and one after it. A file that is as it was after the change becomes what it was
    before; one that has changed since gets only the lines of the change undone, if they can be told apart from the
    later ones. ``paths`` are the files that change, those that are removed first; ``failed`` are those for which it is
    not so clear, which stay whole as they are. A file that is open counts as it is in the editor. Raises
    CheckpointError.
    """

    def __init__(self, root: Root, objects: Objects, changes: Iterable[tuple[str, str]], open_files: OpenFiles) -> None:
        self._root = root
        self._open_files = open_files
        self._objects = objects
        self._contents: dict[str, bytes] = {}
        self._found: dict[str, Found] = {}
        self._states: dict[str, FileState | None] = {}
        self._failed: dict[str, Failed] = {}
        for before, after in changes:
            for path, (old, new) in objects.differences(before, after).items():
                self._fold(path, old, new)
        self._settle_blocked()
        self._settle_unsaved()
        changed = [path for path, now in self._states.items() if path not in self._failed and self._was(path) != now]
        self.paths = sorted(changed, key=lambda path: (self._states[path] is not None, path))

    @property
    def failed(self) -> list[Failed]:
        return [self._failed[path] for path in sorted(self._failed)]

    def diff(self) -> str:
        """What changes, as a unified diff; bytes that are no text are shown as escapes."""
        return "".join(self._difference(path) for path in sorted(self.paths))

    def checkpoints(self) -> tuple[str, str] | None:
        """The ids of checkpoints of the files that change, as they were and as they become (once ``apply`` was called:
        have become); None when none does."""
        paths = self.paths
        for state_id in {each.id for path in paths for each in (self._was(path), self._states[path]) if each}:
            if state_id in self._contents:
                self._objects.keep(self._contents[state_id])
        before, after = ({path: states(path) for path in paths} for states in (self._was, self._states.get))
        return (self._objects.checkpoint_of(before), self._objects.checkpoint_of(after)) if paths else None

    def apply(self, edit: Callable[[Sequence[BufferEdit]], object]) -> list[str]:
        """Do it, and give the files that were changed; each is changed at once or not at all. ``edit`` makes edits in
        the editor, all of them or none; it raises ToolError."""
        edits = {path: each for path in self.paths if (each := self._edit(path))}
        applied: list[str] = []
        if edits:
            try:
                edit(tuple(edits.values()))
                applied += edits
            except ToolError as error:
                for path in edits:
                    self._leave(path, str(error))
        for path in self.paths:
            if path in edits or path in self._failed:
                continue
            new = self._states[path]
            try:
                put(self._root, path, self._found[path], new, self._objects)
            except ToolError as error:
                self._leave(path, str(error))
                continue
            applied.append(path)
            if new is None:
                remove_empty(self._root, path.rpartition("/")[0])
        return applied

    def _edit(self, path: str) -> BufferEdit | None:
        """What is to be done to the file in the editor; None for one that is changed on disk, or left alone."""
        buffer, was, new = self._found[path].buffer, self._was(path), self._states[path]
        if buffer is None or was is None:
            return None
        if new is None or new.mode != was.mode:
            return None
        try:
            return BufferEdit(buffer.path, buffer.text, to_text(self._root, path, self._content(new.id), buffer))
        except ToolError as error:
            self._leave(path, str(error))
            return None

    def _leave(self, path: str, reason: str) -> None:
        self._failed[path] = Failed(path, reason)
        self._states[path] = self._was(path)

    def _was(self, path: str) -> FileState | None:
        return self._found[path].state

    def _fold(self, path: str, before: FileState | None, after: FileState | None) -> None:
        """Take back one change of the file at ``path``, on top of what was taken back already."""
        if path not in self._found:
            found = self._found[path] = look_at_document(self._root, path, LARGEST, self._open_files)
            self._states[path] = found.state
            if found.state is not None:
                self._contents[found.state.id] = found.content
            if found.problem and not found.blocked_by:
                self._failed[path] = Failed(path, found.problem)
        if path not in self._failed:
            now = self._states[path]
            reason = _obstacle(now, before, after)
            if reason:
                self._failed[path] = Failed(path, self._found[path].problem or reason)
            else:
                self._states[path] = self._three_way(path, now, before, after)

    def _three_way(
        self, path: str, now: FileState | None, before: FileState | None, after: FileState | None
    ) -> FileState | None:
        if now is None or before is None or after is None or after in {now, before}:
            return before if now == after else now
        mode = before.mode if now.mode == after.mode else now.mode
        if after.id in {now.id, before.id} or now.id == before.id:
            return FileState(mode, before.id if now.id == after.id else now.id)
        contents = [self._content(each.id) for each in (after, now, before)]
        if any(b"\0" in content for content in contents):
            self._failed[path] = Failed(path, "it is binary and was changed since")
            return now
        # Latin-1 gives every byte a character, so that lines of any encoding that is like ASCII are compared exactly.
        merged = merge(*(content.decode("latin-1") for content in contents))
        if merged.conflicts:
            places = tuple(_decoded(conflict) for conflict in merged.conflicts)
            lines = ", ".join(str(place.line) for place in places)
            self._failed[path] = Failed(path, f"the same lines were changed since (line {lines})", places)
            return now
        content = merged.text.encode("latin-1")
        result = state(content, mode)
        self._contents[result.id] = content
        return result

    def _settle_blocked(self) -> None:
        """A folder or a link that stands in a file's way may go with the rest; else the file is left alone."""
        gone = frozenset(path for path, now in self._states.items() if now is None and self._was(path) is not None)
        for path, found in self._found.items():
            block = found.blocked_by
            if block and self._states[path] is not None and not is_emptied(self._root, block, gone):
                self._failed[path] = Failed(path, found.problem or "")

    def _settle_unsaved(self) -> None:
        """What cannot be done in the editor is done on disk, unless there are unsaved changes."""
        for path, now in self._states.items():
            buffer, was = self._found[path].buffer, self._was(path)
            if buffer and buffer.is_dirty and was and (now is None or now.mode != was.mode):
                self._failed[path] = Failed(path, _UNSAVED)

    def _content(self, blob: str) -> bytes:
        if blob not in self._contents:
            self._contents[blob] = self._objects.content(blob)
        return self._contents[blob]

    def _difference(self, path: str) -> str:
        old, new = self._was(path), self._states[path]
        texts = [None if each is None else self._content(each.id) for each in (old, new)]
        if any(text and b"\0" in text for text in texts):
            return f"Binary file {printable(path)} {_verb(old, new)}\n"
        before, after = (None if text is None else text.decode("utf-8", "surrogateescape") for text in texts)
        note = ""
        for each in (old, new):
            if each and each.is_link:
                note = f"Symbolic link {printable(path)} {_verb(old, new)}\n"
        if old and new and old.mode != new.mode and not note:
            note = f"Permissions of {printable(path)}: {stat.S_IMODE(old.mode):o} to {stat.S_IMODE(new.mode):o}\n"
        change = FileChange(path, before, after, whole(path, before, after))
        return note + readable(shown(change).diff)


def _obstacle(now: FileState | None, before: FileState | None, after: FileState | None) -> str:
    """Why a change from ``before`` to ``after`` cannot be taken back of the file as it is ``now``; empty when it can,
    as far as that shows without the contents."""
    if now in {before, after}:
        return ""
    if now is None:
        return "it was deleted since"
    if after is None:
        return "there is another file in its place now"
    if before is None:
        return "it was changed since it was made"
    if any(each.is_link for each in (now, before, after)):
        return "it was changed since, and is or was a symbolic link"
    return ""


def _decoded(conflict: Conflict) -> Conflict:
    ours, theirs = (
        tuple(readable(line.encode("latin-1").decode("utf-8", "surrogateescape")) for line in side)
        for side in (conflict.ours, conflict.theirs)
    )
    return Conflict(conflict.line, ours, theirs)


def _verb(old: FileState | None, new: FileState | None) -> str:
    return "is made" if old is None else "is removed" if new is None else "is changed"
