"""The files of a workspace that are open in the editor, by their places beneath a root."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import PurePath

from marvin_server.edits.lines import like
from marvin_server.errors import ToolError
from marvin_server.workspace import documents, encodings
from marvin_server.workspace.confine import Root
from marvin_server.workspace.documents import Document
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
        return buffer if buffer and (is_on_disk or (buffer.is_dirty and buffer.text)) else None

    def blank(self, root: Root, path: str) -> Buffer | None:
        """The empty open file at ``path`` that is not on disk."""
        buffer, is_on_disk = self._found(root, path)
        return buffer if buffer and not is_on_disk and not buffer.text else None

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


def to_bytes(root: Root, path: str, text: str) -> bytes:
    """``text`` of an open file as it would be saved to ``path``: in the encoding and with the line ends of the file
    that is there, UTF-8 and as it is where there is none. Raises ToolError for what that encoding cannot hold."""
    there = _on_disk(root, path)
    return encodings.encode(like(text, there.text) if there else text, there.encoding if there else "utf-8", path)


def to_text(root: Root, path: str, content: bytes, buffer: Buffer) -> str:
    """``content``, which ``to_bytes`` has made, with the line ends of ``buffer``. Raises ToolError for no text."""
    there = _on_disk(root, path)
    return like(encodings.decode(content, there.encoding if there else "utf-8", path), buffer.text)


def _on_disk(root: Root, path: str) -> Document | None:
    try:
        return documents.read(root.permitting(path), path)
    except ToolError:
        return None


def lines_of(buffer: Buffer, start: int, end: int) -> LineRange:
    """Lines ``start`` to ``end`` of an open file; see ``read_range``."""
    with as_file(buffer.text) as fd:
        return read_range(fd, "utf-8", start, end, lambda: False)


@contextmanager
def as_file(text: str) -> Generator[int]:
    """A nameless file with the UTF-8 of ``text``, as a descriptor."""
    import tempfile

    with tempfile.TemporaryFile() as file:
        file.write(text.encode("utf-8", "replace"))
        file.seek(0)
        yield file.fileno()
