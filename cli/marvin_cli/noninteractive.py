"""``marvin --non-interactive``: one prompt in, one answer out, for pipelines."""

import asyncio
import json
import logging
import os
import signal
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise
from typing import TYPE_CHECKING

from marvin_cli import request
from marvin_cli.arguments import parser
from marvin_cli.main import NO_COST
from marvin_cli.outcome import Outcome
from marvin_cli.output import FORMS, FinalOutput, Held, Output, TextOutput
from marvin_cli.request import Request
from marvin_cli.stdout import Stalled, Stdout, write_line
from marvin_server import log
from marvin_server.errors import MarvinError, UsageError
from marvin_server.events import Notice, ToolStarted, TurnFinished
from marvin_server.messages import user_message
from marvin_server.providers import selection
from marvin_server.providers.selection import Choice
from marvin_server.sanitise import one_line
from marvin_server.settings import Settings

if TYPE_CHECKING:
    from marvin_cli.thoughts import Thoughts
    from marvin_server.session.opening import OpenSession
    from marvin_server.session.subscription import Subscription

_ROUNDS = 50
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_EXIT_CODES = {"completed": 0, "failed": 1, "denied": 3, "budget": 4, "round_limit": 5, "cancelled": 130}
_USAGE, _CLOSED_PIPE = 2, 141
_SHOWN_WITH_THOUGHTS = ("text", "final")
_WHY = {
    "budget": "the cost limit is reached; --max-cost allows more, and --continue goes on",
    "round_limit": "the limit of rounds is reached; --max-rounds allows more, and --continue goes on",
    "denied": "stopped, since a permission was denied",
}
_NO_SANDBOX = "commands run without a sandbox, with your own rights (--approve none denies them)"


def run(words: Sequence[str]) -> int:
    """The exit code of a run with these command-line words. The last line on stderr is always ``MARVIN_COST:``."""
    logging.getLogger("marvin").addHandler(logging.NullHandler())
    one_shot = OneShot(words)
    try:
        code = one_shot.run(words)
    except (MarvinError, OSError) as error:
        code = one_shot.fail(error)
    except Exception as error:
        logging.getLogger("marvin.cli").exception("the run crashed")
        code = one_shot.fail(MarvinError(f"internal error: {type(error).__name__}: {error} (--verbose shows where)"))
    one_shot.tell_cost()
    return code


def say(text: str) -> None:
    """One line for the person, on stderr."""
    write_line(2, f"marvin: {one_line(text)}")


