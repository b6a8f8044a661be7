"""The full screen: a status bar, the conversation, which can be scrolled, and the input."""

from collections.abc import Callable, Mapping, Sequence

from prompt_toolkit.data_structures import Point
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout import Window
from prompt_toolkit.layout.controls import UIContent, UIControl

from marvin_cli.view.base import Ended, Source
from marvin_cli.view.cells import Line, Row, wrapped
from marvin_cli.view.console import Console
from marvin_cli.view.surface import styled


class CursesView(Console):
    """A ``View`` that follows the conversation's end, unless it is scrolled up (Page Up, Page Down, Ctrl+Home,
    Ctrl+End). Ctrl+Q leaves."""

    def __init__(self, source: Source, environ: Mapping[str, str], *, theme: str = "auto", vi: bool = False) -> None:
        self._chat = _Chat()
        super().__init__(source, environ, theme=theme, vi=vi, chat=Window(self._chat))

    def clear(self) -> None:
        self._chat.clear()
        self._wake()

    def _publish(self, lines: list[Line], rest: list[Row]) -> None:
        self._chat.add(lines, rest)
        self._surface.draw()

    def _bindings(self) -> KeyBindings:
        keys = super()._bindings()

        def on(name: str, call: Callable[[], None]) -> None:
            @keys.add(name)
            def _(_event: KeyPressEvent) -> None:
                call()

        on("pageup", lambda: self._chat.scroll(1))
        on("pagedown", lambda: self._chat.scroll(-1))
        on("c-home", self._chat.scroll_to_start)
        on("c-end", self._chat.scroll_to_end)
        on("c-q", lambda: self._inputs.put_nowait(Ended(self._entry.text)))
        return keys


class _Chat(UIControl):
    """The conversation's lines, of which only those on the screen are drawn."""

    def __init__(self) -> None:
        self._lines: list[Line] = []
        self._rows: list[Row] = []
        self._columns = self._height = 0
        self._below = 0
        self._rest: Sequence[Row] = ()

    def add(self, lines: Sequence[Line], rest: Sequence[Row]) -> None:
        """Add lines at the end, and after them ``rest`` in place of what it was; what is being read stays in place."""
        rows = [row for line in lines for row in wrapped(line, max(1, self._columns))]
        if self._below:
            self._below += len(rows) + len(rest) - len(self._rest)
        self._lines += lines
        self._rows += rows
        self._rest = rest

    def clear(self) -> None:
        """Begin with an empty screen."""
        self._lines, self._rows, self._below = [], [], 0

    def scroll(self, pages: int) -> None:
        """Go back by so many screens, less a row; or forward, where there are fewer than 0."""
        self._below = min(max(0, self._below + pages * max(1, self._height - 1)), self._most)

    def scroll_to_start(self) -> None:
        """Go to the first line."""
        self._below = self._most

    def scroll_to_end(self) -> None:
        """Go to the last line, and follow."""
        self._below = 0

    @property
    def _most(self) -> int:
        return max(0, len(self._rows) + len(self._rest) - self._height)

    def create_content(self, width: int, height: int) -> UIContent:
        """prompt-toolkit's entry: the rows for a window of this size."""
        if width != self._columns:
            self._columns = width
            self._rows = [row for line in self._lines for row in wrapped(line, width)]
        self._height = height
        self._below = min(max(0, self._below), self._most)
        last = len(self._rows) + len(self._rest) - self._below
        first = max(0, last - height)
        shown = [*self._rows[first:last], *self._rest[max(0, first - len(self._rows)) : max(0, last - len(self._rows))]]
        return UIContent(lambda at: styled(shown[at]) if at < len(shown) else [], max(1, len(shown)), Point(0, 0))
