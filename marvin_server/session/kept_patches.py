"""The patches of a session that were made and are open for review: in the store, so that they outlive the process."""

import asyncio
import logging
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Literal

from msgspec.structs import replace

from marvin_server.errors import CheckpointError, NoPatch, StoreError, ToolError
from marvin_server.events import Patch, PatchResolved, Rejection
from marvin_server.session.kept_file import KeptFile, KeptFiles
from marvin_server.session.kept_patch import KeptPatch
from marvin_server.session.open_patches import OpenPatch
from marvin_server.session.reviews import Settled
from marvin_server.session.store import Store
from marvin_server.workspace.checkpoint_repository import KEPT_DAYS
from marvin_server.workspace.checkpoints import Checkpoints
from marvin_server.workspace.workspace import Workspace

_MOST = 200
_LARGEST = 20_000_000  # characters, of all that are kept together
_LARGE = 250_000  # up to so many are on disk within 15 ms
_log = logging.getLogger("marvin.session")


class KeptPatches:
    """Those of ``session_id`` in ``store``. ``workspace`` gives the one with this root, ``checkpoints`` those of it.

    Every method raises StoreError, unless it says otherwise.
    """

    def __init__(
        self,
        store: Store,
        session_id: str,
        workspace: Callable[[Path], Workspace],
        checkpoints: Callable[[Path], Checkpoints],
    ) -> None:
        self._store = store
        self.session_id = session_id
        self._workspace = workspace
        self._checkpoints = checkpoints
        self._resolving = asyncio.Lock()

    @property
    def pending(self) -> tuple[Patch, ...]:
        """Their open hunks, as events show them, the oldest patch first."""
        return tuple(kept.pending for kept in self._store.patches.of(self.session_id))

    async def plan(self, planned: OpenPatch) -> None:
        """``planned`` is about to be made: then either ``keep`` comes or ``give_up``."""
        await self._put(planned, is_made=False)

    async def keep(self, made: OpenPatch) -> list[PatchResolved]:
        """It was made so; without a hunk nothing waits. Of more, or larger ones, than may wait, the oldest count as
        kept: give the events that say so."""
        if not made.open:
            self._store.patches.drop(made.patch.id)
            return []
        await self._put(made, is_made=True)
        waiting = self._store.patches.waiting(self.session_id)
        dropped: list[PatchResolved] = []
        while len(waiting) > _MOST or sum(each.size for each in waiting) > _LARGEST:
            oldest = waiting.pop(0)
            self._store.patches.drop(oldest.id)
            dropped.append(PatchResolved(oldest.id, oldest.open, (), "limit"))
        return dropped

    def give_up(self, patch_id: str) -> None:
        """It was not made. A row that cannot be removed is looked at by ``recover``."""
        try:
            self._store.patches.drop(patch_id)
        except StoreError as error:
            _log.warning("a patch that was not made could not be forgotten: %s", error)

    async def resolve(
        self, patch_id: str, accept: Collection[str] | Literal["all"], reject: Sequence[Rejection], by: str
    ) -> Settled:
        """See ``Session.resolve``. Raises NoPatch for one that is not open."""
        async with self._resolving:
            kept = self._store.patches.find(patch_id)
            if kept is None or kept.session_id != self.session_id:
                raise NoPatch("this patch is not open: marvin/session/load shows those that are")
            objects = self._checkpoints(Path(kept.root)).objects
            settled = await KeptPatch(kept, self._permitting(kept), objects).resolve(accept, reject, by)
            if event := settled.event:
                self._store.patches.decide(patch_id, event.kept, [each.hunk_id for each in event.rejected])
            return settled

    def undone(self, turn_id: str, paths: Collection[str]) -> list[PatchResolved]:
        """What the turn did to the files at ``paths`` was undone, so that nothing of it is to be reviewed: the events
        that say so."""
        gone = self._store.patches.undone(self.session_id, turn_id, paths)
        return [PatchResolved(name, (), tuple(map(Rejection, hunks)), "undo") for name, hunks in gone.items()]

    def contents(self, root: str) -> set[str]:
        """The contents beneath ``root`` that the reviews of any session may need, by their ids."""
        return self._store.patches.contents(root, days=KEPT_DAYS)

    async def recover(self) -> None:
        """Let patches in the middle of which a process was killed be reviewed, as far as they were made."""
        for planned in self._store.patches.left(self.session_id):
            is_made = await asyncio.to_thread(self._made_of, planned)
            pairs = [pair for pair, made in zip(planned.parts, is_made, strict=True) if made]
            edits, files = tuple(edit for edit, _ in pairs), tuple(file for _, file in pairs)
            names = tuple(hunk.id for edit in edits for hunk in edit.hunks)
            if names:
                patch = replace(planned.patch, edits=edits)
                await self._put(replace(planned, patch=patch, files=files, open=names), is_made=True)
            else:
                self._store.patches.drop(planned.patch.id)

    def _made_of(self, planned: OpenPatch) -> list[bool]:
        """Whether each edit of it may have been made."""
        workspace, objects = self._permitting(planned), self._checkpoints(Path(planned.root)).objects
        files = KeptFiles(workspace.root, workspace.open_files, objects)

        def is_made(file: KeptFile | None) -> bool:
            try:
                return file is None or not files.is_untouched(file)
            except (CheckpointError, ToolError):
                return True

        try:
            return [is_made(file) for file in planned.files]
        finally:
            objects.close()

    def _permitting(self, kept: OpenPatch) -> Workspace:
        """The workspace of the patch, with leave to take it back: the leave to make it was given."""
        view = self._workspace(Path(kept.root))
        for edit, file in kept.parts:
            places = {edit.path, edit.new_path or edit.path, *((file.path, file.new_path) if file else ())}
            for place in places:
                view = view.permitting(place)
        return view

    async def _put(self, patch: OpenPatch, *, is_made: bool) -> None:
        if patch.size <= _LARGE:
            self._store.patches.put(patch, is_made=is_made)
            return

        def beside() -> None:
            with self._store.beside() as store:
                store.patches.put(patch, is_made=is_made)

        await asyncio.to_thread(beside)
