"""A patch that was made and is open for review: its hunks are kept, or taken back in the documents as they are now."""

import asyncio
from collections.abc import Collection, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from marvin_server.edits.lines import like
from marvin_server.edits.taking_out import taken_out
from marvin_server.errors import CheckpointError, ToolError
from marvin_server.events import Edit, Hunk, PatchResolved, Rejection
from marvin_server.session.kept_file import KeptFile
from marvin_server.session.open_patches import OpenPatch
from marvin_server.session.patch_events import diffs
from marvin_server.session.reviews import Decisions, FailedHunk, Resolution, Settled, reasons
from marvin_server.workspace.changes import Change
from marvin_server.workspace.checkpoint_files import Found, put
from marvin_server.workspace.checkpoint_objects import Objects
from marvin_server.workspace.checkpoint_texts import text_of
from marvin_server.workspace.documents import Document
from marvin_server.workspace.names import printable
from marvin_server.workspace.workspace import Workspace

STALE = "stale"
_NOT_KEPT = "how the file was could not be kept"


class _Part(Struct, frozen=True):
    """What the patch has made of one file, without the text: ``path`` is where it is now, ``kept`` has the rest."""

    path: str
    was_at: str
    is_new: bool
    is_gone: bool
    executable: bool | None
    hunks: tuple[Hunk, ...]
    kept: KeptFile | None


class _Taken(Struct, frozen=True):
    """How the hunks that ``rejections`` name are taken out of one part: by a ``change``, or by bringing the file back
    that is gone; neither where they are not there any more."""

    part: _Part
    rejections: list[Rejection]
    change: Change | None = None
    brings_back: bool = False


