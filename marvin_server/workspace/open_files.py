"""The files of a workspace that are open in the editor, by their places beneath a root."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import PurePath

from marvin_server.errors import ToolError
from marvin_server.workspace.confine import Root
from marvin_server.workspace.editor import Buffer, Editor
from marvin_server.workspace.line_ranges import LineRange, read_range


class OpenFiles:
    """What is open in ``editor``; nothing when that is None. Its methods may be called from any thread, and raise
    ToolError for an open file whose text is not known."""

    def __init__(self, editor: Editor | None = None) -> None:
        self.editor = editor

    def at(self, root: Root, path: str) -> Buffer | None:
        """The document at ``path`` when it is open.

        An open file that is not on disk is a document once something was written in it: without that, it has only been
        named, or was deleted from the disk.
        """
        buffer, is_on_disk = self._found(root, path)
        return buffer if buffer and (is_on_disk or (buffer.is_dirty and not _is_blank(buffer))) else None

    def blank(self, root: Root, path: str) -> Buffer | None:
        """The open file at ``path`` that is not on disk and has no text, or one line end: some editors always have."""
        buffer, is_on_disk = self._found(root, path)
        return buffer if buffer and not is_on_disk and _is_blank(buffer) else None

    def has(self, root: Root, path: str) -> bool:
        """Whether ``path`` is open, be it a document or not."""
        return self._found(root, path)[0] is not None

    def unsaved(self, root: Root, folder: str) -> dict[str, str]:
        """The texts of the open documents in ``folder`` that differ from those on disk, by their paths."""
        if self.editor is None:
            return {}
        above = root.path / folder
        named = {PurePath(buffer.path): buffer for buffer in self.editor.buffers() if buffer.is_dirty}
        inside = (path.relative_to(root.path).as_posix() for path in named if path.is_relative_to(above))
        return {path: buffer.text for path in inside if (buffer := self.at(root, path))}

    def _found(self, root: Root, path: str) -> tuple[Buffer | None, bool]:
        """What is open at ``path``, and whether there is a file."""
        if self.editor is None:
            return None, False
        try:
            place = root.place_of_any(path)
            is_on_disk = root.exists(place)
        except (OSError, ToolError):
            return None, False
        return self.editor.buffer(str(root.path / place)), is_on_disk


def lines_of(buffer: Buffer, start: int, end: int) -> LineRange:
    """Lines ``start`` to ``end`` of an open file; see ``read_range``."""
    with as_file(buffer.text) as fd:
        return read_range(fd, "utf-8", start, end, lambda: False)


def _is_blank(buffer: Buffer) -> bool:
    return buffer.text in {"", "\n", "\r\n"}


@contextmanager
def as_file(text: str) -> Generator[int]:
    """A nameless file with the UTF-8 of ``text``, as a descriptor."""
    import tempfile

    with tempfile.TemporaryFile() as file:
        file.write(text.encode("utf-8", "replace"))
        file.seek(0)
        yield file.fileno()
