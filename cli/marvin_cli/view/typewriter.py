"""Plain text out, and a line that is edited below it: on a terminal, nothing else is ever drawn anew."""

import asyncio
import os
import signal
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import TypeVar

from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys

from marvin_cli.view.base import Source
from marvin_cli.view.drawn import Drawn
from marvin_cli.view.editor import edited
from marvin_cli.view.entry import Entry
from marvin_cli.view.teletype import Reader
from marvin_cli.view.tty import TerminalInput, TerminalOutput
from marvin_server.errors import UsageError
from marvin_server.sanitise import printable

Result = TypeVar("Result")


class Typewriter:
    """A ``Paper``. ``warn`` gets lines for the person."""

    def __init__(
        self, reader: Reader, source: Source, environ: Mapping[str, str], warn: Callable[[str], None], *, vi: bool
    ) -> None:
        self._reader = reader
        self._environ = environ
        self._warn = warn
        self._prompt = self._put_aside = ""
        self._is_answer = self._is_away = False
        self._waiting: list[Callable[[], None]] = []
        self._output = TerminalOutput(environ)
        self._entry = Entry(source, self._entered, lambda: self._prompt, lambda: self._is_answer, offers=False)
        body = [self._entry.container]
        self._drawn = Drawn(body, self._entry.window, TerminalInput(), self._output, self._bindings(), vi=vi)

    @property
    def is_full(self) -> bool:
        return self._output.is_full or self._is_away

    @property
    def draft(self) -> str:
        return self._put_aside if self._is_answer else self._entry.text

    def when_not_full(self, call: Callable[[], None]) -> None:
        if self._is_away:
            self._waiting.append(call)
        else:
            self._output.when_not_full(call)

    async def open(self) -> None:
        loop = asyncio.get_running_loop()
        self._gone: asyncio.Future[None] = loop.create_future()
        started: asyncio.Future[None] = loop.create_future()

        def start(_sender: object) -> None:
            self._drawn.after_render -= start
            started.set_result(None)

        self._drawn.after_render += start
        self._running = asyncio.create_task(self._run())
        await asyncio.wait({started, self._running}, return_when=asyncio.FIRST_COMPLETED)

    async def close(self) -> None:
        if self._drawn.is_running and not self._drawn.is_done:
            self._drawn.exit()
        await self._running
        await asyncio.to_thread(self._output.drain)

    def write(self, text: str) -> None:
        self._drawn.draw(text.replace("\n", "\r\n"))

    def prompt(self, text: str, *, is_answer: bool = False) -> None:
        if is_answer and not self._is_answer:
            self._put_aside = self._entry.clear()
        elif self._is_answer and not is_answer:
            self._entry.put(self._put_aside)
        if (text, is_answer) != (self._prompt, self._is_answer):
            self._prompt, self._is_answer = text, is_answer
            self._drawn.invalidate()

    def begin_with(self, draft: str) -> bool:
        if self._is_answer:
            self._put_aside = draft + self._put_aside
        else:
            self._entry.begin_with(draft)
            self._drawn.invalidate()
        return True

    def ask_background(self, learn: Callable[[str], None]) -> None:
        self._drawn.ask_background(learn)
        self._drawn.invalidate()

    async def quiet(self) -> None:
        await self._drawn.quiet(self._gone)

    async def aside(self, run: Callable[[], int]) -> int:
        return await self._away(run)

    async def _run(self) -> None:
        try:
            with suppress(EOFError):
                await self._drawn.run_async(set_exception_handler=False)
        finally:
            self._gone.set_result(None)
            self._reader.end()

    async def _away(self, call: Callable[[], Result]) -> Result:
        self._is_away = True
        try:
            return await self._output.lend(call)
        finally:
            self._is_away = False
            waiting, self._waiting = self._waiting, []
            for wake in waiting:
                wake()

    async def _edit(self) -> None:
        try:
            self._entry.put(await self._away(partial(edited, self._entry.text, self._environ)))
        except UsageError as error:
            self._warn(str(error))

    def _entered(self, text: str, steers: bool) -> None:
        """What was entered stays where it was typed."""
        self.write(f"{self._prompt}{printable(text)}\n")
        self._drawn.forget_key()
        self._reader.take(text, steers=steers)

    def _bindings(self) -> KeyBindings:
        keys = KeyBindings()

        @keys.add("c-c")
        @keys.add(Keys.SIGINT)
        def _(_event: KeyPressEvent) -> None:
            if not self._is_away:
                self._reader.interrupt("" if self._is_answer else self._entry.clear())

        @keys.add("c-d")
        def _(event: KeyPressEvent) -> None:
            if self._entry.text:
                event.current_buffer.delete()
            else:
                self._reader.end()

        @keys.add("c-z")
        def _(event: KeyPressEvent) -> None:
            event.app.create_background_task(self._away(partial(os.kill, 0, signal.SIGTSTP)))

        @keys.add("c-x", "c-e")
        def _(event: KeyPressEvent) -> None:
            event.app.create_background_task(self._edit())

        return keys
