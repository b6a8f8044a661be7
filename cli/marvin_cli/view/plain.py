"""The view as linear text, for pipes, screen readers and terminals that can do little: whole lines out, lines in.

A line that ends in a backslash goes on in the next one; one that begins with ``>>`` steers the running turn.
"""

import asyncio
import shutil
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Self

from marvin_cli.view.base import Choice, Ended, Entered, Input, Interrupted, Reply, Source, Standing, Tone, matching
from marvin_cli.view.cells import Line, wrapped
from marvin_cli.view.drawing import SPOKEN, Drawing
from marvin_cli.view.lines import Lines
from marvin_cli.view.paint import Paint, colour_bits, is_dumb, is_light
from marvin_cli.view.question import Answer, answers, pages, question_lines
from marvin_cli.view.signs import SIGNS, encoding
from marvin_cli.view.themes import THEMES, fitting
from marvin_server.events import Event, Permission, ToolStarted, TurnFinished, TurnStarted
from marvin_server.sanitise import one_line
from marvin_server.writer import Writer

_FRAME = 1 / 30
_PROMPT = "> "
_STEERS = ">>"
_SECONDS_TO_END = 1.0
# What a kernel keeps of a line that is typed, in bytes.
_LONGEST = 4095


class PlainView:
    """A ``View`` that writes no escape sequences but colours on a terminal, and none of these for a screen reader."""

    def __init__(
        self, source: Source, environ: Mapping[str, str], *, theme: str = "auto", screen_reader: bool = False
    ) -> None:
        self._source = source
        self._environ = environ
        self._is_terminal = sys.stdout.isatty()
        self._encoding = encoding(environ) if self._is_terminal else sys.stdout.encoding
        self._is_typed = sys.stdin.isatty()
        self._has_colours = self._is_terminal and not screen_reader and not is_dumb(environ)
        self._drawing = Drawing(lambda: self._columns, SPOKEN if screen_reader else None)
        self._standing: Standing | None = None
        self._inputs: asyncio.Queue[Input] = asyncio.Queue()
        self._asking = asyncio.Lock()
        self._heard: asyncio.Future[str | None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._typed = self._question = ""
        self._is_prompted = self._in_turn = self._is_away = False
        self.wear(theme)

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._writer = Writer(sys.stdout.fileno(), self.end)
        self._ended: asyncio.Future[None] = self._loop.create_future()
        self._lines = Lines(sys.stdin.fileno(), self._take, self.end, joins=self._is_typed)
        self._lines.start()
        self._loop.add_signal_handler(signal.SIGHUP, self.end)
        self._loop.add_signal_handler(signal.SIGINT, self._interrupt)
        return self

    async def __aexit__(self, *_: object) -> None:
        if not self._ended.done():
            self._loop.remove_signal_handler(signal.SIGHUP)
        self._loop.remove_signal_handler(signal.SIGINT)
        self._lines.stop()
        self._print()
        self._begin_line()
        await asyncio.to_thread(self._writer.flush, _SECONDS_TO_END)

    def show(self, event: Event) -> None:
        self._in_turn = isinstance(event, TurnStarted) or (self._in_turn and not isinstance(event, TurnFinished))
        self._drawing.show(event)
        if isinstance(event, ToolStarted) and event.kind == "execute":
            self._drawing.say(f"Runs: {one_line(event.title, 300)}", "note")
        self._wake()

    def say(self, text: str, tone: Tone = "plain") -> None:
        self._drawing.say(text, tone)
        self._wake()

    def echo(self, text: str) -> None:
        typed, self._typed = self._typed, ""
        if not (self._is_typed and self._is_terminal and text == typed):
            self._drawing.echo(text)
            self._wake()

    def stand(self, standing: Standing) -> None:
        before = self._standing.queued if self._standing else ()
        for text in standing.queued[len(before) :]:
            self.say(f"Waits until the turn is over: {one_line(text, 200)}", "note")
        self._standing = standing
        self._wake()

    async def read(self, draft: str = "") -> Input:
        if draft:
            self.say(f"You had typed: {draft}", "note")
        self._wake()
        if self._ended.done() and self._inputs.empty():
            return Ended()
        return await self._inputs.get()

    async def ask(self, permission: Permission) -> Reply:
        async with self._asking:
            rows = max(3, shutil.get_terminal_size().lines - 3) if self._is_terminal else sys.maxsize
            portions = pages(question_lines(permission), self._columns, rows)
            offered = answers(permission)
            for portion in portions[:-1]:
                self._drawing.add("question", portion)
                more = Answer("more", "shows the next page", "deny")
                denials = [answer for answer in offered if answer.decision.startswith("deny")]
                if reply := await self._reply([more, *denials], more):
                    return reply
            self._drawing.add("question", portions[-1])
            return await self._reply(offered) or Reply("deny")

    async def choose(self, title: str, choices: Sequence[Choice]) -> str | None:
        async with self._asking:
            found = list(choices)
            while found:
                rows = [f"{number}. {one.label}  {one.description}".rstrip() for number, one in enumerate(found, 1)]
                self.say("\n".join([title, *rows]), "output")
                said = await self._hear("Number, or a part of it; an empty line for none: ")
                if not said or not said.strip():
                    return None
                if said.strip().isdecimal() and 0 < int(said) <= len(found):
                    return found[int(said) - 1].value
                fits = matching(choices, said)
                if len(fits) == 1:
                    return fits[0].value
                found = fits or found
            return None

    async def aside(self, run: Callable[[], int]) -> int:
        self._print()
        self._begin_line()
        self._lines.stop()
        self._is_away = True
        try:
            await asyncio.to_thread(self._writer.flush, _SECONDS_TO_END)
            return await asyncio.to_thread(run)
        finally:
            self._is_away = False
            self._lines.start()
            self._wake()

    def clear(self) -> None:
        """Nothing: what is printed stays."""

    @property
    def themes(self) -> Sequence[str]:
        return THEMES

    def wear(self, theme: str) -> None:
        bits = colour_bits(self._environ)
        self._paint = Paint(fitting(theme, depth=bits, is_light=is_light(self._environ)), bits)

    @property
    def _columns(self) -> int:
        """How wide lines are laid out: into a pipe as on the most usual terminal."""
        return shutil.get_terminal_size().columns if self._is_terminal else 80

    async def _answer(self, offered: Sequence[Answer]) -> Answer:
        """The answer that is entered. Other lines are prompts; the end of the input is a no."""
        hint = ", ".join(f"{answer.key} = {answer.label}" for answer in offered)
        while (said := await self._hear(f"{hint}: ")) is not None:
            word = {"yes": "y", "no": "n"}.get(said.strip().casefold(), said.strip())
            for answer in offered:
                if word == answer.key:
                    return answer
            if said.strip():
                self._enter(said)
                self.say("That is kept as a prompt; the question is still open.", "note")
        return Answer("", "", "deny")

    async def _reply(self, offered: Sequence[Answer], more: Answer | None = None) -> Reply | None:
        """What the person replies; None when they want to see ``more``."""
        while (answer := await self._answer(offered)) != more:
            if not answer.asks:
                return Reply(answer.decision)
            said = await self._hear(f"{answer.asks}: ")
            if answer.decision != "allow_edited":
                return Reply(answer.decision, note=(said or "").strip() or None)
            if said and said.strip():
                return Reply(answer.decision, command=said)
        return None

    async def _hear(self, prompt: str) -> str | None:
        """The next line that is entered; None at the end of the input."""
        self._print()
        self._begin_line()
        self._question = prompt
        self._heard = self._loop.create_future()
        self._frame()
        try:
            await asyncio.wait({self._heard, self._ended}, return_when=asyncio.FIRST_COMPLETED)
            return self._heard.result() if self._heard.done() else None
        finally:
            self._heard = None

    def _take(self, text: str) -> None:
        """A line that was entered."""
        self._is_prompted = self._is_prompted and not self._is_typed
        if len(text.encode(errors="replace")) >= _LONGEST and self._is_typed:
            self.say(f"The terminal cuts lines at {_LONGEST} bytes; a longer one has to come from a file.", "warning")
        if self._heard and not self._heard.done():
            self._heard.set_result(text)
        elif text.strip():
            self._enter(text)
        else:
            self._wake()

    def _enter(self, text: str) -> None:
        self._typed = text
        self._source.keep(text)
        steers = text.startswith(_STEERS)
        self._inputs.put_nowait(Entered(text.removeprefix(_STEERS).strip() if steers else text, steers))

    def _interrupt(self) -> None:
        if not self._is_away:
            self._inputs.put_nowait(Interrupted())

    def end(self) -> None:
        if not self._ended.done():
            self._ended.set_result(None)
            self._inputs.put_nowait(Ended())

    def _wake(self) -> None:
        if self._timer is None:
            self._timer = self._loop.call_later(_FRAME, self._frame)

    def _frame(self) -> None:
        """Print what is final, and the prompt once nothing more is to come."""
        self._print()
        is_busy = self._in_turn or (self._standing and self._standing.busy) or self._asking.locked()
        if self._heard and not self._is_prompted:
            self._write(self._question)
            self._is_prompted = True
        elif self._is_typed and self._is_terminal and not (is_busy or self._is_prompted or self._is_away):
            self._write(_PROMPT)
            self._is_prompted = True

    def _print(self) -> None:
        if self._timer:
            self._timer.cancel()
        self._timer = None
        if self._is_away:
            return
        if self._writer.is_full:
            self._writer.when_not_full(self._wake)
            return
        if lines := self._drawing.take():
            self._begin_line()
            self._write("".join(f"{text}\n" for line in lines for text in self._texts(line)))

    def _texts(self, line: Line) -> list[str]:
        rows = [line.fragments] if line.verbatim or not self._is_terminal else wrapped(line, self._columns)
        if self._has_colours:
            return [self._paint.row(row) for row in rows]
        return ["".join(text for _, text in row) for row in rows]

    def _begin_line(self) -> None:
        if self._is_prompted:
            self._write("\n")
            self._is_prompted = False

    def _write(self, text: str) -> None:
        self._writer.write(text.encode(self._encoding, SIGNS))
