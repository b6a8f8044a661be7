"""The events of turns, and what is said between them, as lines: those that are final, and the rest that still changes.

Pure: it knows no terminal. Everything that a model or a tool wrote is made harmless here.
"""

import time
from collections.abc import Callable

from msgspec import Struct

from marvin_cli.view.base import Tone
from marvin_cli.view.calls import Call, elapsed, indented
from marvin_cli.view.cells import EMPTY, Line, line
from marvin_cli.view.diffs import patch_lines
from marvin_cli.view.markdown import Markdown
from marvin_server.events import (
    Event,
    MessageDelta,
    MessageFinished,
    Notice,
    PatchApplied,
    PatchProposed,
    PatchResolved,
    Permission,
    PermissionRequested,
    PermissionResolved,
    Stop,
    ThoughtDelta,
    ThoughtFinished,
    ToolFinished,
    ToolOutput,
    ToolStarted,
    TurnFinished,
)
from marvin_server.sanitise import Sanitiser, one_line, printable

_ROWS_OF_A_PROMPT, _MOST_OF_A_PROMPT = 20, 2_000
_SEEN_OF_A_THOUGHT = 400
_PREFIXES = {"note": "", "warning": "Warning: ", "error": "Error: "}
_STOPS: dict[Stop, str] = {
    "cancelled": "[Cancelled]",
    "denied": "Stopped: the permission was denied.",
    "round_limit": "Stopped at the limit of rounds; say “go on” to let it.",
    "budget": "Stopped: the session has cost what it may.",
}


class Marks(Struct, frozen=True):
    """What a prompt, a call and a thought begin with."""

    prompt: str = "› "
    call: str = "● "
    running: str = "○ "
    thought: str = "∴ "


SPOKEN = Marks("You: ", "Tool: ", "Tool runs: ", "Thought: ")


