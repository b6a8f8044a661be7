"""The steps of one tool call: a step ends before another begins."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from functools import partial

from marvin_server.errors import CheckpointError, MarvinError, StoreError
from marvin_server.session.kept_file import KeptFiles
from marvin_server.session.patch_step import PatchStep
from marvin_server.session.steps import Step, StepKind, Steps
from marvin_server.workspace.checkpoint_files import look
from marvin_server.workspace.checkpoint_objects import FileState, Objects
from marvin_server.workspace.checkpoints import Checkpoints
from marvin_server.workspace.confine import Root
from marvin_server.workspace.documents import LARGEST
from marvin_server.workspace.names import printable
from marvin_server.workspace.undisturbed import undisturbed


class Written:
    """The files that a tool writes through ``root`` while this ``is_watching``, each as it was the first time."""

    def __init__(self, root: Root, objects: Objects) -> None:
        self._root = root
        self._objects = objects
        self._before: dict[str, FileState | None] = {}
        self.is_watching = True
        self.problems: list[str] = []

    def note(self, path: str) -> None:
        """Keep the file at ``path`` as it is now, unless that was done."""
        if path in self._before or not self.is_watching:
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
        changed = {path: (self._before[path], new) for path, new in now.items() if new != self._before[path]}
        if not changed:
            return None
        before, after = ({path: pair[side] for path, pair in changed.items()} for side in (0, 1))
        return self._objects.checkpoint_of(before), self._objects.checkpoint_of(after)

    def _kept(self, path: str) -> FileState | None:
        found = look(self._root, path, LARGEST)
        if found.problem and not found.blocked_by:
            raise CheckpointError(f"{printable(path)}: {found.problem}")
        if found.state is not None:
            self._objects.keep(found.content)
        return found.state


class CallSteps:
    """Those of a call that changes ``files``; ``step`` makes one of its kind and the checkpoints before and after it.

    While it ``looks``, what programs change between its patches and after them is a step, too; it stops to when the
    files cannot be kept. What keeps a step from being kept is told by ``tell``, and stops nothing else.
    """

    def __init__(
        self,
        steps: Steps,
        checkpoints: Checkpoints,
        files: KeptFiles,
        step: Callable[[StepKind, str, str | None], Step],
        tell: Callable[[str], None],
        *,
        looks: bool,
    ) -> None:
        self._steps = steps
        self._checkpoints = checkpoints
        self._files = files
        self._step = step
        self._tell = tell
        self.looks = looks
        self.written = Written(files.root, checkpoints.objects)
        self._looking: int | None = None

    @asynccontextmanager
    async def patch(self) -> AsyncGenerator[PatchStep]:
        """The step of a patch that is made in the block."""
        await self._end_look()
        self.written.is_watching = False
        try:
            yield PatchStep(self._steps, partial(self._step, "edit"), self._files, self._tell)
        finally:
            self.written.is_watching = True
            await self.look()

    async def look(self) -> None:
        """From now on programs may change the files."""
        if not self.looks:
            return
        try:
            before = await asyncio.to_thread(self._checkpoints.snapshot)
            self._looking = self._steps.begin(self._step("command", before.id, None))
        except (CheckpointError, StoreError) as error:
            self.looks = False
            self._tell(f"what commands change cannot be undone: {error}")

    async def end(self) -> None:
        """The call has ended."""
        await self._end_look()
        try:
            if written := await undisturbed(asyncio.to_thread(self.written.checkpoints)):
                self._steps.begin(self._step("edit", *written))
        except MarvinError as error:
            self._lose(error)
        for problem in self.written.problems:
            self._tell(f"a change cannot be undone: {problem}")

    async def _end_look(self) -> None:
        if self._looking is None:
            return
        step_id, self._looking = self._looking, None
        try:
            after = await undisturbed(asyncio.to_thread(self._checkpoints.snapshot))
            self._steps.end(step_id, after.id)
        except MarvinError as error:
            self._lose(error)

    def _lose(self, error: MarvinError) -> None:
        logging.getLogger("marvin.session").warning("a step was not kept: %s", error)
        self._tell(f"this change cannot be undone: {error}")
