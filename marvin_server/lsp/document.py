"""One document that is open in the editor: its text, kept up change by change, beside what its file had last."""

import os
import stat
import threading

from marvin_server.errors import ToolError
from marvin_server.lsp import positions
from marvin_server.protocol.places import Position, Range
from marvin_server.workspace import encodings
from marvin_server.workspace.documents import LARGEST
from marvin_server.workspace.editor import Buffer


class BadRange(Exception):
    """A range that the text does not have; the message says which."""


class Document:
    """``uri`` is as the client writes it, ``path`` the real one of its file, None where it is none.

    It is changed in the event loop; ``text`` and ``buffer`` may be read from any thread. ``text`` is None while it is
    not known, since a change could not be followed. ``on_disk`` is the text that the file had when it was last looked
    at, None without one. Lines end with LF, whatever is before it.
    """

    def __init__(self, uri: str, path: str | None, text: str, version: int) -> None:
        self.uri = uri
        self.path = path
        self.version = version
        self.on_disk = disk_text(path) if path else None
        # The text in which all that is unsaved is Marvin's.
        self._marvins: str | None = None
        self._is_behind = False
        self._lines: list[str] | None = text.split("\n")
        self._text: str | None = text
        self._length = len(text)
        self._buffer: Buffer | None = None
        self._lock = threading.Lock()

    @property
    def text(self) -> str | None:
        """The whole text."""
        with self._lock:
            if self._text is None and self._lines is not None:
                self._text = "\n".join(self._lines)
            return self._text

    @property
    def is_behind(self) -> bool:
        """Whether the file has changed beneath a text without unsaved changes, which the editor will read again."""
        return self._is_behind

    @property
    def is_dirty(self) -> bool:
        """Whether the text is not the one of the file as it was last looked at."""
        return not self._is_behind and not _same(self.text, self.on_disk)

    @property
    def is_marvins(self) -> bool:
        """Whether there are unsaved changes, and all of them are Marvin's."""
        return self._marvins is not None and self._marvins == self.text and self.is_dirty

    def shows(self, text: str) -> bool:
        """Whether ``text`` is the text now."""
        return self._length == len(text) and self.text == text

    def buffer(self) -> Buffer | None:
        """What the core sees of it, None where that is its file. Raises ToolError while the text is not known."""
        text, buffer = self.text, self._buffer
        if self.path is None or self._is_behind:
            return None
        if text is None:
            raise ToolError(
                f"The editor and Marvin disagree about the text of '{self.path}'. It can be read and changed again "
                "once it was saved, or closed and opened, in the editor."
            )
        if buffer is None:
            buffer = self._buffer = Buffer(self.path, text, self.version, self.is_dirty)
        return buffer

    def put(self, text: str) -> None:
        """All of the text is another."""
        self._set(text.split("\n"), text, len(text))

    def lose(self) -> None:
        """The text is not known any more."""
        self._set(None, None, -1)

    def replace(self, place: Range, text: str, encoding: str) -> None:
        """What stands at ``place`` becomes ``text``. Raises ``BadRange``; nothing happens while the text is unknown."""
        if self._lines is None:
            return
        (first, begin), (last, end) = (self._at(each, encoding) for each in (place.start, place.end))
        if (last, end) < (first, begin):
            raise BadRange(f"the range ends at line {last} before it starts, at line {first}")
        with self._lock:
            lines = self._lines
            new = (lines[first][:begin] + text + lines[last][end:]).split("\n")
            gone = lines[first : last + 1]
            self._length += sum(map(len, new)) + len(new) - sum(map(len, gone)) - len(gone)
            lines[first : last + 1] = new
            self._text = self._buffer = None
            self._is_behind = False

    def excerpt(self, place: Range, encoding: str) -> str:
        """What stands at ``place``. Raises ``BadRange``."""
        (first, begin), (last, end) = (self._at(each, encoding) for each in (place.start, place.end))
        lines = (self._lines or [])[first : last + 1]
        if (last, end) < (first, begin):
            raise BadRange(f"the range ends at line {last} before it starts, at line {first}")
        lines[-1] = lines[-1][:end]
        lines[0] = lines[0][begin:]
        return "\n".join(lines)

    def saved(self) -> None:
        """The editor says that the text is in the file now."""
        self.on_disk = self.text
        self._buffer = None
        if self.path and (found := disk_text(self.path)) is not None:
            self.look(found)

    def look(self, found: str | None) -> bool:
        """``found`` is in the file now; give whether that is news to a text with unsaved changes, which it is not."""
        if found == self.on_disk:
            return False
        was_clean = not self.is_dirty
        self.on_disk = found
        self._buffer = None
        is_same = _same(self.text, found)
        self._is_behind = was_clean and not is_same
        return not was_clean and not is_same

    def edited(self, before: str) -> None:
        """The text was ``before`` until Marvin alone has made it what it is."""
        if before == self._marvins or _same(before, self.on_disk):
            self._marvins = self.text

    def _set(self, lines: list[str] | None, text: str | None, length: int) -> None:
        with self._lock:
            self._lines, self._text, self._length = lines, text, length
            self._buffer = None
            self._is_behind = False

    def _at(self, place: Position, encoding: str) -> tuple[int, int]:
        """The line of ``place``, and the index in it."""
        lines = self._lines or []
        if not 0 <= place.line < len(lines) or place.character < 0:
            raise BadRange(f"line {place.line}, character {place.character} is not in a text of {len(lines)} lines")
        line = lines[place.line]
        # Some editors take the CR of a line end for a character of the line, so that a place may lie behind it.
        is_past = place.character > len(line) and place.character > positions.units(line, encoding)
        if is_past and place.line < len(lines) - 1:
            line = line.removesuffix("\r")
        return place.line, positions.index(line, place.character, encoding)


def disk_text(path: str) -> str | None:
    """The text of the file at ``path``; None for one that is not there, no text, or over 20 MB."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        with os.fdopen(fd, "rb") as file:
            status = os.fstat(fd)
            if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST:
                return None
            return encodings.decode(file.read(), encodings.detect(fd, path), path)
    except (OSError, ToolError):
        return None


def _same(text: str | None, other: str | None) -> bool:
    """Whether the texts differ in their line ends at most: some editors keep those apart from the text."""
    if text is None or other is None:
        return False
    return text == other or text.replace("\r\n", "\n") == other.replace("\r\n", "\n")
