"""The four forms in which a non-interactive run prints its answer."""

import json
import os
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from msgspec import Struct

from marvin_server.events import Event, MessageDelta, MessageFinished, ToolFinished, TurnFinished
from marvin_server.messages import Usage
from marvin_server.protocol.wire import camel, to_wire
from marvin_server.sanitise import one_line, printable


def write_all(descriptor: int, text: str) -> None:
    """Write ``text`` as UTF-8 to a file descriptor, whole and at once. Raises ``OSError``."""
    data = memoryview(text.encode("utf-8", "replace"))
    while data:
        try:
            data = data[os.write(descriptor, data) :]
        except BlockingIOError:
            import select

            select.select([], [descriptor], [])


class Buffer:
    """Text on its way to a file descriptor: what arrives at one time is written at one time."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._pieces: list[str] = []

    def write(self, text: str) -> None:
        self._pieces.append(text)

    def flush(self) -> None:
        """Write what was gathered. Raises ``OSError``; the text is gone then."""
        if self._pieces:
            text = "".join(self._pieces)
            self._pieces.clear()
            write_all(self._descriptor, text)


class Outcome(Struct):
    """What a run came to, gathered from its events."""

    session_id: str | None = None
    answer: str = ""
    stop: str = "failed"
    usage: Usage = Usage()
    tool_calls: list[Mapping[str, Any]] = []
    error: Mapping[str, Any] | None = None
    denied: bool = False

    def see(self, event: Event) -> None:
        """Take from ``event`` what the end of the run has to know."""
        if isinstance(event, MessageFinished):
            if event.message.role == "assistant":
                self.answer = event.message.text
        elif isinstance(event, ToolFinished):
            call = {"id": event.tool_call_id, "name": event.name, "status": event.status}
            self.tool_calls.append({**call, "durationMs": event.duration_ms})
            self.denied = self.denied or event.status == "denied"
        elif isinstance(event, TurnFinished):
            self.stop = event.stop_reason
            self.usage += event.usage
            self.error = to_wire(event.error) if event.error else None


class Output(Protocol):
    """One form of output. ``show`` is called with each event in order, ``end`` once after the last."""

    def show(self, event: Event) -> None: ...

    def end(self, outcome: Outcome) -> None: ...


Write = Callable[[str], None]


class TextOutput:
    """Text as it arrives and a line before each round of tool calls; exactly one newline at the end.

    Newlines are held back until more text comes, so that none is lost and none is doubled.
    """

    def __init__(self, write: Write, *, terminal: bool) -> None:
        self._write = write
        self._clean: Callable[[str], str] = printable if terminal else str
        self._held = ""
        self._fresh = True

    def show(self, event: Event) -> None:
        if isinstance(event, MessageDelta):
            body = event.text.rstrip("\n")
            if body:
                self._write(self._clean(self._held + body))
                self._fresh = False
                self._held = ""
            self._held += event.text[len(body) :]
        elif isinstance(event, MessageFinished) and event.message.tool_calls:
            names = ", ".join(one_line(call.name, 100) for call in event.message.tool_calls)
            before = self._held or ("" if self._fresh else "\n")
            self._write(f"{before}  🔧 {names}\n")
            self._fresh = True
            self._held = ""

    def end(self, outcome: Outcome) -> None:
        if not self._fresh:
            self._write("\n")


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
            "error": outcome.error,
        }
        self._write(json.dumps(report, ensure_ascii=self._ascii) + "\n")


class StreamJsonOutput:
    """One event per line, as the dialect has them."""

    def __init__(self, write: Write, *, terminal: bool) -> None:
        self._write = write
        self._ascii = terminal

    def show(self, event: Event) -> None:
        self._write(json.dumps(to_wire(event), ensure_ascii=self._ascii) + "\n")

    def end(self, outcome: Outcome) -> None:
        pass


class Held:
    """Another form that prints nothing before ``end``, and then nothing but the end when the run failed."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._events: list[Event] = []

    def show(self, event: Event) -> None:
        self._events.append(event)

    def end(self, outcome: Outcome) -> None:
        kept = self._events if outcome.stop == "completed" else self._events[-1:]
        for event in kept:
            self._output.show(event)
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
