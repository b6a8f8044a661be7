"""The terminal at both ends of an application: keys in, and frames out, which never wait for the terminal."""

import asyncio
import codecs
import os
import re
import select
import sys
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import TypeVar

from prompt_toolkit.application import in_terminal
from prompt_toolkit.data_structures import Size
from prompt_toolkit.input.vt100 import Vt100Input
from prompt_toolkit.key_binding import KeyPress
from prompt_toolkit.output import ColorDepth
from prompt_toolkit.output.vt100 import Vt100_Output

from marvin_cli.view.paint import colour_bits
from marvin_cli.view.signs import SIGNS, encoding
from marvin_server.writer import Writer

Result = TypeVar("Result")

# OSC 11 asks for the colour of the background; the reply comes as if it were typed.
_ASK_BACKGROUND = "\x1b]11;?\x1b\\"
_REPLY = re.compile(r"\x1b\]11;([^\x07\x1b]*)(?:\x07|\x1b\\)")
_BEGUN_REPLY = re.compile(r"\x1b\][^\x07\x1b]{0,40}\x1b?\Z")
# A synchronized update: the terminal shows the whole of a frame or nothing of it.
_BEGIN_FRAME, _END_FRAME = "\x1b[?2026h", "\x1b[?2026l"
_AT_ONCE, _READS = 4096, 32
_SECONDS_TO_END = 1.0
_DEPTHS = {
    0: ColorDepth.DEPTH_1_BIT,
    4: ColorDepth.DEPTH_4_BIT,
    8: ColorDepth.DEPTH_8_BIT,
    24: ColorDepth.DEPTH_24_BIT,
}


class TerminalInput(Vt100Input):
    """Keys from standard input. ``on_background`` is called with the terminal's reply once its colour was asked for."""

    def __init__(self) -> None:
        super().__init__(sys.stdin)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._is_closed = False
        self._held = ""
        self._is_early = False
        self.on_background: Callable[[str], None] | None = None

    @property
    def closed(self) -> bool:
        return self._is_closed

    def raw_mode(self) -> AbstractContextManager[None]:
        """Get each key as it is from here on. Until then a terminal makes a newline of Enter: lines that were typed
        ahead of the prompt are entered."""
        self._is_early = bool(select.select([self.fileno()], [], [], 0)[0])
        return super().raw_mode()

    def forget_reply(self) -> None:
        """Take what comes for keys again: the terminal has not replied."""
        self.on_background = None

    def read_keys(self) -> list[KeyPress]:
        """All that has been typed; much at once where much was pasted."""
        text = self._held + "".join(self._texts())
        self._held = ""
        if self._is_early:
            self._is_early = False
            text = text.replace("\n", "\r")
        if self.on_background:
            if reply := _REPLY.search(text):
                on_background, self.on_background = self.on_background, None
                on_background(reply[1])
                text = text[: reply.start()] + text[reply.end() :]
            elif begun := _BEGUN_REPLY.search(text):
                self._held, text = begun[0], text[: begun.start()]
        self.vt100_parser.feed(text)
        keys, self._buffer = self._buffer, []
        return keys

    def _texts(self) -> Iterator[str]:
        for _ in range(_READS):
            try:
                if not select.select([self.fileno()], [], [], 0)[0]:
                    return
                read = os.read(self.fileno(), _AT_ONCE)
            except OSError:
                read = b""
            if not read:
                self._is_closed = True
                return
            yield self._decoder.decode(read)


class TerminalOutput(Vt100_Output):
    """Frames to standard output, each in one piece, written by a thread: a terminal that does not read holds up
    nothing here. ``reflows`` says whether it breaks its lines anew when its width changes."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        super().__init__(sys.stdout, _size, default_color_depth=_DEPTHS[colour_bits(environ)], enable_cpr=False)
        self.reflows = "XTERM_VERSION" not in environ and not environ.get("TERM", "").startswith(("linux", "rxvt"))
        self._encoding = encoding(environ)
        self._writer: Writer | None = None
        self._depth = 0

    @property
    def is_full(self) -> bool:
        """Whether the terminal is so far behind that no more frames should be drawn."""
        return self._writer is not None and self._writer.is_full

    def when_not_full(self, call: Callable[[], None]) -> None:
        """Call it once, as soon as the terminal has caught up."""
        if self._writer:
            self._writer.when_not_full(call)

    def ask_background(self) -> None:
        """Ask for the colour of the background; the reply comes to the input's ``on_background``, if at all."""
        self.write_raw(_ASK_BACKGROUND)

    @contextmanager
    def frame(self) -> Generator[None]:
        """All that is written within is shown at once; frames may be nested."""
        if not self._depth:
            self.write_raw(_BEGIN_FRAME)
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
            if not self._depth:
                if self._buffer == [_BEGIN_FRAME]:
                    self._buffer = []
                else:
                    self.write_raw(_END_FRAME)
                    self.flush()

    def flush(self) -> None:
        """Hand on what was written, unless a frame is still being drawn. Needs a running event loop."""
        if self._depth or not self._buffer:
            return
        data = "".join(self._buffer)
        self._buffer = []
        self._writer = self._writer or Writer(self.fileno(), _ignore)
        self._writer.write(data.encode(self._encoding, SIGNS))

    def drain(self) -> None:
        """Wait until the terminal has read everything, a second at most. It blocks."""
        if self._writer:
            self._writer.flush(_SECONDS_TO_END)

    async def lend(self, call: Callable[[], Result]) -> Result:
        """What ``call`` gives, run in a thread with the terminal to itself, below all that was written."""
        async with in_terminal():
            await asyncio.to_thread(self.drain)
            return await asyncio.to_thread(call)


def _ignore() -> None:
    """A terminal that is gone: its input has ended as well, and that is what tells."""


def _size() -> Size:
    try:
        columns, rows = os.get_terminal_size(sys.stdout.fileno())
    except OSError:
        columns, rows = 0, 0
    return Size(rows=rows or 24, columns=columns or 80)