class OneShot:
    """One run, and what its end needs however it ends."""

    def __init__(self, words: Sequence[str]) -> None:
        self._stdout = Stdout()
        self._outcome = Outcome()
        self._output = _output(words, self._stdout)
        self._thoughts: Thoughts | None = None
        self._broken: Exception | None = None
        self._opened: OpenSession | None = None
        self._told_sandbox = False
        self._interrupted = asyncio.Event()
        self._leave_on_signals()

    def run(self, words: Sequence[str]) -> int:
        """The exit code; raises ``MarvinError`` and ``OSError`` for what ends the run before it has an answer."""
        arguments = parser().parse_args(words)
        if arguments.output not in FORMS:
            raise UsageError(f"--output needs one of {', '.join(FORMS)}, not {arguments.output!r}")
        try:
            os.fstat(1)
        except OSError:
            return _CLOSED_PIPE
        asked = request.read(arguments)
        log.start(asked.settings.paths.logs, asked.settings.redactor(), verbose=arguments.verbose)
        if arguments.verbose and arguments.output in _SHOWN_WITH_THOUGHTS:
            from marvin_cli import thoughts

            self._thoughts = thoughts.beside(self._stdout, asked.settings.environ)
        for warning in asked.settings.warnings:
            say(warning)
        choice = self._choose(asked.settings)
        # The loop is never closed: the process is about to leave, and all that matters is on disk.
        loop = asyncio.new_event_loop()
        loop.run_until_complete(self._answer(asked, choice))
        self._leave_on_signals()
        if asked.topic is not None:
            from marvin_cli import ntfy

            text = one_line(self._outcome.answer, 1000) or "(no answer)"
            title = f"Marvin: {self._outcome.stop}"
            if problem := loop.run_until_complete(ntfy.publish(asked.settings.ntfy_server, asked.topic, title, text)):
                say(f"--ntfy {asked.topic}: {problem}")
        return self._code()

    def fail(self, error: Exception) -> int:
        """Say why there is no answer, in the form that was asked for, and give the exit code."""
        text = f"{error.filename or 'system'}: {error.strerror}" if isinstance(error, OSError) else str(error)
        self._outcome.fail(type(error).__name__, text)
        self._output.end(self._outcome)
        with suppress(OSError):
            self._stdout.flush_now()
        return self._code()

    def tell_cost(self) -> None:
        """The last line on stderr."""
        write_line(2, f"MARVIN_COST:{json.dumps(self._opened.tally.cost_line())}" if self._opened else NO_COST)

    def _choose(self, settings: Settings) -> Choice:
        if settings.sandbox == "on":
            _require_sandbox(settings)
        choice = selection.choose(settings)
        if choice.notice:
            say(choice.notice)
        return choice

    async def _answer(self, asked: Request, choice: Choice) -> None:
        """Open the session while the provider's connection is opened, and let it answer."""
        connecting = asyncio.create_task(choice.provider.connect())
        self._opened = await asyncio.to_thread(self._open, asked, choice)
        for warning in self._opened.warnings:
            say(warning)
        await self._converse(self._opened, asked)
        connecting.cancel()
        if self._opened.sandbox:
            self._opened.sandbox.close()

    def _open(self, asked: Request, choice: Choice) -> "OpenSession":
        from marvin_server.session import models
        from marvin_server.session.opening import open_session
        from marvin_server.session.store import Store

        settings = asked.settings
        models.check_price(settings, choice)
        if asked.images:
            _check_eyes(choice, settings)
        store = Store.open(settings.paths.database(settings.profile))
        resume = asked.resume
        if asked.latest:
            latest = store.latest(str(asked.directory))
            if latest is None:
                raise MarvinError(f"there is no session in {asked.directory} to continue; leave --continue out")
            resume = latest.id
        opened = open_session(
            settings, choice, store, asked.directory, rounds=_ROUNDS, resume=resume, output_schema=asked.schema
        )
        self._outcome.session_id = opened.session.id
        return opened

    async def _converse(self, opened: "OpenSession", asked: Request) -> None:
        session = opened.session
        subscription = session.subscribe()
        loop = asyncio.get_running_loop()

        def interrupt() -> None:
            if self._interrupted.is_set():
                self._leave()
            self._interrupted.set()
            session.cancel()

        for number in _SIGNALS:
            loop.add_signal_handler(number, interrupt)
        session.submit(user_message(asked.prompt, asked.images))
        await self._follow(opened, subscription)
        if asked.schema is not None and self._outcome.stop == "completed":
            from marvin_cli.schema import check

            self._outcome.answer, problem = check(self._outcome.answer, asked.schema)
            if problem:
                again = f"Your answer does not match the schema: {problem}. Answer again with the JSON value alone."
                if isinstance(self._output, Held):
                    self._output.forget()
                session.submit(again)
                await self._follow(opened, subscription)
            if problem and self._outcome.stop == "completed":
                self._outcome.answer, problem = check(self._outcome.answer, asked.schema)
                if problem:
                    text = f"the answer does not match --output-schema: {problem}"
                    self._outcome.fail("SchemaMismatch", text)
        self._output.end(self._outcome)
        await self._flush(opened)
        for number in _SIGNALS:
            loop.remove_signal_handler(number)

    async def _follow(self, opened: "OpenSession", subscription: "Subscription") -> None:
        """Show the events of one turn; when stdout breaks, cancel the turn and see it to its end."""
        async for _, event in subscription:
            self._outcome.see(event)
            if isinstance(event, ToolStarted) and event.kind == "execute":
                self._tell_sandbox(opened)
            if self._thoughts:
                # On a terminal, what was said before a thought is to be seen before it.
                await self._flush(opened)
                self._thoughts.show(event)
            if self._broken is None:
                self._output.show(event)
                if subscription.is_drained or isinstance(event, Notice):
                    await self._flush(opened)
            if isinstance(event, Notice):
                say(event.text)
            if isinstance(event, TurnFinished):
                return

    def _tell_sandbox(self, opened: "OpenSession") -> None:
        """Say once, before the first command, that nothing confines it, unless that is what the person asked for."""
        if not self._told_sandbox and opened.sandbox and (problem := opened.sandbox.problem):
            say(f"{_NO_SANDBOX}: {problem}")
        self._told_sandbox = True

    async def _flush(self, opened: "OpenSession") -> None:
        if self._broken is None:
            try:
                await self._stdout.flush(self._interrupted)
            except (OSError, Stalled) as error:
                self._broken = error
                opened.session.cancel()

    def _code(self) -> int:
        outcome = self._outcome
        if isinstance(self._broken, BrokenPipeError):
            return _CLOSED_PIPE
        if isinstance(self._broken, OSError):
            say(f"standard output: {self._broken.strerror}")
            return 1
        if outcome.error:
            say(outcome.error.message)
        elif outcome.stop in _WHY:
            say(_WHY[outcome.stop])
        for denied in dict.fromkeys(outcome.denied):
            say(denied)
        if outcome.denied and outcome.stop == "completed":
            return _EXIT_CODES["denied"]
        if outcome.error and outcome.error.kind == UsageError.__name__:
            return _USAGE
        return _EXIT_CODES[outcome.stop]

    def _leave_on_signals(self) -> None:
        """Outside the event loop a signal ends the run at once, with what it cost."""
        for number in _SIGNALS:
            signal.signal(number, lambda _number, _frame: self._leave())

    def _leave(self) -> None:
        if self._opened:
            self._opened.processes.kill_all()
        self.tell_cost()
        os._exit(_EXIT_CODES["cancelled"])


def _output(words: Sequence[str], stdout: Stdout) -> Output:
    """The form of output, found before the arguments are read: what is wrong with them is told in it as well."""
    named = [word.removeprefix("--output=") for word in words if word.startswith("--output=")]
    named += [after for word, after in pairwise(words) if word == "--output"]
    form = FORMS.get(named[-1] if named else "text", TextOutput)
    held = any(word.partition("=")[0] == "--output-schema" for word in words)
    if held and form is TextOutput:
        form = FinalOutput
    output = form(stdout.write, terminal=os.isatty(1))
    return Held(output) if held else output


def _check_eyes(choice: Choice, settings: Settings) -> None:
    from marvin_server.session import models

    provider = choice.provider
    if models.facts(settings, choice, provider.model).images is False:
        raise UsageError(
            f"--image: {provider.model} ({provider.name}) takes no pictures; name a model that does with --model, "
            "or another provider"
        )


def _require_sandbox(settings: Settings) -> None:
    from marvin_server.workspace.sandbox import best_sandbox

    found = best_sandbox(settings.environ)
    if found.sandbox is None:
        why = "; ".join(found.problems)
        raise MarvinError(f"--sandbox on: no sandbox works here, so nothing is run ({why}); --sandbox off goes without")
