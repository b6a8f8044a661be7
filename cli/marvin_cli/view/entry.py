"""The line of input: what a person types, with completion, earlier lines, search and the keys of vi or Emacs."""

from collections.abc import AsyncGenerator, Callable, Iterable

from prompt_toolkit.application.current import get_app
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition, has_focus, is_searching
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.formatted_text.utils import fragment_list_to_text
from prompt_toolkit.history import History
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout import BufferControl, ConditionalContainer, Dimension, FormattedTextControl, HSplit, Window
from prompt_toolkit.layout.containers import Container
from prompt_toolkit.widgets import SearchToolbar

from marvin_cli.view.base import Source
from marvin_cli.view.cells import cut, width
from marvin_cli.view.pastes import LONG, Pastes, ShowPastes
from marvin_server.sanitise import one_line

_MENU = 8


class Entry:
    """``on_enter`` gets what was entered, whole, and whether it steers."""

    def __init__(self, source: Source, on_enter: Callable[[str, bool], None]) -> None:
        self._on_enter = on_enter
        self._pastes = Pastes()
        self._buffer = Buffer(
            completer=_Completions(source),
            complete_while_typing=True,
            history=_Earlier(source, self._pastes),
            multiline=True,
        )
        search = SearchToolbar(forward_search_prompt="search: ", backward_search_prompt="search back: ")
        control = BufferControl(
            self._buffer,
            input_processors=[ShowPastes(self._pastes)],
            include_default_input_processors=True,
            search_buffer_control=search.control,
            key_bindings=self._bindings(),
            preview_search=True,
        )
        self.window = Window(
            control,
            height=lambda: Dimension(min=1, max=max(1, get_app().output.get_size().rows // 2)),
            wrap_lines=True,
            dont_extend_height=True,
            get_line_prefix=lambda number, wrap: [("class:prompt", "› " if (number, wrap) == (0, 0) else "  ")],
        )
        menu = Window(FormattedTextControl(self._menu), height=Dimension(max=_MENU), dont_extend_height=True)
        completing = Condition(lambda: self._buffer.complete_state is not None)
        warning = Window(FormattedTextControl(self._warning, "class:warning"), height=1)
        is_long = Condition(lambda: self._size > LONG)
        parts = [ConditionalContainer(warning, is_long), self.window, ConditionalContainer(menu, completing), search]
        self.container: Container = HSplit(parts)

    @property
    def text(self) -> str:
        """What is typed so far, whole."""
        return self._pastes.unfold(self._buffer.text)

    @property
    def _size(self) -> int:
        return self._pastes.size(self._buffer.text)

    def begin_with(self, text: str) -> None:
        """Put ``text`` before what is typed."""
        if text:
            self._buffer.cursor_position = 0
            self._buffer.insert_text(self._pastes.fold(text))
            self._buffer.cursor_position = len(self._buffer.text)

    def put(self, text: str) -> None:
        """Have ``text`` in place of what is typed."""
        self._buffer.document = Document(self._pastes.fold(text))

    def paste(self, text: str) -> None:
        """Add at the cursor what was pasted; whatever is in it is text."""
        self._buffer.insert_text(self._pastes.fold(text.replace("\r\n", "\n").replace("\r", "\n")))

    def clear(self) -> str:
        """Take away what is typed, and hand it over."""
        text = self.text
        self._buffer.reset()
        return text

    def _bindings(self) -> KeyBindings:
        keys = KeyBindings()
        chosen = Condition(lambda: bool((state := self._buffer.complete_state) and state.current_completion))
        here = has_focus(self._buffer) & ~is_searching

        @keys.add("enter", filter=here & ~chosen)
        def _(_event: KeyPressEvent) -> None:
            self._enter(steers=False)

        @keys.add("enter", filter=here & chosen)
        def _(_event: KeyPressEvent) -> None:
            self._buffer.complete_state = None

        @keys.add("escape", "s", filter=here)
        def _(_event: KeyPressEvent) -> None:
            self._enter(steers=True)

        @keys.add("escape", "enter", filter=here)
        @keys.add("c-j", filter=here)
        def _(_event: KeyPressEvent) -> None:
            self._buffer.insert_text("\n")

        @keys.add("tab", filter=here)
        def _(_event: KeyPressEvent) -> None:
            if self._buffer.complete_state:
                self._buffer.complete_next()
            else:
                self._buffer.start_completion(select_first=True)

        @keys.add("s-tab", filter=here)
        def _(_event: KeyPressEvent) -> None:
            self._buffer.complete_previous()

        @keys.add("escape", filter=here & Condition(lambda: self._buffer.complete_state is not None))
        def _(_event: KeyPressEvent) -> None:
            self._buffer.cancel_completion()

        @keys.add(Keys.BracketedPaste, filter=here)
        def _(event: KeyPressEvent) -> None:
            self.paste(event.data)

        return keys

    def _enter(self, *, steers: bool) -> None:
        if text := self.text.strip("\n"):
            if not text.strip():
                return
            self._buffer.history.append_string(text)
            self._buffer.reset()
            self._on_enter(text, steers)

    def _warning(self) -> str:
        text = f"That is long: {self._size:,} characters, all of which a model has to read."
        return cut(text, get_app().output.get_size().columns - 1)

    def _menu(self) -> StyleAndTextTuples:
        state = self._buffer.complete_state
        if state is None:
            return []
        columns = get_app().output.get_size().columns - 1
        chosen = state.complete_index
        first = max(0, (chosen or 0) - _MENU + 1)
        shown = state.completions[first : first + _MENU]
        labels = [one_line(fragment_list_to_text(one.display), 200) for one in shown]
        margin = min(max(map(width, labels), default=0), columns // 2)
        rows: StyleAndTextTuples = []
        for number, (one, label) in enumerate(zip(shown, labels, strict=True), first):
            name = cut(label, max(margin, columns // 2))
            rest = one_line(fragment_list_to_text(one.display_meta), 200)
            row = f"  {name}{' ' * (margin - width(name))}  "
            rows += [("", "\n")] if rows else []
            rows.append(("class:chosen" if number == chosen else "", row if rest else row.rstrip()))
            rows.append(("class:muted", cut(rest, columns - width(row))))
        return rows


class _Completions(Completer):
    """What a source knows, for a buffer."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        return ()

    async def get_completions_async(
        self, document: Document, complete_event: CompleteEvent
    ) -> AsyncGenerator[Completion, None]:
        for one in await self._source.complete(document.text, document.cursor_position):
            yield Completion(one.text, -one.length, display=one.label, display_meta=one.description)


class _Earlier(History):
    """The earlier lines of a source, for a buffer."""

    def __init__(self, source: Source, pastes: Pastes) -> None:
        super().__init__()
        self._source = source
        self._pastes = pastes

    def load_history_strings(self) -> Iterable[str]:
        return (self._pastes.fold(text) for text in reversed(self._source.earlier()))

    def append_string(self, string: str) -> None:
        self._loaded_strings.insert(0, self._pastes.fold(string))
        self._source.keep(string)

    def store_string(self, string: str) -> None:
        self._source.keep(string)
