"""One turn told by the editor's own means: progress while it runs, then its answer as a page, or why there is none."""

from collections.abc import AsyncIterator, Callable
from typing import Any

from marvin_server.events import (
    Event,
    MessageFinished,
    Notice,
    PatchApplied,
    ToolStarted,
    TurnFinished,
    TurnStarted,
)
from marvin_server.lsp.pages import Pages
from marvin_server.lsp.progress import Progress
from marvin_server.messages import Text
from marvin_server.sanitise import one_line, printable

_ERROR, _WARNING, _INFO = 1, 2, 3
_ENDS = {
    "round_limit": "it needed more rounds than it may have: set max_rounds in config.yaml, or ask for less",
    "budget": "a cost limit is reached: the log says which, and `marvin usage` what was spent",
    "denied": "you asked to stop",
}


class Telling:
    """Tells the turn ``turn_id`` of the action ``title``; ``page`` is the file name for its answer.

    An answer is shown as a page where it is what was asked for, or where it is all that came; else it is one line.
    """

    def __init__(
        self,
        title: str,
        page: str,
        pages: Pages,
        tell: Callable[[str, Any], None],
        *,
        wants_answer: bool,
    ) -> None:
        self._title = title
        self._page = page
        self._pages = pages
        self._tell = tell
        self._wants_answer = wants_answer
        self._answer = ""
        self._has_changed = False

    async def run(self, events: AsyncIterator[tuple[int, Event]], turn_id: str, progress: Progress) -> None:
        """Tell it from its start to its end, or to the end of the session."""
        started = False
        try:
            async for _, event in events:
                if isinstance(event, TurnStarted) and event.turn_id == turn_id:
                    started = True
                    progress.report(f"{event.model} is at work")
                elif isinstance(event, TurnFinished) and event.turn_id == turn_id:
                    progress.end(await self._finish(event))
                    return
                elif started:
                    self._take(event, progress)
                elif isinstance(event, TurnStarted):
                    progress.report("waits for what was asked before")
        finally:
            progress.end("ended")

    def _take(self, event: Event, progress: Progress) -> None:
        match event:
            case MessageFinished(message=message) if message.role == "assistant":
                self._answer = "".join(part.text for part in message.parts if isinstance(part, Text)).strip()
            case ToolStarted(title=title):
                progress.report(title)
            case PatchApplied():
                self._has_changed = True
            case Notice(level=level, text=text):
                progress.report(text)
                if level != "note":
                    self._tell("window/logMessage", {"type": _WARNING, "message": f"Marvin: {printable(text)}"})
            case _:
                pass

    async def _finish(self, end: TurnFinished) -> str:
        """Show what the turn has to say, and give the last line of its progress."""
        if end.stop_reason == "cancelled":
            return "cancelled"
        if end.stop_reason == "failed":
            why = one_line(end.error.message) if end.error else "it failed; the log says more"
            self._say(_ERROR, f"{self._title} failed: {why}")
            return "failed"
        if why := _ENDS.get(end.stop_reason):
            self._say(_WARNING, f"{self._title} ended early: {why}.")
        if self._answer and (self._wants_answer or not self._has_changed):
            await self._show()
        elif not self._answer and not self._has_changed and end.stop_reason == "completed":
            self._say(_WARNING, f"{self._title}: the model said nothing. Try again, or try another model.")
        return self._answer or "done"

    async def _show(self) -> None:
        try:
            page = self._pages.write(self._page, printable(self._answer) + "\n")
        except OSError as error:
            self._say(_ERROR, f"{self._title}: the answer cannot be written down ({error}): {one_line(self._answer)}")
            return
        if not await self._pages.show(page):
            self._say(_INFO, f"{self._title}: the answer is in {page}")

    def _say(self, kind: int, text: str) -> None:
        self._tell("window/showMessage", {"type": kind, "message": f"Marvin: {text}"})
