"""What takes the place of the input while a person has to answer something: a question, one line, a choice."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from prompt_toolkit.application.current import get_app
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout import BufferControl, Dimension, FormattedTextControl, HSplit, Window
from prompt_toolkit.layout.containers import Container

from marvin_cli.view.base import Choice, matching
from marvin_cli.view.cells import cut, width
from marvin_cli.view.question import Answer
from marvin_server.sanitise import one_line

_MOST_CHOICES = 10
Result = TypeVar("Result")


class Panel(Generic[Result]):
    """``window`` has the focus while it is shown, unless it ``waits`` until nobody types; ``result`` is set when the
    person has answered."""

    def __init__(self) -> None:
        self.waits = False
        self.result: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self.container: Container
        self.window: Window

    def settle(self, result: Result) -> None:
        """Take an answer; the first one counts."""
        if not self.result.done():
            self.result.set_result(result)


class Answering(Panel[Answer | str]):
    """Waits for the key of one of ``answers``, and shows them. ``idle`` keys do nothing. Any other text is the result
    as well: nothing was answered with it.

    A key with which more comes at the same time is no answer but the beginning of a text. While it ``waits``,
    keys go to the input.
    """

    def __init__(self, answers: Sequence[Answer], idle: str) -> None:
        super().__init__()
        self.waits = True
        self._answers = {answer.key: answer for answer in answers}
        self._idle = idle
        keys = KeyBindings()
        for key in (*self._answers, Keys.Any, Keys.BracketedPaste):
            keys.add(key)(self._press)
        control = FormattedTextControl(self._hint, focusable=True, key_bindings=keys, show_cursor=False)
        self.window = Window(control, wrap_lines=True, dont_extend_height=True)
        self.container = self.window

    def _press(self, event: KeyPressEvent) -> None:
        answer = self._answers.get(event.data)
        is_alone = not event.key_processor.input_queue
        if answer and is_alone:
            self.settle(answer)
        elif is_alone and event.data in self._idle:
            pass
        elif event.data.isprintable() or event.key_sequence[0].key is Keys.BracketedPaste:
            self.settle(event.data)

    def _hint(self) -> StyleAndTextTuples:
        if self.waits:
            return [("class:muted", cut("What you type goes to the input until you pause.", _columns()))]
        hint: StyleAndTextTuples = []
        used = 0
        for answer in self._answers.values():
            key = "Space" if answer.key == " " else answer.key
            size = width(f"{key} {answer.label}")
            gap = "" if not used else "   " if used + 3 + size <= _columns() else "\n"
            used = size + (used + 3 if gap == "   " else 0)
            hint += [("", gap), ("class:accent", key), ("", f" {answer.label}")]
        return hint


class Words(Panel[str | None]):
    """Asks for a line, which begins as ``text``; None when the person goes back."""

    def __init__(self, label: str, text: str = "") -> None:
        super().__init__()
        buffer = Buffer(multiline=True, document=Document(text))
        keys = KeyBindings()
        _bind(keys, lambda: self.settle(buffer.text), "enter")
        _bind(keys, lambda: self.settle(None), "escape", "c-c")
        _bind(keys, lambda: buffer.insert_text("\n"), "c-j")

        def prefix(number: int, wraps: int) -> StyleAndTextTuples:
            first = f"{label}: "
            return [("class:prompt", first if (number, wraps) == (0, 0) else " " * width(first))]

        self.window = Window(
            BufferControl(buffer, key_bindings=keys), wrap_lines=True, dont_extend_height=True, get_line_prefix=prefix
        )
        hint = Window(FormattedTextControl("Enter: take it   Esc: go back", "class:muted"), height=1)
        self.container = HSplit([self.window, hint])


class Chooser(Panel[str | None]):
    """Offers ``choices``, narrowed to those in which all that is typed is found."""

    def __init__(self, title: str, choices: Sequence[Choice]) -> None:
        super().__init__()
        self._choices = choices
        self._at = 0
        self._buffer = Buffer(multiline=False, on_text_changed=lambda _buffer: self._move(-self._at))
        head: StyleAndTextTuples = [
            ("class:strong", one_line(title)),
            ("class:muted", "  (type to find, Enter: take, Esc: none)"),
        ]
        self.window = Window(
            BufferControl(self._buffer, key_bindings=self._bindings()),
            height=1,
            get_line_prefix=lambda _number, _wraps: [("class:prompt", "› ")],
        )
        rows = Window(FormattedTextControl(self._rows), height=Dimension(max=_MOST_CHOICES), dont_extend_height=True)
        self.container = HSplit([Window(FormattedTextControl(head), height=1), self.window, rows])

    def _found(self) -> list[Choice]:
        return matching(self._choices, self._buffer.text)

    def _move(self, by: int) -> None:
        self._at = min(max(0, self._at + by), max(0, len(self._found()) - 1))

    def _bindings(self) -> KeyBindings:
        keys = KeyBindings()
        _bind(keys, lambda: self._move(1), "down", "c-n", "tab")
        _bind(keys, lambda: self._move(-1), "up", "c-p", "s-tab")
        _bind(keys, lambda: self._move(_MOST_CHOICES), "pagedown")
        _bind(keys, lambda: self._move(-_MOST_CHOICES), "pageup")
        _bind(keys, lambda: self.settle(None), "escape", "c-c")
        _bind(keys, self._take, "enter")
        return keys

    def _take(self) -> None:
        if found := self._found():
            self.settle(found[self._at].value)

    def _rows(self) -> StyleAndTextTuples:
        columns = _columns()
        found = self._found()
        first = max(0, self._at - _MOST_CHOICES + 1)
        rows: StyleAndTextTuples = []
        for number, choice in enumerate(found[first : first + _MOST_CHOICES], first):
            label = cut(f"  {one_line(choice.label)}", columns)
            rest = cut(f"  {one_line(choice.description)}", columns - width(label)) if choice.description else ""
            rows += [("", "\n")] if rows else []
            rows += [("class:chosen" if number == self._at else "", label), ("class:muted", rest)]
        return rows or [("class:muted", "  nothing has that in it")]


def _columns() -> int:
    return get_app().output.get_size().columns - 1


def _bind(keys: KeyBindings, call: Callable[[], None], *names: str) -> None:
    for name in names:

        @keys.add(name, eager=name == "escape")
        def _(_event: KeyPressEvent) -> None:
            call()
