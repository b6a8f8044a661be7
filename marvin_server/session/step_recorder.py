"""Runs tool calls so that what they change in the workspace can be undone."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

from marvin_server.errors import StoreError
from marvin_server.events import Event, Notice
from marvin_server.session.call_steps import CallSteps
from marvin_server.session.kept_file import KeptFiles
from marvin_server.session.patches import EditingCall
from marvin_server.session.saved_files import with_news
from marvin_server.session.steps import Step, Steps
from marvin_server.tools.base import ToolContext, ToolOutput
from marvin_server.tools.registry import PreparedCall
from marvin_server.workspace.checkpoint_repository import KEPT_DAYS
from marvin_server.workspace.checkpoints import Checkpoints

if TYPE_CHECKING:
    from marvin_server.session.patches import Patches

_MOST_STEPS = 2000


class StepRecorder:
    """Keeps what the tool calls of a session change, in ``steps`` and in ``checkpoints`` of the workspace's root.

    Each of the ``patches`` is a step of its own, ignored and protected files and those in the editor too; what else an
    edit writes is known file by file. For a command the whole workspace is looked at before and after it: whatever
    changed on disk meanwhile counts as the command's.
    """

    def __init__(
        self,
        execute: Callable[[PreparedCall, ToolContext], Awaitable[ToolOutput]],
        steps: Steps,
        session_id: str,
        checkpoints: Callable[[Path], Checkpoints],
        patches: "Patches",
    ) -> None:
        self._execute = execute
        self._patches = patches
        self._steps = steps
        self._session_id = session_id
        self._checkpoints = checkpoints
        self._told: set[str] = set()
        self._failed_turn = ""

    async def run(
        self, prepared: PreparedCall, context: ToolContext, turn_id: str, emit: Callable[[Event], None]
    ) -> ToolOutput:
        """Run the call as ``execute`` does. What keeps a step from being kept is told once, and does not stop it; in
        that turn no further command waits for checkpoints."""
        if prepared.entry.effect not in {"edit", "execute"}:
            return await with_news(context.workspace, lambda: self._execute(prepared, context), emit)
        root = context.workspace.root
        checkpoints = self._checkpoints(root.path)
        works_on_disk = prepared.entry.works_on_disk
        looks = (works_on_disk or bool(context.checks)) and turn_id != self._failed_turn
        steps = CallSteps(
            self._steps,
            checkpoints,
            KeptFiles(root, context.workspace.open_files, checkpoints.objects),
            lambda kind, before, after: Step(self._session_id, turn_id, kind, str(root.path), before, after),
            lambda text: self._tell(text, emit),
            looks=looks,
        )

        async def work() -> ToolOutput:
            if works_on_disk:
                await steps.look()
            return await self._execute(prepared, context)

        call = EditingCall(prepared.call.id, prepared.title, turn_id, emit, steps.patch)
        try:
            with root.watched(steps.written.note), self._patches.during(call):
                return await with_news(context.workspace, work, emit)
        finally:
            await steps.end()
            if looks and not steps.looks:
                self._failed_turn = turn_id
            if checkpoints.repository.is_untidy:
                self._tidy(checkpoints, emit)

    def _tidy(self, checkpoints: Checkpoints, emit: Callable[[Event], None]) -> None:
        root = str(checkpoints.root)
        try:
            self._steps.forget(root, days=KEPT_DAYS, most=_MOST_STEPS)
            kept = [name for step in self._steps.all(root=root) for name in (step.before, step.after) if name]
            kept += self._patches.kept.contents(root)
        except StoreError as error:
            self._tell(f"old steps could not be dropped: {error}", emit)
        else:
            checkpoints.repository.tidy(kept)

    def _tell(self, text: str, emit: Callable[[Event], None]) -> None:
        if text not in self._told:
            self._told.add(text)
            emit(Notice("warning", text))
