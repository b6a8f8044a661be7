"""The view as linear text, for pipes, screen readers and terminals that can do little: whole lines out, lines in.

A line that ends in a backslash goes on in the next one; one that begins with ``>>`` steers the running turn.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Self

from marvin_cli.view.base import (
    Choice,
    Ended,
    Entered,
    Input,
    Interrupted,
    Reply,
    Source,
    Standing,
    Tone,
    Verdict,
    matching,
)
from marvin_cli.view.cells import Line, line, wrapped
from marvin_cli.view.drawing import SPOKEN, Drawing
from marvin_cli.view.paint import Paint, colour_bits, is_dumb, is_light, is_light_colour
from marvin_cli.view.question import Answer, Question, Said, hunk_question, pages, permission_question, put
from marvin_cli.view.teletype import Paper, Teletype
from marvin_cli.view.themes import THEMES, fitting
from marvin_server.events import Event, Patch, Permission, ToolStarted, TurnFinished, TurnStarted
from marvin_server.sanitise import one_line

_FRAME = 1 / 30
_PROMPT = "> "
_STEERS = ">>"


class PlainView:
    """A ``View`` of which nothing is drawn anew but the line that is typed, on a terminal that can do that. There are
    colours on a terminal, and none for a screen reader."""

    def __init__(
        self,
        source: Source,
        environ: Mapping[str, str],
        *,
        theme: str = "auto",
        vi: bool = False,
        screen_reader: bool = False,
    ) -> None:
        self._source = source
        self._environ = environ
        self._is_terminal = sys.stdout.isatty()
        can_draw = self._is_terminal and not is_dumb(environ)
        self._has_colours = can_draw and not screen_reader
        self._is_light = is_light(environ)
        self._drawing = Drawing(lambda: self._columns, SPOKEN if screen_reader else None)
        self._standing: Standing | None = None
        self._inputs: asyncio.Queue[Input] = asyncio.Queue()
        self._asking = asyncio.Lock()
        self._heard: asyncio.Future[str] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._typed = self._question = ""
        self._in_turn = self._is_away = False
        self._paper: Paper
        if sys.stdin.isatty() and can_draw:
            from marvin_cli.view.typewriter import Typewriter

            self._paper = Typewriter(self, source, environ, self._warn, vi=vi)
        else:
            self._paper = Teletype(self, environ, self._warn)
        self.wear(theme)

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._ended: asyncio.Future[None] = self._loop.create_future()
        self._loop.add_signal_handler(signal.SIGHUP, self.end)
        await self._paper.open()
        if self._theme == "auto" and self._has_colours and self._is_light is None:
            self._paper.ask_background(self._learn_background)
        self._frame()
        return self

    async def __aexit__(self, *_: object) -> None:
        if not self._ended.done():
            self._loop.remove_signal_handler(signal.SIGHUP)
        self._print()
        await self._paper.close()

    def show(self, event: Event) -> None:
        self._in_turn = isinstance(event, TurnStarted) or (self._in_turn and not isinstance(event, TurnFinished))
        self._drawing.show(event)
        if isinstance(event, ToolStarted) and event.kind == "execute":
            self._drawing.say(f"Runs: {one_line(event.title, 300)}", "note")
        self._wake()

    def say(self, text: str, tone: Tone = "plain") -> None:
        self._drawing.say(text, tone)
        self._wake()

    def say_rows(self, rows: Sequence[tuple[str, str]]) -> None:
        self._drawing.say_rows(rows)
        self._wake()

    def echo(self, text: str) -> None:
        typed, self._typed = self._typed, ""
        if not (self._is_terminal and sys.stdin.isatty() and text == typed):
            self._drawing.echo(text)
            self._wake()

    def stand(self, standing: Standing) -> None:
        before = self._standing.queued if self._standing else ()
        for text in standing.queued[len(before) :]:
            self.say(f"Waits until the turn is over: {one_line(text, 200)}", "note")
        self._standing = standing
        self._wake()

    async def read(self, draft: str = "") -> Input:
        if draft and not self._paper.begin_with(draft):
            self.say(f"You had typed: {draft}", "note")
        self._wake()
        if self._ended.done() and self._inputs.empty():
            return Ended(self._paper.draft)
        return await self._inputs.get()

    async def ask(self, permission: Permission) -> Reply:
        return await self._ask(permission_question(permission))

    async def review(self, part: Patch, number: int, count: int) -> Verdict:
        return await self._ask(hunk_question(part, number, count))

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
        self._is_away = True
        try:
            return await self._paper.aside(run)
        finally:
            self._is_away = False
            self._wake()

    def clear(self) -> None:
        """Nothing: what is printed stays."""

    @property
    def themes(self) -> Sequence[str]:
        return THEMES

    def wear(self, theme: str) -> None:
        self._theme = theme
        bits = colour_bits(self._environ)
        self._paint = Paint(fitting(theme, depth=bits, is_light=self._is_light), bits)

    def _learn_background(self, reply: str) -> None:
        self._is_light = is_light_colour(reply)
        self.wear(self._theme)

    @property
    def _columns(self) -> int:
        """How wide lines are laid out: into a pipe as on the most usual terminal."""
        return _size().columns if self._is_terminal else 80

    async def _ask(self, question: Question[Said]) -> Said:
        """What the person says, once every page was shown for a yes."""
        async with self._asking:
            rows = max(3, _size().lines - 3) if self._is_terminal else sys.maxsize
            shown = pages(question.lines, self._columns, rows)

            def more(_number: int) -> Answer[Said]:
                return Answer("more", "shows the next page", lambda _: None)

            show = partial(self._drawing.add, "question")
            return await put(question, shown, show=show, more=more, answer=self._answer, words=self._words)

    async def _words(self, answer: Answer[Said]) -> str:
        return await self._hear(f"{answer.asks}: ") or ""

    async def _answer(self, offered: Sequence[Answer[Said]]) -> Answer[Said] | None:
        """The answer that is entered, None at the end of the input. Other lines are prompts."""
        hint = ", ".join(f"{answer.key} = {answer.label}" for answer in offered)
        while (entered := await self._hear(f"{hint}: ")) is not None:
            word = entered.strip().casefold()
            for answer in offered:
                if word in (answer.key, answer.word):
                    return answer
            if word:
                self._enter(entered)
                self.say("That is kept as a prompt; the question is still open.", "note")
        return None

    async def _hear(self, prompt: str) -> str | None:
        """The next line that is entered; None at the end of the input."""
        await self._paper.quiet()
        *rows, last = wrapped(line(prompt), self._columns)
        self._drawing.add("question", [Line(row, (), verbatim=True) for row in rows])
        self._print()
        self._question = "".join(text for _, text in last)
        self._heard = self._loop.create_future()
        self._frame()
        try:
            await asyncio.wait({self._heard, self._ended}, return_when=asyncio.FIRST_COMPLETED)
            return self._heard.result() if self._heard.done() else None
        finally:
            self._heard = None
            self._wake()

    def take(self, text: str, *, steers: bool) -> None:
        """See ``Reader``."""
        if self._heard and not self._heard.done():
            self._heard.set_result(text)
        elif text.strip():
            self._enter(text, steers=steers)
        else:
            self._wake()

    def _enter(self, text: str, *, steers: bool = False) -> None:
        self._typed = text
        self._source.keep(text)
        is_marked = text.startswith(_STEERS)
        self._inputs.put_nowait(Entered(text.removeprefix(_STEERS).strip() if is_marked else text, is_marked or steers))

    def interrupt(self, draft: str) -> None:
        """See ``Reader``."""
        if not self._is_away:
            self._inputs.put_nowait(Interrupted(draft))

    def end(self) -> None:
        if not self._ended.done():
            self._ended.set_result(None)
            self._inputs.put_nowait(Ended(self._paper.draft))

    def _warn(self, text: str) -> None:
        self.say(text, "warning")

    def _wake(self) -> None:
        if self._timer is None:
            self._timer = self._loop.call_later(_FRAME, self._frame)

    def _frame(self) -> None:
        """Print what is final, and the prompt once nothing more is to come."""
        self._print()
        is_busy = self._in_turn or (self._standing and self._standing.busy) or self._asking.locked()
        if self._heard:
            self._paper.prompt(self._question, is_answer=True)
        elif not self._is_away:
            self._paper.prompt("" if is_busy else _PROMPT)

    def _print(self) -> None:
        if self._timer:
            self._timer.cancel()
        self._timer = None
        if self._is_away:
            return
        if self._paper.is_full:
            self._paper.when_not_full(self._wake)
        elif lines := self._drawing.take():
            self._paper.write("".join(f"{text}\n" for each in lines for text in self._texts(each)))

    def _texts(self, long: Line) -> list[str]:
        rows = [long.fragments] if long.verbatim or not self._is_terminal else wrapped(long, self._columns)
        if self._has_colours:
            return [self._paint.row(row) for row in rows]
        return ["".join(text for _, text in row) for row in rows]


def _size() -> os.terminal_size:
    """That of the terminal itself, whatever the environment says."""
    try:
        return os.get_terminal_size(sys.stdout.fileno())
    except OSError:
        return os.terminal_size((80, 24))
