"""The four forms in which a non-interactive run prints its answer."""

import json
from collections.abc import Callable, Mapping
from typing import Protocol

from marvin_cli.outcome import Outcome
from marvin_server.events import Event, MessageDelta, MessageFinished, TurnFinished
from marvin_server.protocol.wire import camel, to_wire
from marvin_server.sanitise import Sanitiser, one_line, printable


class Output(Protocol):
    """One form of output. ``show`` is called with each event in order, ``end`` once after the last."""

    def show(self, event: Event) -> None: ...

    def end(self, outcome: Outcome) -> None: ...


Write = Callable[[str], None]
_NAMES = 50


class TextOutput:
    """Text as it arrives and a line before each round of tool calls; exactly one newline at the end.

    Newlines are held back until more text comes, so that none is lost and none is doubled.
    """

    def __init__(self, write: Write, *, terminal: bool) -> None:
        self._write = write
        self._sanitiser = Sanitiser() if terminal else None
        self._held = ""
        self._fresh = True

    def show(self, event: Event) -> None:
        if isinstance(event, MessageDelta):
            body = event.text.rstrip("\n")
            if body:
                text = self._held + body
                self._write(self._sanitiser.feed(text) if self._sanitiser else text)
                self._fresh = False
                self._held = ""
            self._held += event.text[len(body) :]
        elif isinstance(event, MessageFinished) and event.message.tool_calls:
            names = [one_line(call.name, 100) for call in event.message.tool_calls]
            more = [f"and {len(names) - _NAMES} more"] if len(names) > _NAMES else []
            self._begin_line()
            self._write(f"  🔧 {', '.join([*names[:_NAMES], *more])}\n")
        elif isinstance(event, MessageFinished) and event.message.finish == "interrupted":
            self._begin_line()

    def end(self, outcome: Outcome) -> None:
        self._let_go()
        if not self._fresh:
            self._write("\n")

    def _let_go(self) -> None:
        """Write what the sanitiser has held back for the next piece."""
        if self._sanitiser and (rest := self._sanitiser.flush()):
            self._write(rest)
            self._fresh = False

    def _begin_line(self) -> None:
        self._let_go()
        self._write(self._held or ("" if self._fresh else "\n"))
        self._fresh = True
        self._held = ""


class FinalOutput:
    """Only the last answer."""

    def __init__(self, write: Write, *, terminal: bool) -> None:
        self._write = write
        self._clean: Callable[[str], str] = printable if terminal else str

    def show(self, event: Event) -> None:
        pass

    def end(self, outcome: Outcome) -> None:
        if outcome.answer:
            self._write(self._clean(outcome.answer.rstrip("\n")) + "\n")


class JsonOutput:
    """One JSON object at the end."""

    def __init__(self, write: Write, *, terminal: bool) -> None:
        self._write = write
        self._ascii = terminal

    def show(self, event: Event) -> None:
        pass

    def end(self, outcome: Outcome) -> None:
        report = {
            "answer": outcome.answer,
            "stop": camel(outcome.stop),
            "sessionId": outcome.session_id,
            "usage": to_wire(outcome.usage),
            "toolCalls": outcome.tool_calls,
            "error": to_wire(outcome.error),
        }
        self._write(json.dumps(report, ensure_ascii=self._ascii) + "\n")


class StreamJsonOutput:
    """One event per line, as the dialect has them; the last is always the end of a turn."""

    def __init__(self, write: Write, *, terminal: bool) -> None:
        self._write = write
        self._ascii = terminal
        self._ended = False

    def show(self, event: Event) -> None:
        self._write(json.dumps(to_wire(event), ensure_ascii=self._ascii) + "\n")
        self._ended = isinstance(event, TurnFinished)

    def end(self, outcome: Outcome) -> None:
        if not self._ended:
            self.show(outcome.as_event())


class Held:
    """Another form, of which nothing is printed before ``end``, and then only the end unless the run was completed."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._events: list[Event] = []

    def show(self, event: Event) -> None:
        self._events.append(event)

    def forget(self) -> None:
        """Let go of a turn whose answer was not what was asked for."""
        self._events.clear()

    def end(self, outcome: Outcome) -> None:
        if outcome.stop == "completed":
            for event in self._events:
                self._output.show(event)
        else:
            outcome.answer = ""
        self._output.end(outcome)


class Form(Protocol):
    """How an output is made: from where it writes, and whether a terminal reads that."""

    def __call__(self, write: Write, *, terminal: bool) -> Output: ...


FORMS: Mapping[str, Form] = {
    "text": TextOutput,
    "final": FinalOutput,
    "json": JsonOutput,
    "stream-json": StreamJsonOutput,
}
