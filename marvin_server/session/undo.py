"""Takes back what a turn has changed in its workspaces, and brings it back again, without losing what came later."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from marvin_server.errors import CheckpointError, MarvinError
from marvin_server.session.file_copy import Failed
from marvin_server.session.steps import KeptStep, Step, Steps
from marvin_server.session.taking_back import TakingBack
from marvin_server.settings import Settings
from marvin_server.workspace.checkpoint_repository import KEPT_DAYS
from marvin_server.workspace.checkpoints import Checkpoints
from marvin_server.workspace.confine import Root
from marvin_server.workspace.editor import Editor
from marvin_server.workspace.names import printable
from marvin_server.workspace.open_files import OpenFiles

_SHOWN = 20
Direction = Literal["undo", "redo"]
_DONE = {"undo": "took back", "redo": "brought back"}


class TakenBack(Struct, frozen=True):
    """What came of it. ``applied`` are the files that were changed (when ``is_preview``: would be), ``failed`` those
    that were left alone and why; ``preview`` is the change as a unified diff, and ``notes`` are lines for the person.
    Paths are relative to the workspace's root."""

    session_id: str
    turn_id: str
    kind: Direction
    is_preview: bool
    applied: tuple[str, ...]
    failed: tuple[Failed, ...]
    preview: str
    notes: tuple[str, ...]

    @property
    def message(self) -> str | None:
        """What the model has to know of it, None when there is nothing."""
        if self.is_preview or not self.applied:
            return None
        files = ", ".join(printable(path) for path in self.applied[:_SHOWN])
        more = f" and {len(self.applied) - _SHOWN} more" if len(self.applied) > _SHOWN else ""
        what = "your changes of an earlier turn" if self.kind == "undo" else "your changes that were taken back before"
        return f"[Marvin: the person {_DONE[self.kind]} {what}, in {files}{more}. Read these files again before use.]"


