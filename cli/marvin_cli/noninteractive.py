"""``marvin --non-interactive``: one prompt in, one answer out, for pipelines."""

import asyncio
import json
import logging
import os
import signal
from collections.abc import Sequence
from itertools import pairwise

from marvin_cli import request
from marvin_cli.arguments import parser
from marvin_cli.outcome import Outcome
from marvin_cli.output import FORMS, FinalOutput, Held, Output, TextOutput
from marvin_cli.request import Request
from marvin_cli.stdout import Stalled, Stdout, write_line
from marvin_server import log
from marvin_server.errors import MarvinError, UsageError
from marvin_server.events import Notice, TurnFinished
from marvin_server.messages import Usage
from marvin_server.providers import selection
from marvin_server.providers.selection import Choice
from marvin_server.sanitise import one_line
from marvin_server.session import prices
from marvin_server.session.opening import OpenSession, open_session
from marvin_server.session.session import Subscription
from marvin_server.session.store import Store
from marvin_server.session.usage import Tally
from marvin_server.settings import Settings

_ROUNDS = 50
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_EXIT_CODES = {"completed": 0, "failed": 1, "denied": 3, "budget": 4, "round_limit": 5, "cancelled": 130}
_CLOSED_PIPE = 141
_WHY = {
    "budget": "the cost limit is reached; --max-cost allows more, and --continue goes on",
    "round_limit": "the limit of rounds is reached; --max-rounds allows more, and --continue goes on",
    "denied": "stopped, since a permission was denied",
}
_NO_SANDBOX = "there is no OS sandbox yet: approved commands run with your own rights (--approve none denies them)"


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
        self._broken: Exception | None = None
        self._opened: OpenSession | None = None
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
        for warning in asked.settings.warnings:
            say(warning)
        self._opened = self._open(asked)
        for warning in self._opened.registry.warnings:
            say(warning)
        # The loop is never closed: the process is about to leave, and all that matters is on disk.
        loop = asyncio.new_event_loop()
        loop.run_until_complete(self._converse(self._opened, asked))
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
        say(text)
        self._outcome.fail(type(error).__name__, text)
        self._output.end(self._outcome)
        try:
            self._stdout.flush_now()
        except OSError as broken:
            self._broken = broken
        return 2 if isinstance(error, UsageError) else 1

    def tell_cost(self) -> None:
        """The last line on stderr."""
        tally = self._opened.tally if self._opened else Tally()
        write_line(2, f"MARVIN_COST:{json.dumps(tally.cost_line())}")

    def _open(self, asked: Request) -> OpenSession:
        settings = asked.settings
        if settings.sandbox == "on":
            raise MarvinError("--sandbox on: there is no OS sandbox yet, so nothing is run; --sandbox off goes without")
        if settings.sandbox == "auto" and settings.approve == "all" and not settings.readonly:
            say(_NO_SANDBOX)
        choice = selection.choose(settings)
        if choice.notice:
            say(choice.notice)
        if settings.max_cost is not None and not choice.free:
            _check_price(choice, settings)
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

    async def _converse(self, opened: OpenSession, asked: Request) -> None:
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
        session.submit(asked.prompt)
        await self._follow(opened, subscription)
        if asked.schema is not None and self._outcome.stop == "completed":
            from marvin_cli.schema import check

            self._outcome.answer, problem = check(self._outcome.answer, asked.schema)
            if problem:
                again = f"Your answer does not match the schema: {problem}. Answer again with the JSON value alone."
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

    async def _follow(self, opened: OpenSession, subscription: Subscription) -> None:
        """Show the events of one turn; when stdout breaks, cancel the turn and see it to its end."""
        async for _, event in subscription:
            self._outcome.see(event)
            if self._broken is None:
                self._output.show(event)
                if subscription.is_drained or isinstance(event, Notice):
                    await self._flush(opened)
            if isinstance(event, Notice):
                say(event.text)
            if isinstance(event, TurnFinished):
                return

    async def _flush(self, opened: OpenSession) -> None:
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
        if outcome.denied and outcome.stop == "completed":
            say(f"permission was denied for: {', '.join(dict.fromkeys(outcome.denied))}")
            return _EXIT_CODES["denied"]
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


def _check_price(choice: Choice, settings: Settings) -> None:
    model = choice.provider.model
    if prices.cost(settings.paths.cache, choice.price_vendor, model, Usage(1, 1)) is None:
        raise UsageError(f"--max-cost cannot hold: the price of {model} is unknown")
