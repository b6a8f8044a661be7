"""A view whose person is a test: what they enter comes through a queue, what is shown is kept in order."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from marvin_cli.view.base import Choice, Ended, Entered, Input, Interrupted, Reply, Standing, Tone, Verdict

from marvin_server.events import Event, MessageDelta, MessageFinished, Patch, Permission, TurnFinished
from tests.patience import SECONDS


class ScriptView:
    """See ``view.base.View``. ``lines`` are what was said and echoed, ``events`` what was shown, ``standings`` how it
    stood; ``asked`` are the questions, which ``replies`` answer, ``reviewed`` the hunks, which
    ``verdicts`` do, and ``chosen`` picks of choices."""

    themes = ("dark", "light")

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.events: list[Event] = []
        self.standings: list[Standing] = []
        self.asked: list[Permission] = []
        self.reviewed: list[tuple[Patch, int, int]] = []
        self.verdicts: asyncio.Queue[Verdict] = asyncio.Queue()
        self.offered: list[list[Choice]] = []
        self.drafts: list[str] = []
        self.theme = "dark"
        self.replies: asyncio.Queue[Reply] = asyncio.Queue()
        self.chosen: list[str | None] = []
        self._inputs: asyncio.Queue[Input] = asyncio.Queue()
        self._changed = asyncio.Event()

    async def __aenter__(self) -> "ScriptView":
        return self

    async def __aexit__(self, *_: object) -> None:
        pass

    def enter(self, *texts: str, steers: bool = False) -> None:
        for text in texts:
            self._inputs.put_nowait(Entered(text, steers))

    def interrupt(self, draft: str = "") -> None:
        self._inputs.put_nowait(Interrupted(draft))

    def end(self, draft: str = "") -> None:
        self._inputs.put_nowait(Ended(draft))

    async def until(self, happened: Callable[[], Any]) -> Any:
        """What ``happened`` gives, as soon as that is something."""
        try:
            async with asyncio.timeout(SECONDS):
                while not (found := happened()):
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            raise AssertionError(f"it did not come; said: {self.lines[-5:]}, {self.standings[-1:]}") from None
        return found

    async def said(self, text: str) -> str:
        """The first line that holds ``text``."""
        return await self.until(lambda: next((line for line in self.lines if text in line), None))

    async def turns(self, count: int = 1) -> list[TurnFinished]:
        """The ends of turns, once there are so many."""

        def ends() -> list[TurnFinished]:
            return [event for event in self.events if isinstance(event, TurnFinished)]

        return await self.until(lambda: ends() if len(ends()) >= count else None)

    @property
    def answers(self) -> list[str]:
        """What models have said, whole."""
        return [event.message.text for event in self.events if isinstance(event, MessageFinished)]

    @property
    def streamed(self) -> str:
        return "".join(event.text for event in self.events if isinstance(event, MessageDelta))

    def show(self, event: Event) -> None:
        self.events.append(event)
        self._changed.set()

    def say(self, text: str, tone: Tone = "plain") -> None:
        self.lines.append(f"{tone}: {text}")
        self._changed.set()

    def say_rows(self, rows: Sequence[tuple[str, str]]) -> None:
        if rows:
            self.say("\n".join(f"{name}  {said}" for name, said in rows), "output")

    def echo(self, text: str) -> None:
        self.lines.append(f"> {text}")
        self._changed.set()

    def stand(self, standing: Standing) -> None:
        self.standings.append(standing)
        self._changed.set()

    async def read(self, draft: str = "") -> Input:
        if draft:
            self.drafts.append(draft)
            self._changed.set()
        return await self._inputs.get()

    async def ask(self, permission: Permission) -> Reply:
        self.asked.append(permission)
        self._changed.set()
        return await self.replies.get()

    async def review(self, part: Patch, number: int, count: int) -> Verdict:
        self.reviewed.append((part, number, count))
        self._changed.set()
        return await self.verdicts.get()

    async def choose(self, title: str, choices: Sequence[Choice]) -> str | None:
        self.offered.append(list(choices))
        self._changed.set()
        return self.chosen.pop(0) if self.chosen else None

    async def aside(self, run: Callable[[], int]) -> int:
        return await asyncio.to_thread(run)

    def clear(self) -> None:
        self.lines.append("(cleared)")

    def wear(self, theme: str) -> None:
        self.theme = theme