class Drawing:
    """``columns`` says how wide lines that are laid out may be, ``clock`` the seconds of any clock."""

    def __init__(
        self, columns: Callable[[], int], marks: Marks | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._columns = columns
        self._marks = marks or Marks()
        self._clock = clock
        self._done: list[Line] = []
        self._last = ""
        self._markdown = Markdown(columns)
        self._sanitiser = Sanitiser()
        self._message_id = ""
        self._pieces: list[str] = []
        self._thought = ""
        self._thought_since: float | None = None
        self._calls: dict[str, Call] = {}
        self._asked: dict[str, Permission] = {}
        self._proposed: set[str] = set()

    @property
    def is_moving(self) -> bool:
        """Whether the rest shows a time that goes on."""
        return bool(self._calls) or self._thought_since is not None

    def take(self) -> list[Line]:
        """The lines that have become final since they were last taken."""
        self._read()
        done, self._done = self._done, []
        return done

    def rest(self) -> list[Line]:
        """What is open: a thought, the last block of the answer, the calls that run."""
        self._read()
        now = self._clock()
        lines = self._markdown.rest()
        if self._thought_since is not None:
            words = one_line(printable(self._thought))[-_SEEN_OF_A_THOUGHT:]
            took = elapsed(now - self._thought_since)
            lines.append(
                line(f"{took}  {words[-self._columns() + 24 :]}", "thought", f"{self._marks.thought}Thinking ")
            )
        waiting = {permission.tool_call_id for permission in self._asked.values()}
        for call_id, call in self._calls.items():
            if call_id not in waiting:
                lines += call.running(self._marks.running, now)
        return lines

    def echo(self, text: str) -> None:
        """A prompt that a person has entered."""
        rows = text[:_MOST_OF_A_PROMPT].rstrip("\n").split("\n")[:_ROWS_OF_A_PROMPT]
        left_out = len(text.rstrip("\n")) - len("\n".join(rows))
        first, *more = [printable(row).expandtabs(4) for row in rows]
        hang = " " * len(self._marks.prompt)
        lines = [line(first, "prompt", self._marks.prompt), *(line(row, "prompt", hang) for row in more)]
        if left_out > 0:
            lines.append(line(f"… {left_out:,} more characters", "muted", hang))
        self.add("prompt", [*lines, EMPTY])

    def say(self, text: str, tone: Tone = "plain") -> None:
        """Lines of Marvin's own."""
        if tone == "plain":
            markdown = Markdown(self._columns)
            self.add("said", [*markdown.feed(printable(text)), *markdown.end()])
        elif tone == "output":
            texts = printable(text).expandtabs(8).rstrip("\n").split("\n")
            self.add(tone, [Line((("", row),), verbatim=True) for row in texts])
        else:
            first, *more = printable(text).rstrip("\n").split("\n")
            rows = [f"{_PREFIXES[tone]}{first}", *more]
            self.add(tone, [line(row, "muted" if tone == "note" else tone) for row in rows])

    def add(self, kind: str, lines: list[Line]) -> None:
        """Add final lines, apart from those of another kind."""
        if not lines:
            return
        if self._last not in ("", kind, "prompt"):
            self._done.append(EMPTY)
        self._done += lines
        self._last = kind

    def show(self, event: Event) -> None:
        """The next event."""
        if isinstance(event, MessageDelta):
            self._hear(event)
            return
        self._read()
        match event:
            case MessageFinished(message) if message.role == "assistant":
                if message.id != self._message_id and message.text:
                    self._hear(MessageDelta(message.id, message.text))
                self._finish()
            case ThoughtDelta(_, text):
                if self._thought_since is None:
                    self._thought_since = self._clock()
                self._thought = (self._thought + text)[-_SEEN_OF_A_THOUGHT:]
            case ThoughtFinished(_, text):
                self._think(text)
            case ToolStarted() | ToolOutput() | ToolFinished():
                self._work(event)
            case PermissionRequested() | PermissionResolved():
                self._decide(event)
            case PatchProposed() | PatchApplied() | PatchResolved():
                self._change(event)
            case Notice(level, text):
                self.say(one_line(text), level)
            case TurnFinished():
                self._stop(event)
            case _:
                pass

    def _hear(self, delta: MessageDelta) -> None:
        if delta.message_id != self._message_id:
            self._finish()
            self._message_id = delta.message_id
        self._pieces.append(delta.text)

    def _read(self) -> None:
        """Take in the pieces of the answer that have come since: all at once, as often as anybody looks."""
        if self._pieces:
            text = self._sanitiser.feed("".join(self._pieces))
            self._pieces.clear()
            self.add("answer", self._markdown.feed(text))

    def _finish(self) -> None:
        self._read()
        self.add("answer", [*self._markdown.feed(self._sanitiser.flush()), *self._markdown.end()])

    def _think(self, text: str) -> None:
        if text.strip():
            took = "" if self._thought_since is None else f" for {elapsed(self._clock() - self._thought_since)}"
            head = f"{self._marks.thought}Thought{took}: "
            words = one_line(printable(text), max(20, self._columns() - len(head)))
            self.add("thought", [Line((("thought", f"{head}{words}"),))])
        self._thought, self._thought_since = "", None

    def _work(self, event: ToolStarted | ToolOutput | ToolFinished) -> None:
        if isinstance(event, ToolStarted):
            self._calls[event.tool_call_id] = Call(event, self._clock())
        elif call := self._calls.get(event.tool_call_id):
            if isinstance(event, ToolOutput):
                call.hear(event.text)
            else:
                del self._calls[event.tool_call_id]
                self.add("call", call.finished(self._marks.call, event))

    def _decide(self, event: PermissionRequested | PermissionResolved) -> None:
        if isinstance(event, PermissionRequested):
            self._asked[event.permission.id] = event.permission
            return
        asked = self._asked.pop(event.permission_id, None)
        if call := self._calls.get((asked and asked.tool_call_id) or ""):
            call.begin(self._clock())
        title = one_line(asked.title, 200) if asked else ""
        word = "Denied" if event.decision.startswith("deny") else "Allowed"
        if event.decision == "allow_edited":
            word = "Allowed as you have changed it, instead of"
        until = " for this session" if event.decision == "allow_session" else ""
        self.add("note", [line(f"{word}{until}{_by(event.by)}: {title}", "muted")])

    def _change(self, event: PatchProposed | PatchApplied | PatchResolved) -> None:
        if isinstance(event, PatchResolved):
            what = f"{len(event.kept)} kept, {len(event.rejected)} rejected"
            self.add("note", [line(f"Hunks of the patch: {what}{_by(event.by)}", "muted")])
        elif isinstance(event, PatchProposed):
            self._proposed.add(event.patch.id)
            head = line(f"{one_line(event.patch.title)} waits for your review", "accent")
            self.add("patch", [head, *indented(patch_lines(event.patch))])
        elif call := self._calls.get(event.patch.tool_call_id or ""):
            call.patches.append(event.patch)
        else:
            self.add("patch", indented(patch_lines(event.patch)))

    def _stop(self, event: TurnFinished) -> None:
        self._finish()
        self._think("")
        self._calls.clear()
        self._asked.clear()
        if event.error:
            later = " The same prompt may work later." if event.error.retryable else ""
            self.say(f"{event.error.message}{later}", "error")
        elif words := _STOPS.get(event.stop_reason):
            self.add("stop", [line(words, "warning")])
        self._last = "turn"


def _by(decider: str) -> str:
    """Who or what has decided, behind a decision; nothing where it was the person."""
    if decider == "person":
        return ""
    return " (cancelled)" if decider == "cancelled" else f" (by {one_line(decider)})"
