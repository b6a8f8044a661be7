"""One copy of a file, on disk or in the editor, as it becomes when changes are taken back one after the other."""

from msgspec import Struct

from marvin_server.edits.lines import like
from marvin_server.edits.merge import Conflict, merge
from marvin_server.errors import ToolError
from marvin_server.workspace.checkpoint_files import Found
from marvin_server.workspace.checkpoint_objects import FileState, Objects, state
from marvin_server.workspace.checkpoint_texts import alike, kept_text, text_of
from marvin_server.workspace.editor import Buffer
from marvin_server.workspace.encodings import readable


class Failed(Struct, frozen=True):
    """A file that was left alone. ``conflicts`` are the places in it as it is now (``ours``) that were changed since,
    with what would have been put there (``theirs``)."""

    path: str
    reason: str
    conflicts: tuple[Conflict, ...] = ()


class Contents:
    """The contents of files by their ids: those in ``objects``, and others that are not kept there yet."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._known: dict[str, bytes] = {}
        self._new: set[str] = set()

    def of(self, blob: str) -> bytes:
        """The content of this id. Raises CheckpointError."""
        if blob not in self._known:
            self._known[blob] = self._objects.content(blob)
        return self._known[blob]

    def add(self, content: bytes, mode: int) -> FileState:
        """The state of a file with this content and mode, which may be asked for from now on."""
        added = state(content, mode)
        if added.id not in self._known:
            self._known[added.id] = content
            self._new.add(added.id)
        return added

    def keep(self, blob: str) -> None:
        """Have the content of this id in the objects. Raises CheckpointError."""
        if blob in self._new:
            self._objects.keep(self._known[blob])
            self._new.discard(blob)


class FileCopy:
    """What was ``found`` at ``path``. ``now`` is what becomes of it; with ``failed`` it stays as it was."""

    def __init__(self, path: str, found: Found, contents: Contents) -> None:
        self.found = found
        self.now = found.state
        self.failed: Failed | None = None
        self._path = path
        self._contents = contents
        if found.state is not None:
            contents.add(found.content, found.state.mode)
        if found.problem and not found.blocked_by:
            self.fail(found.problem)

    @property
    def was(self) -> FileState | None:
        return self.found.state

    def fail(self, reason: str, conflicts: tuple[Conflict, ...] = ()) -> None:
        """Leave it as it was."""
        self.failed = Failed(self._path, reason, conflicts)
        self.now = self.was

    def take_back(self, before: FileState | None, after: FileState | None) -> None:
        """Take back one change, on top of what was taken back already. Raises CheckpointError."""
        if self.failed is not None:
            return
        before, after = self._written_alike(before, after)
        if reason := _obstacle(self.now, before, after):
            self.fail(self.found.problem or reason)
        else:
            self._three_way(before, after)

    def _written_alike(
        self, before: FileState | None, after: FileState | None
    ) -> tuple[FileState | None, FileState | None]:
        now, buffer = self.now, self.found.buffer
        if any(each and each.is_link for each in (now, before, after)):
            return before, after
        if now is None or after is None:
            return (before and buffer and self._as_in(buffer, before)) or before, after
        if now.id == after.id and buffer is None:
            return before, after
        contents = [self._contents.of(each.id) for each in (now, after, before or now)]
        made, old = alike(contents[0], contents[1], contents[2], is_open=buffer is not None)
        return before and self._contents.add(old, before.mode), self._contents.add(made, after.mode)

    def _as_in(self, buffer: Buffer, kept: FileState) -> FileState:
        """A file that comes back where the editor has one open."""
        try:
            text = like(text_of(self._contents.of(kept.id), self._path), buffer.text)
            return self._contents.add(kept_text(text, self._path), kept.mode)
        except ToolError:
            return kept

    def _three_way(self, before: FileState | None, after: FileState | None) -> None:
        now = self.now
        if now is None or before is None or after is None or after in {now, before}:
            self.now = before if now == after else now
            return
        mode = before.mode if now.mode == after.mode else now.mode
        if after.id in {now.id, before.id} or now.id == before.id:
            self.now = FileState(mode, before.id if now.id == after.id else now.id)
            return
        contents = [self._contents.of(each.id) for each in (after, now, before)]
        if any(b"\0" in content for content in contents):
            self.fail("it is binary and was changed since")
            return
        # Latin-1 gives every byte a character, so that lines of any encoding that is like ASCII are compared exactly.
        merged = merge(*(content.decode("latin-1") for content in contents))
        if merged.conflicts:
            places = tuple(_decoded(conflict) for conflict in merged.conflicts)
            lines = ", ".join(str(place.line) for place in places)
            self.fail(f"the same lines were changed since (line {lines})", places)
            return
        self.now = self._contents.add(merged.text.encode("latin-1"), mode)


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
