"""A patch that is about to be made, as a step: it is in the store before anything is changed."""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial

from marvin_server.edits.hunks import FileChange
from marvin_server.errors import CheckpointError, MarvinError, ToolError
from marvin_server.session.kept_file import KeptFile, KeptFiles
from marvin_server.session.steps import Step, Steps
from marvin_server.workspace.document_changes import Made
from marvin_server.workspace.names import printable


class PatchStep:
    """The step of one patch, whose files ``files`` keeps; ``step`` makes it of two checkpoints, before and after.

    ``begin`` comes before anything is changed, then either ``made`` or ``failed``. A kill in between leaves the step as
    it was planned, which can be undone whatever of it was done. What cannot be kept is told by ``tell``, and stops
    nothing.
    """

    def __init__(
        self,
        steps: Steps,
        step: Callable[[str, str], Step],
        files: KeptFiles,
        tell: Callable[[str], None],
    ) -> None:
        self._steps = steps
        self._step = step
        self._files = files
        self._tell = tell
        self._planned: list[KeptFile | None] = []
        # The id of the step, and of the checkpoints before and after it.
        self._begun: tuple[int, str, str] | None = None

    async def begin(self, changes: Sequence[FileChange]) -> list[KeptFile | None]:
        """``changes`` are about to be made; give what was kept of each file, None where that cannot be."""
        self._planned = [await self._kept(change, partial(self._files.planned, change)) for change in changes]
        try:
            await self._keep([each for each in self._planned if each])
        except MarvinError as error:
            self._tell(f"this change cannot be undone: {error}")
        return self._planned

    async def made(self, changes: Sequence[FileChange], made: Sequence[Made]) -> list[KeptFile | None]:
        """They were made so; give what was kept of each file, None where that cannot be."""
        kept = [
            planned and await self._kept(change, partial(self._files.made, planned, change, in_editor=one.in_editor))
            for planned, change, one in zip(self._planned, changes, made, strict=True)
        ]
        try:
            await self._keep([each for each in kept if each])
        except MarvinError as error:
            self._tell(f"this change cannot be undone: {error}")
        return kept

    async def failed(self) -> None:
        """Nothing was made of them, or not all could be taken back: then the step stays."""
        try:
            untouched = [each and await asyncio.to_thread(self._files.is_untouched, each) for each in self._planned]
            if self._begun is not None and all(each is not False for each in untouched):
                self._steps.end(*self._begun[:2])
        except MarvinError as error:
            self._tell(f"a change that failed could not be forgotten: {error}")

    async def _keep(self, files: Sequence[KeptFile]) -> None:
        """Have these files as the step, in place of those that it had. Raises MarvinError."""
        if not files and self._begun is None:
            return
        before, after = await asyncio.to_thread(self._files.checkpoints, files)
        if self._begun is not None:
            step_id, *planned = self._begun
            if planned == [before, after]:
                return
            # One that began otherwise is forgotten, for a new one.
            self._steps.end(step_id, after if planned[0] == before else planned[0])
            if planned[0] == before:
                return
        if before != after:
            self._begun = (self._steps.begin(self._step(before, after)), before, after)

    async def _kept(self, change: FileChange, work: Callable[[], KeptFile]) -> KeptFile | None:
        try:
            return await asyncio.to_thread(work)
        except (CheckpointError, ToolError, OSError) as error:
            self._tell(f"a change cannot be undone: {printable(change.path)}: {error}")
            return None
