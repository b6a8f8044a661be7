"""What a person is asked below the conversation: a question page by page, and a choice."""

import asyncio
from collections.abc import Callable, Sequence
from typing import TypeVar

from marvin_cli.view.base import Choice
from marvin_cli.view.cells import Line
from marvin_cli.view.entry import Entry
from marvin_cli.view.panels import Answering, Chooser, Panel, Words
from marvin_cli.view.question import Answer, Question, Said, pages, put
from marvin_cli.view.surface import Surface

# Rows that a page of a question leaves for all else.
_BESIDE = 8
Result = TypeVar("Result")


class Asking:
    """One thing is asked at a time. ``show`` prints lines of a question, ``wake`` has a frame drawn; once ``gone`` is
    done there is nobody left to answer."""

    def __init__(
        self,
        surface: Surface,
        entry: Entry,
        gone: "asyncio.Future[None]",
        show: Callable[[list[Line]], None],
        wake: Callable[[], None],
    ) -> None:
        self._surface = surface
        self._entry = entry
        self._gone = gone
        self._show = show
        self._wake = wake
        self._turn = asyncio.Lock()
        self._idle = ""

    async def ask(self, question: Question[Said]) -> Said:
        """What the person says, once every page was shown for a yes."""
        async with self._turn:
            self._surface.note_key()
            # No text while the question is open, though it may not take them now.
            self._idle = "".join(answer.key for answer in question.answers) + " "
            size = self._surface.output.get_size()
            shown = pages(question.lines, size.columns, max(3, size.rows - _BESIDE))

            def more(number: int) -> Answer[Said]:
                return Answer(" ", f"shows page {number} of {len(shown)}", lambda _: None)

            return await put(question, shown, show=self._show, more=more, answer=self._pressed, words=self._words)

    async def choose(self, title: str, choices: Sequence[Choice]) -> str | None:
        """The value of a choice; None when the person wants none."""
        async with self._turn:
            return await self._result(Chooser(title, choices), None)

    async def _words(self, answer: Answer[Said]) -> str | None:
        words = await self._result(Words(answer.asks, answer.text), None)
        self._surface.forget_key()
        return words

    async def _pressed(self, offered: Sequence[Answer[Said]]) -> Answer[Said] | None:
        """The answer whose key is pressed, once nobody types any more; other text goes to the input. None where there
        is nobody left."""
        while True:
            pressed = await self._result(Answering(offered, self._idle), None)
            if not isinstance(pressed, str):
                self._surface.forget_key()
                return pressed
            self._entry.paste(pressed)

    async def _result(self, panel: Panel[Result], otherwise: Result) -> Result:
        """What the person does with ``panel``, which has the keys; ``otherwise`` when the terminal goes."""
        self._surface.panel = panel
        self._wake()
        try:
            if panel.waits:
                await self._surface.quiet(self._gone)
                panel.waits = False
                self._wake()
            self._surface.layout.focus(panel.window)
            await asyncio.wait({panel.result, self._gone}, return_when=asyncio.FIRST_COMPLETED)
            return panel.result.result() if panel.result.done() else otherwise
        finally:
            self._surface.panel = None
            self._surface.layout.focus(self._entry.window)
            self._wake()
