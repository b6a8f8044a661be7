"""The prompt loop: what a person enters goes where it belongs."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

from msgspec import Struct

from marvin_cli.repl import dispatch
from marvin_cli.repl.conversation import Conversation
from marvin_cli.repl.dispatch import Call, Prompt, ShellLine, Unknown
from marvin_cli.repl.following import Following
from marvin_cli.repl.person import Person
from marvin_cli.repl.shell import Shell
from marvin_cli.view.base import Choice, Ended, Entered, Input, Interrupted, View
from marvin_server.errors import MarvinError, UsageError
from marvin_server.events import TurnFinished
from marvin_server.messages import Image, user_message
from marvin_server.sanitise import one_line

_AGAIN = "Ctrl+C once more leaves, as Ctrl+D does"


class Start(Struct, frozen=True):
    """What a terminal begins with: a prompt, empty for none, with its pictures; the id of a session to go on with, or
    the wish to go on with the ``latest`` one."""

    prompt: str = ""
    images: Sequence[Image] = ()
    resume: str | None = None
    latest: bool = False


class Loop:
    """A terminal at work. ``in_order`` takes each line when all before it is done, as from a pipe; ``finished`` is told
    every turn's end, as ``Following`` tells it."""

    def __init__(
        self,
        view: View,
        person: Person,
        conversation: Conversation,
        finished: Callable[[TurnFinished, str, float], None],
        *,
        in_order: bool,
    ) -> None:
        self.view = view
        self.person = person
        self.conversation = conversation
        self.following = Following(view, conversation, self._flags, finished)
        self.shell = Shell(conversation.directory, conversation.settings.environ, lambda text: view.say(text, "output"))
        self.shell_mode = False
        self.model_before_pro: str | None = None
        self.in_order = in_order
        self._draft = ""
        self._reading: asyncio.Task[Input] | None = None
        self._one_by_one = asyncio.Lock()
        self._carried_out: asyncio.Task[Any] | None = None
        self._at_work: set[asyncio.Task[None]] = set()
        self._left = asyncio.Event()
        self._interrupted = False

    async def run(self, start: Start) -> None:
        """Until the person leaves. Raises ``MarvinError`` where the session cannot be opened."""
        opening = asyncio.create_task(self._begin(start))
        reading = asyncio.create_task(self._read(opening))
        leaving = asyncio.create_task(self._left.wait())
        try:
            await asyncio.wait({opening, reading, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if opening.done():
                opening.result()
            await asyncio.wait({reading, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if reading.done():
                reading.result()
        finally:
            self.leave()
            tasks = {opening, reading, leaving, *self._at_work}
            for task in filter(None, (*tasks, self._reading)):
                task.cancel()
            await asyncio.wait(tasks)
            await self.shell.close()
            await self.conversation.close()
            await self.following.end()

    def leave(self) -> None:
        """End the loop."""
        self._left.set()

    async def enter_session(
        self, resume: str | None = None, *, latest: bool = False, profile: str | None = None
    ) -> None:
        """Go on in another session, or in a new one, as ``Conversation.open`` has it. Raises ``MarvinError``, and
        stays."""
        self.conversation.check_idle()
        warnings = await self.conversation.open(resume, latest=latest, profile=profile)
        self.following.begin()
        for line in warnings:
            self.view.say(line, "warning")

    async def submit(self, text: str, *, steers: bool = False, images: Sequence[Image] = ()) -> None:
        """Let the model have a prompt, now or when its turn comes. One that cannot be taken is put back."""
        try:
            for line in await self.person.news():
                self.view.say(line, "note")
            session = self.conversation.session
            running = session.running
            turn_id = session.submit(user_message(text, images), "steer" if steers else "queue")
        except (MarvinError, asyncio.CancelledError):
            self.put_back(text)
            raise
        self.following.submitted(turn_id, text, was_running=running)

    async def choose(self, title: str, choices: Sequence[Choice]) -> str | None:
        """The value of the one that the person chooses; a pipe chooses nothing, and is told what there is."""
        if not self.in_order:
            return await self.view.choose(title, choices)
        self.view.say("\n".join(f"{each.value}  {each.label}  {each.description}" for each in choices), "output")
        return None

    def put_back(self, text: str) -> None:
        """Let the input line begin with ``text``; a prompt that comes back when the person leaves is a draft."""
        if self._left.is_set():
            is_prompt = isinstance(dispatch.read(text, (), shell_mode=self.shell_mode), Prompt)
            if is_prompt and self.conversation.is_open:
                self.conversation.leave_draft(text)
            return
        self._draft = text
        if self._reading is not None:
            self._reading.cancel()

    def _flags(self) -> tuple[str, ...]:
        flags = {"coding": self.conversation.coding, "shell": self.shell_mode, "pro": self.model_before_pro is not None}
        return tuple(name for name, is_on in flags.items() if is_on)

    async def _begin(self, start: Start) -> None:
        await self.enter_session(start.resume, latest=start.latest)
        if start.prompt:
            await self.submit(start.prompt, images=start.images)

    async def _read(self, opening: "asyncio.Task[None]") -> None:
        while True:
            match await self._next():
                case Ended(draft):
                    self.person.keep(draft)
                    if self.in_order:
                        await asyncio.wait({opening})
                        await self.following.until_idle()
                    return
                case Interrupted(draft):
                    self._interrupt(draft)
                case Entered() as entered:
                    self._interrupted = False
                    if not self.in_order:
                        self.person.keep(entered.text)
                    task = asyncio.create_task(self._take(entered, opening))
                    self._at_work.add(task)
                    task.add_done_callback(self._at_work.discard)
                    if self.in_order:
                        await asyncio.wait({task})
                        await self.following.until_idle()

    async def _next(self) -> Input:
        """What is entered next; ``put_back`` begins the line anew."""
        while True:
            draft, self._draft = self._draft, ""
            reading = self._reading = asyncio.create_task(self.view.read(draft))
            await asyncio.wait({reading})
            if not reading.cancelled():
                return reading.result()

    def _interrupt(self, draft: str) -> None:
        """Stop what runs; where nothing does and nothing was typed, the second time in a row leaves."""
        self.person.keep(draft)
        again, self._interrupted = self._interrupted, False
        if self.shell.is_running:
            self.shell.cancel()
        elif self.conversation.is_open and self.conversation.session.cancel():
            return
        elif self._carried_out is not None:
            self._carried_out.cancel()
        elif again:
            self.leave()
        elif not draft:
            self._interrupted = True
            self.view.say(_AGAIN, "note")

    async def _take(self, entered: Entered, opening: "asyncio.Task[None]") -> None:
        await asyncio.wait({opening})
        if opening.cancelled() or opening.exception():
            return
        try:
            shell_line = await self._in_turn(entered)
            if shell_line is not None and (ended := await self.shell.run(shell_line)):
                self.view.say(ended, "note")
        except MarvinError as error:
            self.view.say(one_line(str(error)), "error")
        except Exception as error:
            logging.getLogger("marvin.cli").exception("a command crashed")
            self.view.say(f"internal error: {type(error).__name__}: {one_line(str(error))} (the log has more)", "error")

    async def _in_turn(self, entered: Entered) -> str | None:
        """As ``_dispatch``, when all that was entered before has been done."""
        try:
            with self.following.waiting(entered.text) if self._one_by_one.locked() else nullcontext():
                await self._one_by_one.acquire()
        except asyncio.CancelledError:
            self.put_back(entered.text)
            raise
        self._carried_out = asyncio.current_task()
        try:
            return await self._dispatch(entered)
        finally:
            self._carried_out = None
            self._one_by_one.release()

    async def _dispatch(self, entered: Entered) -> str | None:
        """Do what was entered; a line for the shell is given back, since others go on beside it."""
        from marvin_cli.repl import commands

        try:
            known = await commands.known(self)
        except asyncio.CancelledError:
            self.put_back(entered.text)
            raise
        match dispatch.read(entered.text, known, shell_mode=self.shell_mode):
            case Prompt(text):
                await self.submit(text, steers=entered.steers)
            case ShellLine(command):
                self.view.echo(entered.text)
                return command
            case Call(name, argument):
                self.view.echo(entered.text)
                if argument and known[name].argument is None:
                    raise UsageError(f"/{name} takes nothing after it")
                await known[name].run(self, argument)
                if self.conversation.is_open:
                    self.following.stand()
            case Unknown(name, nearest):
                self.view.echo(entered.text)
                meant = f"; did you mean {' or '.join(f'/{each}' for each in nearest)}?" if nearest else ""
                self.view.say(
                    f"there is no command /{name}{meant} (/help lists them; a blank before it sends it as it is)",
                    "error",
                )
                self.put_back(entered.text)
            case None:
                pass
        return None
