"""One document that is open in the editor: its text, kept up change by change, beside what its file had last."""

import threading

from marvin_server.edits.lines import alike
from marvin_server.errors import ToolError
from marvin_server.lsp import positions
from marvin_server.lsp.on_disk import OnDisk, as_on_disk
from marvin_server.protocol.places import Position, Range
from marvin_server.workspace.editor import Buffer


class BadRange(Exception):
    """A range that the text does not have; the message says which."""


class Document:
    """``uri`` is as the client writes it, ``path`` the real one of its file, None where it is none.

    It is changed in the event loop; ``text`` and ``buffer`` may be read from any thread. ``text`` is None while it is
    not known, since a change could not be followed. ``on_disk`` is the file as it was last looked at, None before the
    first time. Lines end with LF, whatever is before it.
    """

    def __init__(self, uri: str, path: str | None, text: str, version: int) -> None:
        self.uri = uri
        self.path = path
        self.version = version
        self.on_disk: OnDisk | None = None
        # The text in which all that is unsaved is Marvin's.
        self._marvins: str | None = None
        self._has_marvins = False
        # The text on disk beside what the editor calls the same, where that has another last line end.
        self._called_same: tuple[str, str] | None = None
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
        """Whether the text is not the one of the file as it was last looked at, or that is not known yet."""
        return not self._is_behind and not self._is_on_disk(self.text)

    @property
    def is_marvins(self) -> bool:
        """Whether there are unsaved changes, and all of them are Marvin's."""
        return self._marvins is not None and self._marvins == self.text and self.is_dirty

    def is_mixed(self) -> bool:
        """Whether there are unsaved changes of Marvin's beside others: once for each time that Marvin has edited it."""
        is_mixed = self._has_marvins and self.is_dirty and not self.is_marvins
        if is_mixed:
            self._has_marvins = False
        return is_mixed

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
        is_old = not buffer.is_dirty and self.on_disk is not None and not self.on_disk.is_at(self.path)
        return None if is_old else buffer

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

    @property
    def line_count(self) -> int:
        """How many lines it has, an empty one after the last line end included; 0 while the text is not known."""
        return len(self._lines or ())

    def excerpt(self, place: Range, encoding: str) -> str:
        """What stands at ``place``, which may end where the line after the last would begin. Raises ``BadRange``."""
        lines, end_at = self._lines or [], place.end
        if end_at == Position(len(lines), 0) and lines:
            end_at = Position(len(lines) - 1, positions.units(lines[-1], encoding))
        (first, begin), (last, end) = (self._at(each, encoding) for each in (place.start, end_at))
        lines = lines[first : last + 1]
        if (last, end) < (first, begin):
            raise BadRange(f"the range ends at line {last} before it starts, at line {first}")
        lines[-1] = lines[-1][:end]
        lines[0] = lines[0][begin:]
        return "\n".join(lines)

    def saved(self) -> None:
        """The editor says that the text is in the file now."""
        self.on_disk = None if self.text is None else OnDisk(as_on_disk(self.text))
        self._has_marvins = self._is_behind = False
        self._buffer = None

    def look(self, found: OnDisk) -> bool:
        """``found`` is the file now; give whether that is news to a text with unsaved changes, which it is not. None of
        these counts as Marvin's then: they were made for another file."""
        known, was_dirty = self.on_disk, self.is_dirty
        self.on_disk = found
        if known is None or known.stamp is None:
            # The editor has just said that it has the file's text.
            said = self.text if known is None else known.text
            if said is not None and found.text is not None and alike(said, found.text):
                self._called_same = found.text, as_on_disk(said)
                self._buffer = None
                return False
        if known is not None and found.text == known.text:
            return False
        self._buffer = None
        is_same = self._is_on_disk(self.text)
        self._is_behind = not was_dirty and not is_same
        if known is None or not was_dirty or is_same:
            return False
        self._marvins = None
        return True

    def edited(self, before: str) -> None:
        """The text was ``before`` until Marvin alone has made it what it is."""
        self._has_marvins = True
        if before == self._marvins or self._is_on_disk(before):
            self._marvins = self.text

    def _is_on_disk(self, text: str | None) -> bool:
        """Whether ``text`` is the file's, but for line ends: some editors keep those apart from the text."""
        if text is None or self.on_disk is None or self.on_disk.text is None:
            return False
        text = as_on_disk(text)
        return text == self.on_disk.text or (self.on_disk.text, text) == self._called_same

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
