"""One workspace's files as they become when changes are taken back: planned, shown, then done."""

from collections.abc import Callable, Iterable, Sequence

from marvin_server.errors import ToolError
from marvin_server.session import differences
from marvin_server.session.file_copy import Contents, Failed, FileCopy
from marvin_server.workspace.checkpoint_files import is_emptied, look, look_in_editor, put, remove_empty
from marvin_server.workspace.checkpoint_objects import FileState, Objects
from marvin_server.workspace.checkpoint_texts import text_of
from marvin_server.workspace.confine import Root
from marvin_server.workspace.documents import LARGEST
from marvin_server.workspace.editor import BufferEdit
from marvin_server.workspace.open_files import OpenFiles

_UNSAVED = "it has unsaved changes in the editor: save it there, then try again"
_BENEATH = (
    "its file on disk has the change beneath unsaved changes in the editor: save it there, or read it again from the "
    "disk, then try again"
)


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
        self._contents = Contents(objects)
        self._files: dict[str, _File] = {}
        for before, after in changes:
            for path, (old, new) in objects.differences(before, after).items():
                self._file(path).take_back(old, new)
        self._copies = {path: file.settled() for path, file in self._files.items()}
        self._settle_blocked()
        changed = [path for path, copy in self._copies.items() if copy.now != copy.was]
        self.paths = sorted(changed, key=lambda path: (self._becomes(path) is not None, path))

    @property
    def failed(self) -> list[Failed]:
        return [copy.failed for _, copy in sorted(self._copies.items()) if copy.failed]

    def diff(self) -> str:
        """What changes, as a unified diff; bytes that are no text are shown as escapes."""
        return "".join(
            differences.shown(self._contents, path, self._was(path), self._becomes(path)) for path in sorted(self.paths)
        )

    def checkpoints(self) -> tuple[str, str] | None:
        """The ids of checkpoints of the files that change, as they were and as they become (once ``apply`` was called:
        have become); None when none does."""
        paths = self.paths
        for each in (each for path in paths for each in (self._was(path), self._becomes(path)) if each):
            self._contents.keep(each.id)
        before, after = ({path: states(path) for path in paths} for states in (self._was, self._becomes))
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
                    self._copies[path].fail(str(error))
        for path in self.paths:
            copy = self._copies[path]
            if path in edits or copy.failed:
                continue
            try:
                put(self._root, path, copy.found, copy.now, self._objects)
            except ToolError as error:
                copy.fail(str(error))
                continue
            applied.append(path)
            if copy.now is None:
                remove_empty(self._root, path.rpartition("/")[0])
        return applied

    def _file(self, path: str) -> "_File":
        if path not in self._files:
            found = look(self._root, path, LARGEST)
            in_editor = look_in_editor(self._root, path, found, self._open_files)
            on_disk = FileCopy(path, found, self._contents)
            self._files[path] = _File(on_disk, in_editor and FileCopy(path, in_editor, self._contents))
        return self._files[path]

    def _edit(self, path: str) -> BufferEdit | None:
        """What is to be done to the file in the editor; None for one that is changed on disk, or left alone."""
        copy = self._copies[path]
        buffer, new = copy.found.buffer, copy.now
        if buffer is None or new is None:
            return None
        try:
            return BufferEdit(buffer.path, buffer.text, text_of(self._contents.of(new.id), path))
        except ToolError as error:
            copy.fail(str(error))
            return None

    def _was(self, path: str) -> FileState | None:
        return self._copies[path].was

    def _becomes(self, path: str) -> FileState | None:
        return self._copies[path].now

    def _settle_blocked(self) -> None:
        """A folder or a link that stands in a file's way may go with the rest; else the file is left alone."""
        gone = frozenset(path for path, copy in self._copies.items() if copy.now is None and copy.was is not None)
        for copy in self._copies.values():
            block = copy.found.blocked_by
            if block and copy.now is not None and not is_emptied(self._root, block, gone):
                copy.fail(copy.found.problem or "")


class _File:
    """A file in both places: ``on_disk``, and ``in_editor`` where it is open."""

    def __init__(self, on_disk: FileCopy, in_editor: FileCopy | None) -> None:
        self._on_disk = on_disk
        self._in_editor = in_editor
        self._is_beneath = False

    def take_back(self, before: FileState | None, after: FileState | None) -> None:
        """See ``FileCopy.take_back``. A change that only the disk has lies beneath what the editor has."""
        disk, editor = self._on_disk, self._in_editor
        were = disk.now, editor and editor.now
        for copy in (disk, editor):
            if copy is not None:
                copy.take_back(before, after)
        if editor is not None and editor.failed is None and editor.now == were[1]:
            self._is_beneath |= disk.now != were[0] or (disk.failed is not None and disk.was is not None)

    def settled(self) -> FileCopy:
        """The copy in which it is done. What cannot be done in the editor is done on disk, unless there are unsaved
        changes."""
        editor = self._in_editor
        if editor is None or editor.failed is not None or editor.found.buffer is None:
            return editor or self._on_disk
        is_for_disk = editor.now is None or (editor.was is not None and editor.now.mode != editor.was.mode)
        if not is_for_disk and not self._is_beneath:
            return editor
        if not editor.found.buffer.is_dirty:
            return self._on_disk
        editor.fail(_UNSAVED if is_for_disk else _BENEATH)
        return editor