class Undo:
    """Undoes and redoes turns whose steps are in ``steps``, with the ``checkpoints`` of their roots.

    ``open_files`` are changed in the editor, which is asked in ``loop``; without one nothing is open. Its methods raise
    MarvinError, and take some time: call them in a thread, one at a time.
    """

    def __init__(
        self,
        steps: Steps,
        checkpoints: Callable[[Path], Checkpoints],
        open_files: OpenFiles | None = None,
        loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        self._steps = steps
        self._checkpoints = checkpoints
        self._open_files = open_files or OpenFiles()
        self._loop = loop

    def find(
        self, kind: Direction, *, session_id: str | None = None, root: str | None = None, turn_id: str | None = None
    ) -> list[KeptStep]:
        """The steps of the turn to take back: the newest that there is in the session or in the workspace, or the one
        that is named. A named one that is undone already may be undone again, where it was left alone before.

        ``redo`` finds what the latest undo has done. Raises MarvinError when there is nothing.
        """
        named = {step.turn_id for step in self._steps.all(root=root)}
        turns: dict[str, list[KeptStep]] = {}
        for step in self._steps.all(session_id=session_id):
            if step.turn_id in named and turn_id in {None, step.turn_id}:
                turns.setdefault(step.turn_id, []).append(step)
        if kind == "undo":
            fitting = [steps for steps in turns.values() if turn_id or steps[-1].kind != "undo"]
            chosen = fitting[-1] if fitting else []
            found = [step for step in chosen if step.kind in {"edit", "command"}]
        else:
            fitting = [steps for steps in turns.values() if steps[-1].kind == "undo"]
            chosen = max(fitting, key=lambda steps: steps[-1].id) if fitting else []
            done = max((n for n, step in enumerate(chosen, 1) if step.kind != "undo"), default=0)
            found = chosen[done:]
        if not found:
            raise MarvinError(f"there is nothing to {kind}: changes are kept for {KEPT_DAYS} days")
        return found

    def take_back(self, kind: Direction, steps: Sequence[KeptStep], *, preview: bool = False) -> TakenBack:
        """Take back what ``steps``, which ``find`` has found, have changed.

        Only the lines that they changed are changed; a file in which these were changed since is left alone.
        """
        parts = [self._in_root(kind, root, steps, preview) for root in dict.fromkeys(step.root for step in steps)]
        return TakenBack(
            steps[0].session_id,
            steps[0].turn_id,
            kind,
            preview,
            applied=tuple(path for part in parts for path in part.applied),
            failed=tuple(failed for part in parts for failed in part.failed),
            preview="".join(part.diff for part in parts),
            notes=tuple(note for part in parts for note in part.notes),
        )

    def _in_root(self, kind: Direction, root: str, steps: Sequence[KeptStep], preview: bool) -> "_Part":
        here = [step for step in steps if step.root == root]
        notes: list[str] = []
        checkpoints = self._checkpoints(Path(root))
        try:
            changes = [(step.before, self._after(step, checkpoints, preview, notes)) for step in here]
            taking = TakingBack(Root(Path(root)), checkpoints.objects, changes[::-1], self._open_files)
            applied, diff = taking.paths, taking.diff()
            if not preview and (ids := taking.checkpoints()):
                applied = self._applied(taking, Step(here[0].session_id, here[0].turn_id, kind, root, *ids))
            if any(step.kind == "command" for step in here):
                notes += _left_out(checkpoints)
            return _Part(applied, taking.failed, diff, notes)
        except OSError as error:
            raise MarvinError(f"{root}: {error.strerror}") from error
        finally:
            checkpoints.objects.close()

    def _applied(self, taking: TakingBack, step: Step) -> list[str]:
        # Kept first: when Marvin is killed in between, taking this back finds what was not done as it wants it.
        step_id = self._steps.begin(step)
        try:
            applied = taking.apply(lambda edits: self._ask(lambda editor: editor.edit(f"Marvin: {step.kind}", edits)))
            self._ask(lambda editor: editor.reconcile())
            return applied
        finally:
            _, after = taking.checkpoints() or (step.before, step.before)
            self._steps.end(step_id, after)

    def _ask(self, what: Callable[[Editor], Coroutine[Any, Any, object]]) -> None:
        if self._open_files.editor is not None and self._loop is not None:
            asyncio.run_coroutine_threadsafe(what(self._open_files.editor), self._loop).result()

    def _after(self, step: KeptStep, checkpoints: Checkpoints, preview: bool, notes: list[str]) -> str:
        """How the files were after the step; as they are now when Marvin was killed before it could look."""
        if step.after is not None:
            return step.after
        after = checkpoints.snapshot().id
        if not preview:
            self._steps.end(step.id, after)
        notes.append("Marvin was stopped while a command ran: all that has changed since counts as the command's")
        return after


class _Part(Struct, frozen=True):
    """What came of it in one workspace."""

    applied: list[str]
    failed: list[Failed]
    diff: str
    notes: list[str]


def _left_out(checkpoints: Checkpoints) -> list[str]:
    """Lines on what commands may have changed and no checkpoint has."""
    try:
        ignored = [printable(path) for path in checkpoints.ignored()]
        left_out = list(checkpoints.snapshot().not_kept)
    except CheckpointError as error:
        return [f"what is not kept could not be listed: {error}"]
    lines = [f"not kept: {line}" for line in left_out[:_SHOWN]]
    if len(left_out) > _SHOWN:
        lines.append(f"not kept: {len(left_out) - _SHOWN} more files")
    if ignored:
        more = f" and {len(ignored) - _SHOWN} more" if len(ignored) > _SHOWN else ""
        lines.append(f"not kept, since git ignores it: {', '.join(ignored[:_SHOWN])}{more}")
    return lines


def checkpoints_of(settings: Settings, root: Path) -> Checkpoints:
    """The checkpoints of the workspace ``root`` in the person's profile."""
    paths = settings.paths
    own = (paths.config, paths.data, paths.state, paths.cache)
    return Checkpoints(paths.checkpoints(settings.profile), root, settings.child_environ(), own)
