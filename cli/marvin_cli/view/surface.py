"""What is drawn below the conversation: what is open, what waits, the panel, the input and the bar."""

from collections.abc import Callable, Sequence
from typing import Any

from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.layout import ConditionalContainer, DynamicContainer, FormattedTextControl, Window
from prompt_toolkit.layout.containers import Container

from marvin_cli.view.bar import bar, queue
from marvin_cli.view.base import Standing
from marvin_cli.view.cells import Row
from marvin_cli.view.drawn import Drawn
from marvin_cli.view.entry import Entry
from marvin_cli.view.panels import Answering, Panel
from marvin_cli.view.tty import TerminalInput, TerminalOutput


class Surface(Drawn):
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
        parts: list[Container] = [
            _rows(lambda: self.rest),
            _rows(lambda: queue(self.standing, self._columns) if self.standing else ()),
            Window(height=1),
            DynamicContainer(lambda: self.panel.container if self.panel else Window(height=0)),
            ConditionalContainer(
                entry.container, Condition(lambda: self.panel is None or isinstance(self.panel, Answering))
            ),
        ]
        status = _rows(lambda: [bar(self.standing, self._columns)] if self.standing else ())
        body = [status, chat, *parts] if chat else [*parts, status, Window()]
        super().__init__(body, entry.window, keyboard, output, keys, vi=vi, full_screen=chat is not None)

    @property
    def _columns(self) -> int:
        return self._terminal.get_size().columns


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
