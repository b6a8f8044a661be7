"""What a run came to, gathered from its events."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from marvin_server.events import Event, Failure, MessageFinished, Stop, ToolFinished, TurnFinished
from marvin_server.messages import Usage


class Outcome(Struct):
    """``answer`` is the last one; ``denied`` names the tools whose calls were denied."""

    session_id: str | None = None
    turn_id: str = ""
    answer: str = ""
    stop: Stop = "failed"
    usage: Usage = Usage()
    tool_calls: list[Mapping[str, Any]] = []
    denied: list[str] = []
    error: Failure | None = None

    def see(self, event: Event) -> None:
        """Take from ``event`` what the end of the run has to know."""
        if isinstance(event, MessageFinished):
            if event.message.role == "assistant":
                self.answer = event.message.text
        elif isinstance(event, ToolFinished):
            call = {"id": event.tool_call_id, "name": event.name, "status": event.status}
            self.tool_calls.append({**call, "durationMs": event.duration_ms})
            if event.status == "denied":
                self.denied.append(event.name)
        elif isinstance(event, TurnFinished):
            self.turn_id, self.stop, self.error = event.turn_id, event.stop_reason, event.error
            self.usage += event.usage

    def fail(self, kind: str, text: str) -> None:
        """There is no answer after all."""
        self.answer, self.stop, self.error = "", "failed", Failure(kind, text)

    def as_event(self) -> TurnFinished:
        """The end of the run as the event that a front-end would see."""
        return TurnFinished(self.turn_id, self.stop, self.usage, self.error)
