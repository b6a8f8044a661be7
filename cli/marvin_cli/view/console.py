"""What the views with an input line have in common: keys in, panels, the bar, and frames at a steady pace."""

import asyncio
import os
import signal
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Self, TypeVar

from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout.containers import Container

from marvin_cli.view.asking import Asking
from marvin_cli.view.base import Choice, Ended, Entered, Input, Interrupted, Reply, Source, Standing, Tone, Verdict
from marvin_cli.view.cells import Line, Row, wrapped
from marvin_cli.view.drawing import Drawing
from marvin_cli.view.editor import edited
from marvin_cli.view.entry import Entry
from marvin_cli.view.paint import Paint, colour_bits, is_light, is_light_colour
from marvin_cli.view.question import hunk_question, permission_question
from marvin_cli.view.surface import Surface
from marvin_cli.view.themes import THEMES, fitting
from marvin_cli.view.tty import TerminalInput, TerminalOutput
from marvin_server.errors import UsageError
from marvin_server.events import Event, Patch, Permission

# Seconds between two frames, and between two looks at a time that goes on.
_FRAME, _TICK = 1 / 30, 0.2
Result = TypeVar("Result")


class Console(ABC):
    """A ``View`` whose input line stays on the screen; where the conversation goes is for those that inherit."""

    def __init__(
        self, source: Source, environ: Mapping[str, str], *, theme: str, vi: bool, chat: Container | None = None
    ) -> None:
        self._environ = environ
        self._theme = theme
        self._is_light = is_light(environ)
        self._bits = colour_bits(environ)
        self._drawing = Drawing(lambda: self._columns)
        self._inputs: asyncio.Queue[Input] = asyncio.Queue()
        self._timer: asyncio.TimerHandle | None = None
        self._next_frame = 0.0
        self._is_away = False
        self._output = TerminalOutput(environ)
        self._entry = Entry(source, self._entered)
        self._surface = Surface(self._entry, TerminalInput(), self._output, self._bindings(), vi=vi, chat=chat)
        self.wear(theme)

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._gone: asyncio.Future[None] = self._loop.create_future()
        self._loop.add_signal_handler(signal.SIGHUP, self.end)
        if self._theme == "auto" and self._bits and self._is_light is None:
            self._surface.ask_background(self._learn_background)
        self._running = asyncio.create_task(self._run())
        self._asking = Asking(self._surface, self._entry, self._gone, self._question, self._wake)
        return self

    async def __aexit__(self, *_: object) -> None:
        if not self._gone.done():
            self._loop.remove_signal_handler(signal.SIGHUP)
        self._frame()
        if self._timer:
            self._timer.cancel()
        if self._surface.is_running and not self._surface.is_done:
            self._surface.exit()
        await self._running
        await asyncio.to_thread(self._output.drain)

    def show(self, event: Event) -> None:
        self._drawing.show(event)
        self._wake()

    def say(self, text: str, tone: Tone = "plain") -> None:
        self._drawing.say(text, tone)
        self._wake()

    def say_rows(self, rows: Sequence[tuple[str, str]]) -> None:
        self._drawing.say_rows(rows)
        self._wake()

    def echo(self, text: str) -> None:
        self._drawing.echo(text)
        self._wake()

    def stand(self, standing: Standing) -> None:
        self._surface.standing = standing
        self._wake()

    async def read(self, draft: str = "") -> Input:
        self._entry.begin_with(draft)
        self._surface.invalidate()
        if self._gone.done() and self._inputs.empty():
            return Ended(self._entry.text)
        return await self._inputs.get()

    async def ask(self, permission: Permission) -> Reply:
        return await self._asking.ask(permission_question(permission))

    async def review(self, part: Patch, number: int, count: int) -> Verdict:
        return await self._asking.ask(hunk_question(part, number, count))

    async def choose(self, title: str, choices: Sequence[Choice]) -> str | None:
        return await self._asking.choose(title, choices)

    async def aside(self, run: Callable[[], int]) -> int:
        return await self._away(run)

    def clear(self) -> None:
        self._frame()
        with self._output.frame():
            self._surface.renderer.clear()
            self._surface.draw()

    @property
    def themes(self) -> Sequence[str]:
        return THEMES

    def wear(self, theme: str) -> None:
        self._theme = theme
        name = fitting(theme, depth=self._bits, is_light=self._is_light)
        self._paint = Paint(name, self._bits)
        self._surface.wear(name)

    @abstractmethod
    def _publish(self, lines: list[Line], rest: list[Row]) -> None:
        """Show lines that are final, and draw all else anew; ``rest`` are the rows that are open."""

    @property
    def _columns(self) -> int:
        return self._output.get_size().columns

    @property
    def _rows(self) -> int:
        return self._output.get_size().rows

    async def _run(self) -> None:
        try:
            with suppress(EOFError):
                await self._surface.run_async(set_exception_handler=False)
        finally:
            self.end()

    def end(self) -> None:
        """The terminal is gone, or is to be left. Of the hangups that may follow, none ends what has to be saved."""
        if not self._gone.done():
            self._gone.set_result(None)
            self._inputs.put_nowait(Ended(self._entry.text))

    def _wake(self) -> None:
        """Have a frame drawn as soon as one is due."""
        due = max(self._loop.time(), self._next_frame)
        if self._timer is None or self._timer.when() > due:
            if self._timer:
                self._timer.cancel()
            self._timer = self._loop.call_at(due, self._frame)

    def _frame(self) -> None:
        if self._timer:
            self._timer.cancel()
        self._timer = None
        if self._is_away or self._gone.done():
            return
        if not self._surface.is_running:
            self._next_frame = self._loop.time() + _FRAME
            self._wake()
            return
        if self._output.is_full:
            self._output.when_not_full(self._wake)
            return
        lines = self._drawing.take()
        self._publish(lines, self._open_rows())
        now = self._loop.time()
        self._next_frame = now + _FRAME
        if self._drawing.is_moving:
            self._timer = self._loop.call_at(now + _TICK, self._frame)

    def _open_rows(self) -> list[Row]:
        """The end of what is open, as much of it as there is room for."""
        room = max(3, self._rows - 10)
        rows: list[Row] = []
        for line in reversed(self._drawing.rest()):
            rows = wrapped(line, self._columns - 1) + rows
            if len(rows) >= room:
                break
        return rows[-room:]

    def _entered(self, text: str, steers: bool) -> None:
        self._inputs.put_nowait(Entered(text, steers))

    def _question(self, lines: list[Line]) -> None:
        self._drawing.add("question", lines)
        self._wake()

    def _learn_background(self, reply: str) -> None:
        self._is_light = is_light_colour(reply)
        if self._theme == "auto":
            self.wear("auto")
            self._wake()

    async def _away(self, call: Callable[[], Result]) -> Result:
        """Have ``call`` run in a thread, with the terminal to itself."""
        self._frame()
        self._is_away = True
        try:
            return await self._output.lend(call)
        finally:
            self._is_away = False
            self._wake()

    async def _edit(self) -> None:
        try:
            self._entry.put(await self._away(partial(edited, self._entry.text, self._environ)))
        except UsageError as error:
            self.say(str(error), "error")

    async def _suspend(self) -> None:
        await self._away(partial(os.kill, 0, signal.SIGTSTP))

    def _bindings(self) -> KeyBindings:
        keys = KeyBindings()

        @keys.add("c-c")
        @keys.add(Keys.SIGINT)
        def _(_event: KeyPressEvent) -> None:
            if not self._is_away:
                self._inputs.put_nowait(Interrupted("" if self._surface.panel else self._entry.clear()))

        @keys.add("c-d")
        def _(event: KeyPressEvent) -> None:
            if self._surface.panel is None and not self._entry.text:
                self._inputs.put_nowait(Ended())
            elif self._surface.panel is None:
                event.current_buffer.delete()

        @keys.add("c-z")
        def _(event: KeyPressEvent) -> None:
            event.app.create_background_task(self._suspend())

        @keys.add("c-x", "c-e")
        def _(event: KeyPressEvent) -> None:
            event.app.create_background_task(self._edit())

        return keys
