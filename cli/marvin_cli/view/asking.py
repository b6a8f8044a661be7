"""What a person is asked below the conversation: a question page by page, and a choice."""

import asyncio
from collections.abc import Callable, Sequence
from typing import TypeVar

from marvin_cli.view.base import Choice, Reply
from marvin_cli.view.cells import Line
from marvin_cli.view.entry import Entry
from marvin_cli.view.panels import Answering, Chooser, Panel, Words
from marvin_cli.view.question import IDLE, Answer, answers, pages, question_lines
from marvin_cli.view.surface import Surface
from marvin_server.events import Permission

# A question takes keys once nobody has typed for so many seconds: what is typed ahead of it answers nothing.
_PAUSE = 0.6
# Rows that a page of a question leaves for all else.
_BESIDE = 8
_DENIED = Answer("", "", "deny")
Result = TypeVar("Result")


class Asking:
    """One thing is asked at a time. ``show`` prints lines of a question, ``wake`` has a frame drawn; once ``gone`` is
    done there is nobody left to answer, and no answer is a denial."""

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
        self._loop = asyncio.get_running_loop()
        self._last_key = 0.0
        surface.key_processor.before_key_press += self._note_key

    async def ask(self, permission: Permission) -> Reply:
        """The person's reply, once every page was shown for a yes."""
        async with self._turn:
            self._note_key()
            size = self._surface.output.get_size()
            *first, last = pages(question_lines(permission), size.columns, max(3, size.rows - _BESIDE))
            offered = answers(permission)
            for number, page in enumerate(first, 2):
                self._show(page)
                more = Answer(" ", f"shows page {number} of {len(first) + 1}", "deny")
                denials = [answer for answer in offered if answer.decision.startswith("deny")]
                if reply := await self._reply([more, *denials], permission, more):
                    return reply
            self._show(last)
            return await self._reply(offered, permission) or Reply("deny")

    async def choose(self, title: str, choices: Sequence[Choice]) -> str | None:
        """The value of a choice; None when the person wants none."""
        async with self._turn:
            return await self._result(Chooser(title, choices), None)

    async def _reply(
        self, offered: Sequence[Answer], permission: Permission, more: Answer | None = None
    ) -> Reply | None:
        """What the person replies; None when they want to see ``more``."""
        while (answer := await self._pressed(offered)) != more:
            if not answer.asks:
                return Reply(answer.decision)
            is_edit = answer.decision == "allow_edited"
            words = await self._result(Words(answer.asks, _command(permission) if is_edit else ""), None)
            self._last_key = 0.0
            if words is not None and not is_edit:
                return Reply(answer.decision, note=words.strip() or None)
            if words and words.strip():
                return Reply(answer.decision, command=words)
        return None

    async def _pressed(self, offered: Sequence[Answer]) -> Answer:
        """The answer whose key is pressed, once nobody types any more; other text goes to the input."""
        while True:
            pressed = await self._result(Answering(offered, IDLE), _DENIED)
            if isinstance(pressed, Answer):
                self._last_key = 0.0
                return pressed
            self._entry.paste(pressed)

    async def _result(self, panel: Panel[Result], otherwise: Result) -> Result:
        """What the person does with ``panel``, which has the keys; ``otherwise`` when the terminal goes."""
        self._surface.panel = panel
        self._wake()
        try:
            if panel.waits:
                await self._quiet()
                panel.waits = False
                self._wake()
            self._surface.layout.focus(panel.window)
            await asyncio.wait({panel.result, self._gone}, return_when=asyncio.FIRST_COMPLETED)
            return panel.result.result() if panel.result.done() else otherwise
        finally:
            self._surface.panel = None
            self._surface.layout.focus(self._entry.window)
            self._wake()

    async def _quiet(self) -> None:
        """Wait until nobody has typed for a while."""
        left = self._last_key + _PAUSE - self._loop.time()
        if left > 0 and not self._gone.done():
            await asyncio.wait({self._gone}, timeout=left)
            await self._quiet()

    def _note_key(self, _sender: object = None) -> None:
        self._last_key = self._loop.time()


def _command(permission: Permission) -> str:
    return permission.command.display if permission.command else ""
