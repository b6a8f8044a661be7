"""``marvin --non-interactive``: one prompt in, one answer out, for pipelines."""

import argparse
import asyncio
import json
import logging
import os
import signal
from collections.abc import Sequence
from contextlib import suppress

from marvin_cli import request
from marvin_cli.output import FORMS, Buffer, FinalOutput, Held, Outcome, Output, TextOutput, write_all
from marvin_cli.request import Request
from marvin_server import log
from marvin_server.errors import MarvinError, UsageError
from marvin_server.events import Notice, TurnFinished
from marvin_server.messages import Usage
from marvin_server.providers import selection
from marvin_server.sanitise import one_line
from marvin_server.session import prices
from marvin_server.session.opening import OpenSession, open_session
from marvin_server.session.session import Subscription
from marvin_server.session.store import Store
from marvin_server.session.usage import Tally

_ROUNDS = 50
_EXIT_CODES = {"completed": 0, "failed": 1, "denied": 3, "budget": 4, "round_limit": 5, "cancelled": 130}
_CLOSED_PIPE = 141
_NO_SANDBOX = "there is no OS sandbox yet: approved commands run with your own rights (--approve none denies them)"


def run(words: Sequence[str], parser: argparse.ArgumentParser) -> int:
    """The exit code of a run with these command-line words. The last line on stderr is always ``MARVIN_COST:``."""
    one_shot = OneShot()
    try:
        code = one_shot.run(parser.parse_args(words))
    except (MarvinError, OSError) as error:
        code = one_shot.fail(error)
    except KeyboardInterrupt:
        code = _EXIT_CODES["cancelled"]
    except Exception as error:
        logging.getLogger("marvin.cli").exception("the run crashed")
        code = one_shot.fail(MarvinError(f"internal error: {type(error).__name__}: {error} (--verbose shows where)"))
    with suppress(OSError):
        write_all(2, f"MARVIN_COST:{json.dumps(one_shot.tally.cost_line())}\n")
    return code


def say(text: str) -> None:
    """One line for the person, on stderr."""
    with suppress(OSError):
        write_all(2, f"marvin: {one_line(text)}\n")


class OneShot:
    """One run, and what its end needs however it ends."""

    def __init__(self) -> None:
        self.tally = Tally()
        self._outcome = Outcome()
        self._stdout = Buffer(1)
        self._output: Output | None = None
        self._broken: OSError | None = None

    def run(self, arguments: argparse.Namespace) -> int:
        """The exit code; raises ``MarvinError`` and ``OSError`` for what ends the run before it has an answer."""
        form = FORMS.get(arguments.output)
        if form is None:
            raise UsageError(f"--output needs one of {', '.join(FORMS)}, not {arguments.output!r}")
        if arguments.output_schema and form is TextOutput:
            form = FinalOutput
        output = form(self._stdout.write, terminal=os.isatty(1))
        self._output = Held(output) if arguments.output_schema else output
        asked = request.read(arguments)
        log.start(asked.settings.paths.logs, asked.settings.secrets(), verbose=arguments.verbose)
        for warning in asked.settings.warnings:
            say(warning)
        opened = self._open(asked)
        for warning in opened.registry.warnings:
            say(warning)
        # The loop is never closed: the process is about to leave, and all that matters is on disk.
        asyncio.new_event_loop().run_until_complete(self._converse(opened, asked))
        if asked.topic and (problem := self._publish(asked)):
            say(f"--ntfy {asked.topic}: {problem}")
        return self._end()

    def fail(self, error: Exception) -> int:
        """Say why there is no answer, in the form that was asked for, and give the exit code."""
        text = str(error)
        if isinstance(error, OSError):
            text = f"{error.filename or 'system'}: {error.strerror}"
        say(text)
        self._outcome.error = {"kind": type(error).__name__, "message": text, "retryable": False}
        if self._output is not None:
            with suppress(OSError):
                self._output.end(self._outcome)
                self._stdout.flush()
        return 2 if isinstance(error, UsageError) else 1

    def _open(self, asked: Request) -> OpenSession:
        settings = asked.settings
        if settings.sandbox == "on":
            raise MarvinError("--sandbox on: there is no OS sandbox yet, so nothing is run; --sandbox off goes without")
        if settings.sandbox == "auto" and settings.approve == "all" and not settings.readonly:
            say(_NO_SANDBOX)
        choice = selection.choose(settings)
        if choice.notice:
            say(choice.notice)
        provider = choice.provider
        if settings.max_cost is not None and not choice.free:
            price = prices.cost(settings.paths.cache, choice.price_vendor, provider.model, Usage(1, 1))
            if price is None:
                raise UsageError(f"--max-cost cannot hold: the price of {provider.model} is unknown")
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
        self.tally = opened.tally
        self._outcome.session_id = opened.session.id
        return opened

    async def _converse(self, opened: OpenSession, asked: Request) -> None:
        session = opened.session
        subscription = session.subscribe()
        interrupts = 0

        def interrupt() -> None:
            nonlocal interrupts
            interrupts += 1
            session.cancel()
            if interrupts > 1:
                opened.processes.kill_all()
                os._exit(_EXIT_CODES["cancelled"])

        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(number, interrupt)
        session.submit(asked.prompt)
        await self._follow(opened, subscription)
        if asked.schema is not None and self._outcome.stop == "completed":
            from marvin_cli.schema import check

            self._outcome.answer, problem = check(self._outcome.answer, asked.schema)
            if problem:
                session.submit(
                    f"Your answer does not match the schema: {problem}. Answer again with the JSON value alone."
                )
                await self._follow(opened, subscription)
                self._outcome.answer, problem = check(self._outcome.answer, asked.schema)
            if problem and self._outcome.stop == "completed":
                self._outcome.stop = "failed"
                text = f"the answer does not match --output-schema: {problem}"
                self._outcome.error = {"kind": "SchemaMismatch", "message": text, "retryable": True}
            if problem:
                self._outcome.answer = ""

    async def _follow(self, opened: OpenSession, subscription: Subscription) -> None:
        """Show the events of one turn; when stdout breaks, cancel the turn and see it to its end."""
        assert self._output is not None
        async for _, event in subscription:
            self._outcome.see(event)
            if self._broken is None:
                self._output.show(event)
                try:
                    if subscription.is_drained or isinstance(event, Notice):
                        self._stdout.flush()
                except OSError as error:
                    self._broken = error
                    opened.session.cancel()
            if isinstance(event, Notice):
                say(event.text)
            if isinstance(event, TurnFinished):
                return

    def _publish(self, asked: Request) -> str | None:
        from marvin_cli import ntfy

        assert asked.topic is not None
        text = one_line(self._outcome.answer, 1000) or "(no answer)"
        return ntfy.publish(asked.settings.ntfy_server, asked.topic, f"Marvin: {self._outcome.stop}", text)

    def _end(self) -> int:
        assert self._output is not None
        outcome = self._outcome
        if self._broken is None:
            try:
                self._output.end(outcome)
                self._stdout.flush()
            except OSError as error:
                self._broken = error
        if isinstance(self._broken, BrokenPipeError):
            return _CLOSED_PIPE
        if self._broken is not None:
            say(f"standard output: {self._broken.strerror}")
            return 1
        if outcome.error:
            say(str(outcome.error["message"]))
        if outcome.denied and outcome.stop == "completed":
            return _EXIT_CODES["denied"]
        return _EXIT_CODES[outcome.stop]
