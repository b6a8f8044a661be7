"""The part of a terminal that is drawn again and again: what is open, what waits, the panel, the input and the bar."""

from collections.abc import Callable, Sequence
from typing import Any

from prompt_toolkit.application import Application
from prompt_toolkit.enums import EditingMode
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.layout import ConditionalContainer, DynamicContainer, FormattedTextControl, HSplit, Layout, Window
from prompt_toolkit.layout.containers import Container
from prompt_toolkit.styles import BaseStyle, DynamicStyle, Style

from marvin_cli.view.bar import bar, queue
from marvin_cli.view.base import Standing
from marvin_cli.view.cells import Row
from marvin_cli.view.entry import Entry
from marvin_cli.view.panels import Answering, Panel
from marvin_cli.view.themes import looks
from marvin_cli.view.tty import TerminalInput, TerminalOutput


class Surface(Application[None]):
    """``rest`` are the rows that are open; what is set is drawn with the next frame.

    Below a conversation that scrolls away it takes the height that it needs. With ``chat`` it fills the screen.
    """

    def __init__(
        self,
        entry: Entry,
        keyboard: TerminalInput,
        output: TerminalOutput,
        keys: KeyBindings,
        *,
        vi: bool,
        chat: Container | None = None,
    ) -> None:
        self.rest: Sequence[Row] = ()
        self.standing: Standing | None = None
        self.panel: Panel[Any] | None = None
        self._terminal = output
        self._entry = entry
        self._look: BaseStyle = Style([])
        parts: list[Container] = [
            _rows(lambda: self.rest),
            _rows(lambda: queue(self.standing, self._columns) if self.standing else ()),
            Window(height=1),
            DynamicContainer(lambda: self.panel.container if self.panel else Window(height=0)),
            ConditionalContainer(entry.container, Condition(lambda: isinstance(self.panel, Answering | None))),
        ]
        status = _rows(lambda: [bar(self.standing, self._columns)] if self.standing else ())
        body = [status, chat, *parts] if chat else [*parts, status, Window()]
        super().__init__(
            layout=Layout(HSplit(body), focused_element=entry.window),
            key_bindings=keys,
            style=DynamicStyle(lambda: self._look),
            include_default_pygments_style=False,
            editing_mode=EditingMode.VI if vi else EditingMode.EMACS,
            input=keyboard,
            output=output,
            full_screen=chat is not None,
            erase_when_done=True,
        )
        self.ttimeoutlen = 0.1

    def wear(self, theme: str) -> None:
        """Have the looks of a theme."""
        self._look = Style(list(looks(theme).items()))

    def draw(self, above: str = "") -> None:
        """Draw a frame now, with ``above`` printed for good before all else."""
        if self.is_running:
            with self._terminal.frame():
                if above:
                    self.renderer.erase()
                    self._terminal.write_raw(above)
                self._redraw()

    @property
    def _columns(self) -> int:
        return self._terminal.get_size().columns

    def _redraw(self, render_as_done: bool = False) -> None:
        """Draw, in one piece. Where less is needed than before, nothing of the old is left below."""
        with self._terminal.frame():
            before = self.renderer.last_rendered_screen
            if before and self.is_running and not self.full_screen and not self._running_in_terminal:
                size = self._terminal.get_size()
                needed = self.layout.container.preferred_height(size.columns, size.rows).preferred
                if needed < before.height:
                    self.renderer.erase()
            super()._redraw(render_as_done)

    def _on_resize(self) -> None:
        """Take away what is drawn, in the rows that it has come to take."""
        screen = self.renderer.last_rendered_screen
        if screen and self._terminal.reflows and not self.full_screen:
            cursor = screen.get_cursor_position(self.layout.current_window)
            rows = (screen.data_buffer[row] for row in range(cursor.y))
            lasts = [max((at for at, cell in row.items() if cell.char.strip()), default=0) for row in rows]
            self._terminal.cursor_up(sum(last // self._columns for last in lasts))
        super()._on_resize()


def _rows(rows: Callable[[], Sequence[Row]]) -> Container:
    """A window just as high as the rows are."""

    def text() -> StyleAndTextTuples:
        fragments: StyleAndTextTuples = []
        for row in rows():
            fragments += [("", "\n")] if fragments else []
            fragments += styled(row)
        return fragments

    window = Window(FormattedTextControl(text), dont_extend_height=True)
    return ConditionalContainer(window, Condition(lambda: bool(rows())))


def styled(row: Row) -> StyleAndTextTuples:
    """The row as prompt-toolkit has it."""
    return [(" ".join(f"class:{role}" for role in roles.split()), text) for roles, text in row]