class KeptPatch:
    """``kept``, which a turn has made in ``workspace``; ``objects`` have its files."""

    def __init__(self, kept: OpenPatch, workspace: Workspace, objects: Objects) -> None:
        self.patch = kept.patch
        self._workspace = workspace
        self._objects = objects
        self._diffs = diffs([replace(edit, path=edit.new_path or edit.path) for edit in kept.patch.edits])
        parts = [_part(edit, file) for edit, file in kept.parts]
        self._parts = {hunk.id: part for part in parts for hunk in part.hunks}
        self._decisions = Decisions(kept.open, [Rejection(name) for name in kept.rejected])

    async def resolve(self, accept: Collection[str] | Literal["all"], reject: Sequence[Rejection], by: str) -> Settled:
        """Keep hunks, and take others back: with the event that shows it, and what the model has to know."""
        kept, unwanted, failed = self._decisions.split(accept, reject)
        self._decisions.settle(kept, ())
        taken, stale = await self._taken_out(unwanted)
        rejected = [rejection for each in taken for rejection in each.rejections]
        self._decisions.settle((), rejected)
        names = (*kept, *(each.hunk_id for each in rejected))
        event = PatchResolved(self.patch.id, tuple(kept), tuple(rejected), by) if names else None
        return Settled(Resolution(names, (*failed, *stale)), event, self._told(taken))

    async def _taken_out(self, unwanted: Sequence[Rejection]) -> tuple[list[_Taken], list[FailedHunk]]:
        """What was taken back of ``unwanted``, the edits as one undo step, and those that could not be."""
        found: list[_Taken] = []
        failed: list[FailedHunk] = []
        by_part: dict[str, list[Rejection]] = {}
        for rejection in unwanted:
            by_part.setdefault(self._parts[rejection.hunk_id].path, []).append(rejection)
        for rejections in by_part.values():
            try:
                taken = await self._planned(self._parts[rejections[0].hunk_id], rejections)
            except (ToolError, CheckpointError) as error:
                failed += _failed(rejections, str(error))
                continue
            found.append(taken)
            failed += _failed([each for each in rejections if each not in taken.rejections], STALE)
        changes = [each.change for each in found if each.change]
        try:
            await self._workspace.change(f"Marvin: take back {self.patch.title}", changes)
        except ToolError as error:
            failed += [each for taken in found if taken.change for each in _failed(taken.rejections, str(error))]
            found = [taken for taken in found if taken.change is None]
        for taken in [each for each in found if each.brings_back]:
            try:
                await asyncio.to_thread(self._bring_back, taken.part)
            except (ToolError, CheckpointError) as error:
                failed += _failed(taken.rejections, str(error))
                found.remove(taken)
        if any(each.brings_back for each in found):
            await self._workspace.reconcile()
        await asyncio.to_thread(self._objects.close)
        return found, failed

    async def _planned(self, part: _Part, rejections: Sequence[Rejection]) -> _Taken:
        """How as many of the hunks as are found again are taken back. Raises ToolError and CheckpointError."""
        path, kept = str(self._workspace.root.path / part.path), part.kept
        if kept is None:
            raise ToolError(_NOT_KEPT)
        is_there = self._workspace.exists(path)
        if is_there is part.is_gone:
            return _Taken(part, [])
        if kept.after is None:
            return _Taken(part, [*rejections], brings_back=True)
        document = self._workspace.read(path)
        made = like(await asyncio.to_thread(self._text, kept.after.id), document.text)
        if part.is_new:
            is_same = document.text == made
            return _Taken(part, [*rejections], Change(part.path, document, None)) if is_same else _Taken(part, [])
        text, done = document.text, list[Rejection]()
        for rejection in rejections:
            [hunk] = (_like(hunk, document.text) for hunk in part.hunks if hunk.id == rejection.hunk_id)
            without = taken_out(hunk, made, text)
            if without is not None:
                text = without
                done.append(rejection)
        return _Taken(part, done, self._change(part, document, text, done))

    def _change(self, part: _Part, document: Document, text: str, done: Sequence[Rejection]) -> Change | None:
        """What makes ``text`` of the document; once all hunks of the part are rejected, also what undoes the rest."""
        rejected = {each.hunk_id for each in (*self._decisions.rejected, *done)}
        if any(hunk.id not in rejected for hunk in part.hunks):
            return Change(part.path, document, text) if text != document.text else None
        before = part.kept and part.kept.before
        was_executable = None if before is None or part.executable is None else bool(before.mode & 0o100)
        move_to = part.was_at if part.was_at != part.path else None
        if text == document.text and move_to is None and was_executable is None:
            return None
        return Change(part.path, document, text, move_to, was_executable)

    def _bring_back(self, part: _Part) -> None:
        """Put the file that is gone in its place, byte for byte. Raises ToolError and CheckpointError."""
        if part.kept is not None:
            put(self._workspace.root, part.kept.path, Found(), part.kept.before, self._objects)

    def _text(self, blob: str) -> str:
        return text_of(self._objects.content(blob), self.patch.title)

    def _told(self, taken: Sequence[_Taken]) -> str | None:
        rejected = [rejection for each in taken for rejection in each.rejections]
        if not rejected:
            return None
        what = (
            f"[Marvin: the person took back parts of your change {self.patch.title!r}, which are as they were before:"
        )
        moved = [
            f"{printable(each.part.path)} is {printable(each.part.was_at)} again."
            for each in taken
            if each.change and each.change.move_to
        ]
        return "\n".join([what, *reasons(rejected, self._diffs), *moved]) + "]"


def _part(edit: Edit, kept: KeptFile | None) -> _Part:
    is_new, is_gone = edit.kind == "add", edit.kind == "delete"
    return _Part(edit.new_path or edit.path, edit.path, is_new, is_gone, edit.executable, edit.hunks, kept)


def _failed(rejections: Sequence[Rejection], reason: str) -> list[FailedHunk]:
    return [FailedHunk(each.hunk_id, reason) for each in rejections]


def _like(hunk: Hunk, text: str) -> Hunk:
    old, new = (tuple(like(line, text) for line in side) for side in (hunk.old_lines, hunk.new_lines))
    return Hunk(hunk.id, hunk.old_start, old, hunk.new_start, new)
