"""How it stands with a session, told from its events."""

from marvin_cli.view.base import Standing
from marvin_server.events import (
    Event,
    MessageDelta,
    MessageFinished,
    PatchProposed,
    PatchResolved,
    PermissionRequested,
    PermissionResolved,
    RoundStarted,
    ThoughtDelta,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    TurnStarted,
)
from marvin_server.messages import Message
from marvin_server.sanitise import one_line

_LONGEST = 80
_ELSEWHERE = "another terminal is answering"


class Progress:
    """What runs, what waits, and how much of the context is used; ``queued`` maps the turns that wait to their
    prompts, ``steering`` are those for the turn that runs. ``context_size`` is that of the model ``measured``. What
    runs ``is_elsewhere`` while another process is at work in the session; ``command`` says what one of the person's
    does."""

    def __init__(self, messages: int = 0, latest: Message | None = None, cost_usd: float | None = 0.0) -> None:
        self.messages = messages
        self.cost_usd = cost_usd
        self.measured: str | None = None
        self.context_size: int | None = None
        self.queued: dict[str, str] = {}
        self.steering: list[str] = []
        self.used = _tokens(latest)
        self.is_elsewhere = False
        self.command = ""
        self._busy = ""

    def see(self, event: Event) -> bool:
        """Take note of an event; whether something stands otherwise now."""
        was = self._busy, self.messages, len(self.queued)
        match event:
            case TurnStarted(turn_id=turn_id):
                self.queued.pop(turn_id, None)
                self._busy = "thinking"
            case MessageDelta():
                self._busy = "answering"
            case ThoughtDelta() | RoundStarted():
                self._busy = "thinking"
            case ToolStarted(title=title):
                self._busy = one_line(title, _LONGEST)
            case ToolFinished() | PermissionResolved():
                self._busy = "working"
            case PatchResolved() if self._busy:
                self._busy = "working"
            case PermissionRequested() | PatchProposed():
                self._busy = "waiting for your answer"
            case MessageFinished(message=message):
                self.messages += 1
                self.used = _tokens(message) or self.used
                if message.role == "user" and message.text in self.steering:
                    self.steering.remove(message.text)
            case TurnFinished():
                self._busy = ""
            case _:
                pass
        return was != (self._busy, self.messages, len(self.queued))

    def standing(self, provider: str, model: str, profile: str, mode: str, flags: tuple[str, ...]) -> Standing:
        context = (self.used, self.context_size) if self.context_size else None
        queued = (*self.steering, *self.queued.values())
        busy = self._busy or self.command or (_ELSEWHERE if self.is_elsewhere else "")
        return Standing(provider, model, profile, mode, self.messages, context, self.cost_usd, busy, queued, flags)


def _tokens(message: Message | None) -> int:
    usage = message.usage.plausible if message and message.usage else None
    return usage.input + usage.output if usage else 0
