"""Runs tool calls so that what they change in the workspace can be undone."""

import asyncio
import logging
import stat
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from marvin_server.errors import CheckpointError, MarvinError, ToolError
from marvin_server.events import Event, Notice
from marvin_server.session.patches import EditingCall
from marvin_server.session.saved_files import with_saved_files
from marvin_server.session.steps import Step, Steps
from marvin_server.tools.base import ToolContext, ToolOutput
from marvin_server.tools.registry import PreparedCall
from marvin_server.workspace.checkpoint_files import look
from marvin_server.workspace.checkpoint_objects import FileState, Objects, state
from marvin_server.workspace.checkpoint_repository import KEPT_DAYS
from marvin_server.workspace.checkpoints import Checkpoints
from marvin_server.workspace.confine import Root
from marvin_server.workspace.documents import LARGEST
from marvin_server.workspace.names import printable
from marvin_server.workspace.open_files import to_bytes
from marvin_server.workspace.undisturbed import undisturbed

if TYPE_CHECKING:
    from marvin_server.edits.hunks import FileChange
    from marvin_server.session.patches import Patches

_MOST_STEPS = 2000
# Toolsets that write through the workspace's root and in no other way, so that each file can be watched.
_WATCHED = frozenset({"files", "notes", "notebook"})


class StepRecorder:
    """Keeps what the tool calls of a session change, in ``steps`` and in ``checkpoints`` of the workspace's root.

    What an edit writes is known file by file, ignored and protected ones too, and so is what it does in the editor, by
    ``patches``. For a command the whole workspace is looked at before and after it: whatever changed on disk meanwhile
    counts as the command's.
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
            return await self._execute(prepared, context)
        root = context.workspace.root
        checkpoints = self._checkpoints(root.path)
        journal = _Journal(root, checkpoints.objects)
        begun: list[int] = []

        async def begin() -> None:
            begun.extend(await self._begun(checkpoints, turn_id, emit))

        async def begin_checks() -> None:
            # Once a patch is through its review: what the person does until then is not the checks'.
            if context.checks and not begun:
                await begin()

        async def command() -> ToolOutput:
            await begin()
            return await self._execute(prepared, context)

        call = EditingCall(prepared.call.id, prepared.title, turn_id, emit, begin_checks, journal.edited)
        try:
            with root.watched(journal.note), self._patches.during(call):
                if prepared.entry.toolset in _WATCHED:
                    return await self._execute(prepared, context)
                return await with_saved_files(context.workspace, command, emit)
        finally:
            try:
                for step_id in begun:
                    after = await undisturbed(asyncio.to_thread(checkpoints.snapshot))
                    self._steps.end(step_id, after.id)
                if edited := await undisturbed(asyncio.to_thread(journal.checkpoints)):
                    self._steps.begin(Step(self._session_id, turn_id, "edit", str(root.path), *edited))
                for problem in journal.problems:
                    self._tell(f"a change cannot be undone: {problem}", emit)
                if checkpoints.repository.is_untidy:
                    self._tidy(checkpoints)
            except MarvinError as error:
                logging.getLogger("marvin.session").warning("a step was not kept: %s", error)
                self._tell(f"this change cannot be undone: {error}", emit)

    async def _begun(self, checkpoints: Checkpoints, turn_id: str, emit: Callable[[Event], None]) -> tuple[int, ...]:
        """The id of a step that begins now; none where it cannot be kept."""
        if turn_id == self._failed_turn:
            return ()
        try:
            before = await asyncio.to_thread(checkpoints.snapshot)
            return (self._steps.begin(Step(self._session_id, turn_id, "command", str(checkpoints.root), before.id)),)
        except CheckpointError as error:
            self._failed_turn = turn_id
            self._tell(f"what commands change cannot be undone: {error}", emit)
            return ()

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
    """The files that tools have written through ``root``, each as it was before the first time; of those that were
    edited in the editor, what became of them by the edit alone."""

    def __init__(self, root: Root, objects: Objects) -> None:
        self._root = root
        self._objects = objects
        self._before: dict[str, FileState | None] = {}
        self._edited: dict[str, tuple[FileState, FileState]] = {}
        self.problems: list[str] = []

    def note(self, path: str) -> None:
        """Keep the file at ``path`` as it is now, unless that was done."""
        if path in self._before:
            return
        try:
            self._before[path] = self._kept(path)
        except CheckpointError as error:
            self.problems.append(str(error))

    def edited(self, change: "FileChange") -> None:
        """Keep what was done in the editor, whatever the person has written there meanwhile."""
        path = change.path
        try:
            path = self._root.place_of_any(path)
            mode = stat.S_IFREG | 0o644
            with suppress(OSError):
                mode = self._root.stat(path).st_mode
            before, after = (self._text(path, text or "", mode) for text in (change.old, change.new))
            self._edited[path] = (self._edited[path][0] if path in self._edited else before, after)
        except (CheckpointError, ToolError, OSError) as error:
            self.problems.append(f"{printable(path)}: {error}")

    def checkpoints(self) -> tuple[str, str] | None:
        """The ids of two checkpoints of the files that are not as they were: then and now; None when all are.

        Raises CheckpointError.
        """
        now = {path: self._kept(path) for path in self._before if path not in self._edited}
        changed = {path: (self._before[path], new) for path, new in now.items() if new != self._before[path]}
        changed |= {path: pair for path, pair in self._edited.items() if pair[0] != pair[1]}
        if not changed:
            return None
        before, after = ({path: pair[side] for path, pair in changed.items()} for side in (0, 1))
        return self._objects.checkpoint_of(before), self._objects.checkpoint_of(after)

    def _text(self, path: str, text: str, mode: int) -> FileState:
        content = to_bytes(self._root, path, text)
        self._objects.keep(content)
        return state(content, mode)

    def _kept(self, path: str) -> FileState | None:
        found = look(self._root, path, LARGEST)
        if found.problem and not found.blocked_by:
            raise CheckpointError(f"{printable(path)}: {found.problem}")
        if found.state is not None:
            self._objects.keep(found.content)
        return found.state
