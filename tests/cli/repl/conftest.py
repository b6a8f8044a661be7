"""A loop in a workspace, with a scripted model and a person that is the test."""

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest
from marvin_cli.repl.conversation import Conversation
from marvin_cli.repl.loop import Loop, Start
from marvin_cli.repl.person import Person
from marvin_cli.repl.source import Completions

from marvin_server import settings
from marvin_server.events import TurnFinished
from tests.cli.repl.script_view import ScriptView
from tests.patience import SECONDS


class Terminal:
    """A running ``loop`` with its ``view``; ``finished`` are the ends of turns with what was answered."""

    def __init__(self, workspace: Path, environ: Mapping[str, str], *, in_order: bool, coding: bool) -> None:
        loaded = settings.load({}, {**os.environ, **environ})
        self.view = ScriptView()
        self.person = Person(loaded)
        self.source = Completions(self.person)
        self.finished: list[tuple[TurnFinished, str]] = []
        conversation = Conversation(loaded, workspace, coding=coding, can_review=not in_order)
        self.loop = Loop(self.view, self.person, conversation, self._finish, in_order=in_order)
        self.source.loop = self.loop

    def _finish(self, event: TurnFinished, answer: str, _seconds: float) -> None:
        self.finished.append((event, answer))

    @asynccontextmanager
    async def running(self, start: Start) -> AsyncGenerator["Terminal"]:
        self._task = asyncio.create_task(self.loop.run(start))
        try:
            yield self
        finally:
            self.view.end()
            await self.left()

    async def left(self) -> None:
        """Wait until the loop has ended."""
        async with asyncio.timeout(SECONDS):
            await self._task


Open = Callable[..., Awaitable[Terminal]]


@pytest.fixture
async def terminal(tmp_path: Path, model_environ: dict[str, str]) -> AsyncIterator[Open]:
    """Opens a terminal in ``workspace`` beneath the test's folder, with more variables."""
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    async with AsyncExitStack() as stack:

        async def open_terminal(
            start: Start | None = None, *, in_order: bool = False, coding: bool = False, **environ: str
        ) -> Terminal:
            made = Terminal(workspace, {**model_environ, **environ}, in_order=in_order, coding=coding)
            opened = await stack.enter_async_context(made.running(start or Start()))
            await opened.view.until(lambda: opened.view.standings)
            return opened

        yield open_terminal


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return tmp_path / "workspace"
