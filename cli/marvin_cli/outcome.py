"""What a run came to, gathered from its events."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from marvin_server.events import Event, Failure, MessageFinished, Stop, ToolFinished, ToolStarted, TurnFinished
from marvin_server.messages import Usage


class Outcome(Struct):
    """``answer`` is the last one, and none where the turn failed; ``denied`` says of each denied call what and why."""

    session_id: str | None = None
    turn_id: str = ""
    answer: str = ""
    stop: Stop = "failed"
    usage: Usage = Usage()
    tool_calls: list[Mapping[str, Any]] = []
    denied: list[str] = []
    error: Failure | None = None
    titles: dict[str, str] = {}

    def see(self, event: Event) -> None:
        """Take from ``event`` what the end of the run has to know."""
        if isinstance(event, MessageFinished):
            if event.message.role == "assistant":
                self.answer = "" if event.message.tool_calls else event.message.text
        elif isinstance(event, ToolStarted):
            self.titles[event.tool_call_id] = event.title
        elif isinstance(event, ToolFinished):
            call = {"id": event.tool_call_id, "name": event.name, "status": event.status}
            if event.status == "denied":
                reason = event.output.partition("\n")[0]
                call["reason"] = reason
                self.denied.append(f"{self.titles.get(event.tool_call_id, event.name)}: {reason}")
            self.tool_calls.append({**call, "durationMs": event.duration_ms})
        elif isinstance(event, TurnFinished):
            self.turn_id, self.stop, self.error = event.turn_id, event.stop_reason, event.error
            self.usage += event.usage
            if self.stop == "failed":
                self.answer = ""

    def fail(self, kind: str, text: str) -> None:
        """There is no answer after all."""
        self.answer, self.stop, self.error = "", "failed", Failure(kind, text)

    def as_event(self) -> TurnFinished:
        """The end of the run as the event that a front-end would see."""
        return TurnFinished(self.turn_id, self.stop, self.usage, self.error)
