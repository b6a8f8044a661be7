"""A model's thoughts as lines on standard error."""

import os
from collections.abc import Callable, Mapping
from functools import partial

from marvin_cli.stdout import Stdout, write_line
from marvin_server.events import Event, ThoughtDelta
from marvin_server.sanitise import Sanitiser

_MARK, _INDENT = "💭 ", "   "
_WIDTH = 100
_DIM, _PLAIN = "\x1b[2m", "\x1b[0m"


class Thoughts:
    """Shows thoughts as they arrive, a line at a time, so that no line of another kind gets into the middle of one.

    A block begins with a mark and goes on indented; long lines are broken between words, empty ones left out.
    ``begin`` is called before a block, ``write`` with each whole line.
    """

    def __init__(self, begin: Callable[[], None], write: Callable[[str], None], *, dim: bool) -> None:
        self._begin = begin
        self._write = write
        self._dim = dim
        self._margin = _MARK
        self._rest = ""
        self._sanitiser = Sanitiser()

    def show(self, event: Event) -> None:
        """Take in the next event of a turn; any but a piece of a thought ends the block."""
        if isinstance(event, ThoughtDelta):
            self._add(self._sanitiser.feed(event.text))
        else:
            self._add(self._sanitiser.flush())
            self._line(self._rest)
            self._rest, self._margin = "", _MARK

    def _add(self, text: str) -> None:
        text, at = self._rest + text, 0
        while (end := _line_end(text, at)) is not None:
            self._line(text[at:end])
            at = end + (text[end] in " \n")
        self._rest = text[at:]

    def _line(self, line: str) -> None:
        if not line.strip():
            return
        if self._margin == _MARK:
            self._begin()
        shown = f"{self._margin}{line}"
        self._write(f"{_DIM}{shown}{_PLAIN}" if self._dim else shown)
        self._margin = _INDENT


def beside(stdout: Stdout, environ: Mapping[str, str]) -> Thoughts:
    """Thoughts on stderr; dim on a terminal, and no answer on the same terminal has them in one of its lines."""
    is_terminal = os.isatty(2)
    dim = is_terminal and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"

    def begin() -> None:
        if is_terminal and os.isatty(1) and not stdout.at_line_start:
            write_line(2, "")

    return Thoughts(begin, partial(write_line, 2), dim=dim)


def _line_end(text: str, at: int) -> int | None:
    """Where the line ends that begins ``at`` this place; None while more of it may come."""
    limit = at + _WIDTH
    newline = text.find("\n", at, limit + 1)
    if newline >= 0:
        return newline
    if len(text) <= limit:
        return None
    space = text.rfind(" ", at + 1, limit + 1)
    return space if space >= 0 else limit
