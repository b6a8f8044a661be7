"""Plain text out and lines in as a pipe has them, or a terminal that can do no more than print."""

import asyncio
import signal
import sys
from collections.abc import Callable, Mapping
from typing import Protocol

from marvin_cli.view.lines import Lines
from marvin_cli.view.signs import SIGNS, encoding
from marvin_server.writer import Writer

SECONDS_TO_END = 1.0
# What a kernel keeps of a line that is typed, in bytes.
_LONGEST = 4095


class Reader(Protocol):
    """Who is told what is typed."""

    def take(self, text: str, *, steers: bool) -> None:
        """A line was entered."""
        ...

    def interrupt(self, draft: str) -> None:
        """The person wants to stop; ``draft`` was typed and is cleared."""
        ...

    def end(self) -> None:
        """Nothing more will come."""
        ...


class Paper(Protocol):
    """Where plain text goes, and lines come from."""

    @property
    def is_full(self) -> bool:
        """Whether nothing more should be written now."""
        ...

    @property
    def draft(self) -> str:
        """What is typed and not entered."""
        ...

    def when_not_full(self, call: Callable[[], None]) -> None:
        """Call it once, as soon as there is room again."""
        ...

    async def open(self) -> None:
        """Read from now on."""
        ...

    async def close(self) -> None:
        """Read no more, and have all written."""
        ...

    def write(self, text: str) -> None:
        """Print whole lines, for good."""
        ...

    def prompt(self, text: str, *, is_answer: bool = False) -> None:
        """Have the line that is typed begin with this, unless it is typed into a pipe; "" while none is asked for."""
        ...

    def begin_with(self, draft: str) -> bool:
        """Have the line that is typed begin with ``draft``; False where that cannot be."""
        ...

    def ask_background(self, learn: Callable[[str], None]) -> None:
        """Have ``learn`` get the terminal's reply to OSC 11, if one comes."""
        ...

    async def quiet(self) -> None:
        """Wait until nobody is in the middle of typing."""
        ...

    async def aside(self, run: Callable[[], int]) -> int:
        """Run this in a thread, with the terminal to itself."""
        ...


class Teletype:
    """A ``Paper`` without line editing but the terminal's own. ``warn`` gets lines for the person."""

    def __init__(self, reader: Reader, environ: Mapping[str, str], warn: Callable[[str], None]) -> None:
        self._reader = reader
        self._warn = warn
        self._is_typed = sys.stdin.isatty()
        self._has_prompts = self._is_typed and sys.stdout.isatty()
        self._encoding = encoding(environ) if sys.stdout.isatty() else sys.stdout.encoding
        self._is_prompted = False
        self.draft = ""

    @property
    def is_full(self) -> bool:
        return self._writer.is_full

    def when_not_full(self, call: Callable[[], None]) -> None:
        self._writer.when_not_full(call)

    async def open(self) -> None:
        self._writer = Writer(sys.stdout.fileno(), self._reader.end)
        self._lines = Lines(sys.stdin.fileno(), self._take, self._reader.end, joins=self._is_typed)
        self._lines.start()
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, self._reader.interrupt, "")

    async def close(self) -> None:
        asyncio.get_running_loop().remove_signal_handler(signal.SIGINT)
        self._lines.stop()
        self._begin_line()
        await asyncio.to_thread(self._writer.flush, SECONDS_TO_END)

    def write(self, text: str) -> None:
        self._begin_line()
        self._put(text)

    def prompt(self, text: str, *, is_answer: bool = False) -> None:
        if text and not self._is_prompted and (self._has_prompts or is_answer):
            self._put(text)
            self._is_prompted = True

    def begin_with(self, draft: str) -> bool:
        return False

    def ask_background(self, learn: Callable[[str], None]) -> None:
        """Nothing: there is nobody who could reply."""

    async def quiet(self) -> None:
        """Lines that come before a question are no answer to it; no more is known of what is typed."""

    async def aside(self, run: Callable[[], int]) -> int:
        self._begin_line()
        self._lines.stop()
        try:
            await asyncio.to_thread(self._writer.flush, SECONDS_TO_END)
            return await asyncio.to_thread(run)
        finally:
            self._lines.start()

    def _take(self, text: str) -> None:
        self._is_prompted = self._is_prompted and not self._is_typed
        if len(text.encode(errors="replace")) >= _LONGEST and self._is_typed:
            self._warn(f"The terminal cuts lines at {_LONGEST} bytes; a longer one has to come from a file.")
        self._reader.take(text, steers=False)

    def _begin_line(self) -> None:
        if self._is_prompted:
            self._put("\n")
            self._is_prompted = False

    def _put(self, text: str) -> None:
        self._writer.write(text.encode(self._encoding, SIGNS))
