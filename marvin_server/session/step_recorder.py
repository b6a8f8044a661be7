"""Runs tool calls so that what they change in the workspace can be undone."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from marvin_server.errors import CheckpointError, MarvinError
from marvin_server.events import Event, Notice
from marvin_server.session.steps import Step, Steps
from marvin_server.tools.base import ToolContext, ToolOutput
from marvin_server.tools.registry import PreparedCall
from marvin_server.workspace.checkpoint_files import look
from marvin_server.workspace.checkpoint_objects import FileState, Objects
from marvin_server.workspace.checkpoint_repository import KEPT_DAYS
from marvin_server.workspace.checkpoints import Checkpoints
from marvin_server.workspace.confine import Root
from marvin_server.workspace.documents import LARGEST
from marvin_server.workspace.names import printable

T = TypeVar("T")

_MOST_STEPS = 2000
# Toolsets that write through the workspace's root and in no other way, so that each file can be watched.
_WATCHED = frozenset({"files", "notes", "notebook"})


class StepRecorder:
    """Keeps what the tool calls of a session change, in ``steps`` and in ``checkpoints`` of the workspace's root.

    What an edit writes is known file by file, ignored and protected ones too. For a command the whole workspace is
    looked at before and after it: whatever changed meanwhile counts as the command's.
    """

    def __init__(
        self,
        execute: Callable[[PreparedCall, ToolContext], Awaitable[ToolOutput]],
        steps: Steps,
        session_id: str,
        checkpoints: Callable[[Path], Checkpoints],
    ) -> None:
        self._execute = execute
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
            return await self._execute(prepared, context)
        root = context.workspace.root
        checkpoints = self._checkpoints(root.path)
        step: Step | None = None
        step_id = 0
        if (prepared.entry.toolset not in _WATCHED or context.checks) and turn_id != self._failed_turn:
            try:
                before = await asyncio.to_thread(checkpoints.snapshot)
                step = Step(self._session_id, turn_id, "command", str(root.path), before.id)
                step_id = self._steps.begin(step)
            except CheckpointError as error:
                self._failed_turn = turn_id
                self._tell(f"what commands change cannot be undone: {error}", emit)
        journal = _Journal(root, checkpoints.objects)
        try:
            with root.watched(journal.note):
                return await self._execute(prepared, context)
        finally:
            try:
                if step is not None:
                    after = await _undisturbed(asyncio.to_thread(checkpoints.snapshot))
                    self._steps.end(step_id, after.id)
                if edited := await _undisturbed(asyncio.to_thread(journal.checkpoints)):
                    self._steps.begin(Step(self._session_id, turn_id, "edit", str(root.path), *edited))
                for problem in journal.problems:
                    self._tell(f"a change cannot be undone: {problem}", emit)
                if checkpoints.repository.is_untidy:
                    self._tidy(checkpoints)
            except MarvinError as error:
                logging.getLogger("marvin.session").warning("a step was not kept: %s", error)
                self._tell(f"this change cannot be undone: {error}", emit)

    def _tidy(self, checkpoints: Checkpoints) -> None:
        root = str(checkpoints.root)
        self._steps.forget(root, days=KEPT_DAYS, most=_MOST_STEPS)
        kept = [name for step in self._steps.all(root=root) for name in (step.before, step.after) if name]
        checkpoints.repository.tidy(kept)

    def _tell(self, text: str, emit: Callable[[Event], None]) -> None:
        if text not in self._told:
            self._told.add(text)
            emit(Notice("warning", text))


class _Journal:
    """The files that tools have written through ``root``, each as it was before the first time."""

    def __init__(self, root: Root, objects: Objects) -> None:
        self._root = root
        self._objects = objects
        self._before: dict[str, FileState | None] = {}
        self.problems: list[str] = []

    def note(self, path: str) -> None:
        """Keep the file at ``path`` as it is now, unless that was done."""
        if path in self._before:
            return
        try:
            self._before[path] = self._kept(path)
        except CheckpointError as error:
            self.problems.append(str(error))

    def checkpoints(self) -> tuple[str, str] | None:
        """The ids of two checkpoints of the files that are not as they were: then and now; None when all are.

        Raises CheckpointError.
        """
        now = {path: self._kept(path) for path in self._before}
        changed = {path for path, state in now.items() if state != self._before[path]}
        if not changed:
            return None
        before, after = ({path: states[path] for path in changed} for states in (self._before, now))
        return self._objects.checkpoint_of(before), self._objects.checkpoint_of(after)

    def _kept(self, path: str) -> FileState | None:
        found = look(self._root, path, LARGEST)
        if found.problem and not found.blocked_by:
            raise CheckpointError(f"{printable(path)}: {found.problem}")
        if found.state is not None:
            self._objects.keep(found.content)
        return found.state


async def _undisturbed(work: Awaitable[T]) -> T:
    """The result of ``work``, which a cancellation waits for."""
    running = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait({running})
        raise
