"""The lines that a person has entered, one file for all terminals of a profile."""

import re
from collections.abc import Iterable
from pathlib import Path

from marvin_server.profiles import files

_MOST = 10_000
_ESCAPES = {"\\": "\\\\", "\n": "\\n", "\r": "\\r"}
_PLAIN = {escape: char for char, escape in _ESCAPES.items()}
_ESCAPED = re.compile(r"\\[\\nr]")


class InputHistory:
    """The entries in ``file``: one a line, in which a backslash stands before n, r and itself."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._latest = ""

    def entries(self) -> list[str]:
        """The latest 10,000, the oldest first; none of a file that cannot be read."""
        try:
            lines = self._file.read_text("utf-8", "replace").split("\n")[:-1]
        except OSError:
            return []
        return [_ESCAPED.sub(lambda match: _PLAIN[match[0]], line) for line in lines[-_MOST:]]

    def add(self, *entries: str) -> None:
        """Add entries; the same one again, at once, and an empty one are no others. Raises ``OSError``."""
        with files.alone(self._file):
            new: list[str] = []
            for entry in entries:
                if entry.strip() and entry != self._latest:
                    new.append(_line(entry))
                    self._latest = entry
            with self._file.open("a", encoding="utf-8", errors="replace") as file:
                self._file.chmod(0o600)
                file.writelines(new)
            self._shorten()

    def _shorten(self) -> None:
        """Forget the oldest entries once there are twice as many as are read."""
        if self._file.stat().st_size < 4 * _MOST:
            return
        lines = self._file.read_bytes().splitlines(keepends=True)
        if len(lines) > 2 * _MOST:
            files.write(self._file, b"".join(lines[-_MOST:]))


def readline_entries(text: str) -> Iterable[str]:
    """The entries of a file that GNU readline, or libedit, has kept."""
    return (line for line in text.splitlines() if line and line != "_HiStOrY_V2_")


def _line(entry: str) -> str:
    return "".join(_ESCAPES.get(char, char) for char in entry) + "\n"
