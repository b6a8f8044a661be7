"""A tool call as lines: what it does, how long it takes or took, how it ended, and a little of what it said."""

from marvin_cli.view.cells import Line, line
from marvin_cli.view.diffs import patch_lines, unified_lines
from marvin_server.events import Patch, ToolFinished, ToolStarted
from marvin_server.messages import Effect
from marvin_server.sanitise import Sanitiser, one_line, printable

# How many lines of an output are shown: all up to the first number, else so many of its beginning and of its end.
_ALL, _FIRST, _LAST = 6, 2, 3
_RUNNING = 3
_MOST_OF_A_DIFF = 40
_KEPT = 4_000
_MARGIN = "  "


class Call:
    """A call that runs; ``now`` is the time in seconds on any clock, which is always the same one."""

    def __init__(self, started: ToolStarted, now: float) -> None:
        self._title = one_line(started.title or started.name, 300)
        self._kind: Effect = started.kind
        self.begin(now)
        self._sanitiser = Sanitiser()
        self._output = ""
        self.patches: list[Patch] = []

    def begin(self, now: float) -> None:
        """Count the time from now on: whatever it waited for is over."""
        self._since = now

    def hear(self, text: str) -> None:
        """Take what the tool has just printed."""
        self._output = (self._output + self._sanitiser.feed(text))[-_KEPT:]

    def running(self, mark: str, now: float) -> list[Line]:
        """The call while it runs, with the end of its output."""
        head = Line((("accent", mark), ("", self._title), ("muted", f"  {elapsed(now - self._since)}")), (("", "  "),))
        said = [text for text in self._output.split("\n") if text.strip()]
        return [head, *_said(said[-_RUNNING:])]

    def finished(self, mark: str, event: ToolFinished) -> list[Line]:
        """The call when it has ended."""
        role, words = _ending(event)
        took = elapsed(event.duration_ms / 1000)
        head = Line(((role, mark), ("", self._title), (role, f"  {words}"), ("muted", f" {took}")), (("", "  "),))
        return [head, *self._result(event)]

    def _result(self, event: ToolFinished) -> list[Line]:
        if self.patches:
            return [shown for patch in self.patches for shown in indented(patch_lines(patch))]
        texts = printable(event.output).rstrip("\n").split("\n")
        if texts[-1] == f"[exit code {event.exit_code}]":
            texts.pop()
        if event.status == "ok":
            if isinstance(diff := event.details.get("diff"), str) and diff:
                return indented(unified_lines(diff, printable))
            if self._kind != "execute":
                return []
        if len(texts) > _ALL:
            left_out = f"… {len(texts) - _FIRST - _LAST} more lines"
            return [*_said(texts[:_FIRST]), *_said([left_out]), *_said(texts[-_LAST:])]
        return _said([text for text in texts if text])


def indented(lines: list[Line]) -> list[Line]:
    """A diff beneath its call, its middle left out where it is long."""
    shown = [Line((("", _MARGIN), *one.fragments), one.hang, one.verbatim) for one in lines[:_MOST_OF_A_DIFF]]
    if len(lines) > _MOST_OF_A_DIFF:
        shown += _said([f"… {len(lines) - _MOST_OF_A_DIFF} more lines; /diff shows them"])
    return shown


def elapsed(seconds: float) -> str:
    """A time as people write it."""
    if seconds < 10:
        return f"{max(0.0, seconds):.1f} s"
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"


def _ending(event: ToolFinished) -> tuple[str, str]:
    """How it ended, in words, and their role."""
    if event.status == "ok" and event.exit_code in (None, 0):
        return "ok", "done"
    if event.status in ("ok", "error"):
        return "error", "failed" if event.exit_code is None else f"failed with exit code {event.exit_code},"
    return "warning", event.status


def _said(texts: list[str]) -> list[Line]:
    return [line(text.expandtabs(8)[:2000], "muted", _MARGIN) for text in texts]
