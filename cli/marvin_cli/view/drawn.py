"""The part of a terminal that is drawn again and again, below what was printed for good."""

import asyncio
from collections.abc import Callable

from prompt_toolkit.application import Application
from prompt_toolkit.enums import EditingMode
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.layout import HSplit, Layout, Window
from prompt_toolkit.layout.containers import Container
from prompt_toolkit.styles import BaseStyle, DynamicStyle, Style

from marvin_cli.view.themes import looks
from marvin_cli.view.tty import TerminalInput, TerminalOutput

# For how many seconds a terminal may reply what its background is.
_REPLY = 2.0
# What is asked takes keys once nobody has typed for so many seconds: what is typed ahead of it answers nothing.
_PAUSE = 0.6


class Drawn(Application[None]):
    """``body`` in the height that it needs, or on the ``full_screen``; ``focused`` has the keys."""

    def __init__(
        self,
        body: list[Container],
        focused: Window,
        keyboard: TerminalInput,
        output: TerminalOutput,
        keys: KeyBindings,
        *,
        vi: bool,
        full_screen: bool = False,
    ) -> None:
        self._terminal = output
        self._keyboard = keyboard
        self._look: BaseStyle = Style([])
        self._last_key = 0.0
        super().__init__(
            layout=Layout(HSplit(body), focused_element=focused),
            key_bindings=keys,
            style=DynamicStyle(lambda: self._look),
            include_default_pygments_style=False,
            editing_mode=EditingMode.VI if vi else EditingMode.EMACS,
            input=keyboard,
            output=output,
            full_screen=full_screen,
            erase_when_done=True,
        )
        self.ttimeoutlen = 0.1
        self.key_processor.before_key_press += self.note_key

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

    def ask_background(self, learn: Callable[[str], None]) -> None:
        """Ask the terminal what its background is, once it echoes no more what it is sent; ``learn`` gets its reply, if
        one comes."""

        def ask(_sender: object) -> None:
            self.after_render -= ask
            self._keyboard.on_background = learn
            self._terminal.ask_background()
            asyncio.get_running_loop().call_later(_REPLY, self._keyboard.forget_reply)

        self.after_render += ask

    def note_key(self, _sender: object = None) -> None:
        """Somebody types."""
        self._last_key = asyncio.get_running_loop().time()

    def forget_key(self) -> None:
        """What was pressed was meant for what is asked."""
        self._last_key = 0.0

    async def quiet(self, gone: "asyncio.Future[None]") -> None:
        """Wait until nobody has typed for a while, or the terminal is ``gone``."""
        left = self._last_key + _PAUSE - asyncio.get_running_loop().time()
        if left > 0 and not gone.done():
            await asyncio.wait({gone}, timeout=left)
            await self.quiet(gone)
