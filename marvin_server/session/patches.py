"""The patches of a session: put before the person, made, kept for review, and taken back hunk by hunk."""

import asyncio
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from marvin_server.edits.hunks import FileChange, keep, whole
from marvin_server.edits.lines import like
from marvin_server.edits.merge import merge
from marvin_server.errors import NoPatch, PatchSettled, Rejected, ToolError
from marvin_server.events import Event, Patch, PatchApplied, PatchProposed, PatchResolved, Rejection
from marvin_server.messages import new_id
from marvin_server.session.kept_patch import KeptPatch
from marvin_server.session.patch_events import as_made, diffs, patch_of
from marvin_server.session.patch_step import PatchStep
from marvin_server.session.reviews import Resolution, Review, reasons
from marvin_server.tools.base import Applied
from marvin_server.workspace.changes import Change
from marvin_server.workspace.checkpoint_objects import Objects
from marvin_server.workspace.documents import Document
from marvin_server.workspace.names import printable
from marvin_server.workspace.undisturbed import Stoppable, undisturbed
from marvin_server.workspace.workspace import Workspace

_MOST_KEPT = 200
_LARGEST_KEPT = 20_000_000  # characters, of all that are kept together


class EditingCall(Struct, frozen=True):
    """A tool call that may make patches. Each is made within ``patch``, which keeps in ``objects`` what it makes of the
    files."""

    id: str
    title: str
    turn_id: str
    emit: Callable[[Event], None]
    patch: Callable[[], AbstractAsyncContextManager[PatchStep]]
    objects: Objects


class Settled(Struct, frozen=True):
    """A resolution, the event that shows it, and what the model has to know of it; None when there is nothing."""

    resolution: Resolution
    event: PatchResolved | None = None
    told: str | None = None


class Patches:
    """The patches of one session, for as long as it is open; the ``tools.base.Patches`` of its tools.

    Where a person ``can_review`` them, patches that were made wait for the review, and while ``reviews_first`` says so
    each waits before it is made. ``shown`` is how a line may be seen in an event.
    """

    def __init__(self, reviews_first: Callable[[], bool], shown: Callable[[str], str], *, can_review: bool) -> None:
        self._reviews_first = reviews_first
        self._shown = shown
        self._can_review = can_review
        self._call: EditingCall | None = None
        self._reviews: dict[str, Review] = {}
        self._kept: dict[str, KeptPatch] = {}
        self._settled: set[str] = set()
        self._resolving = asyncio.Lock()

    @property
    def pending(self) -> tuple[Patch, ...]:
        """Those with hunks that nobody has decided on, the oldest first, each with these hunks only."""
        waiting = [(review.patch, review.pending) for review in self._reviews.values()]
        return tuple(
            _only(patch, ids) for patch, ids in [*((k.patch, k.pending) for k in self._kept.values()), *waiting]
        )

    @contextmanager
    def during(self, call: EditingCall) -> Generator[None]:
        """Let the patches that are applied in the block be those of ``call``; edits run one after the other."""
        self._call = call
        try:
            yield
        finally:
            self._call = None

    async def apply(
        self, workspace: Workspace, changes: Sequence[FileChange], documents: Mapping[str, Document]
    ) -> Applied:
        """See ``tools.base.Patches``."""
        call = self._call
        if call is None:
            raise ToolError("Files are changed by tools with the effect edit, and only while they run.")
        patch_id, changing = new_id(), Stoppable()
        if not self._reviews_first():
            is_reviewed = not self._can_review
            made = self._made(patch_id, call, workspace, changes, documents, changing=changing, is_reviewed=is_reviewed)
            return Applied(await undisturbed(made, changing.stop))
        review = Review(self._patch(patch_id, call, workspace, changes))
        try:
            wanted = await self._reviewed(review, call, changes)
            notes = reasons(review.rejected, diffs(changes))
            if not wanted:
                raise Rejected("\n".join(["The person rejected this change; nothing was done.", *notes]))
            now = [_as_it_is_now(workspace, change, documents.get(change.path)) for change in wanted]
            read = {change.path: document for change, document in now if document is not None}
            wanted = [change for change, _ in now]
            made = await undisturbed(
                self._made(patch_id, call, workspace, wanted, read, changing=changing, is_reviewed=True),
                changing.stop,
            )
            review.finish()
        except BaseException as error:
            review.finish(str(error) or "the call was cancelled")
            raise
        finally:
            del self._reviews[patch_id]
            self._settled.add(patch_id)
        rest = ("The person rejected these parts, which are as they were:", *notes) if notes else ()
        return Applied(made, rest)

    async def resolve(
        self, patch_id: str, accept: Collection[str] | Literal["all"], reject: Sequence[Rejection], by: str
    ) -> Settled:
        """See ``Session.resolve``."""
        if review := self._reviews.get(patch_id):
            return Settled(await review.settle(accept, reject, by))
        async with self._resolving:
            kept = self._kept.get(patch_id)
            if kept is None and patch_id in self._settled:
                raise PatchSettled("every hunk of this patch is decided on already")
            if kept is None:
                raise NoPatch("this patch is not open: marvin/session/load shows those that are")
            resolution, event, told = await kept.resolve(accept, reject, by)
            if not kept.pending:
                self._settle(patch_id)
            return Settled(resolution, event, told)

    def reject_reviews(self, by: str) -> None:
        """Let nothing be made of the patches that wait for their review; ``by`` says why."""
        for review in self._reviews.values():
            review.reject(by)

    def undone(self, turn_id: str, paths: Collection[str]) -> list[PatchResolved]:
        """Take note that what the turn did to the files at ``paths`` was undone: nothing of it is to be reviewed."""
        events: list[PatchResolved] = []
        for patch_id, kept in list(self._kept.items()):
            if kept.turn_id == turn_id and (event := kept.undone(paths)):
                events.append(event)
            if not kept.pending:
                self._settle(patch_id)
        return events

    async def _reviewed(self, review: Review, call: EditingCall, changes: Sequence[FileChange]) -> list[FileChange]:
        """What the person wants of ``changes``. A file of which all hunks are rejected stays as it is."""
        self._reviews[review.patch.id] = review
        call.emit(PatchProposed(review.patch))
        try:
            await review.decided()
        finally:
            call.emit(review.resolved())
        if not review.is_wanted:
            return []
        kept = [keep(each, review.kept) for each in changes if not each.hunks or _has_any(each, review.kept)]
        return [change for change in kept if change is not None]

    async def _made(
        self,
        patch_id: str,
        call: EditingCall,
        workspace: Workspace,
        changes: Sequence[FileChange],
        documents: Mapping[str, Document],
        *,
        changing: Stoppable,
        is_reviewed: bool,
    ) -> tuple[FileChange, ...]:
        wanted = [
            Change(change.path, documents.get(change.path), change.new, change.move_to, change.executable)
            for change in changes
        ]
        async with call.patch() as step:
            await step.begin(changes)
            try:
                done = await changing.run(workspace.change(f"Marvin: {call.title}", wanted))
            except BaseException:
                await step.failed()
                raise
            made = tuple(as_made(change, one.text) for change, one in zip(changes, done, strict=True))
            files = await step.made(made, done)
        patch = self._patch(patch_id, call, workspace, made)
        dropped: list[PatchResolved] = []
        if not is_reviewed:
            dropped = self._keep(
                KeptPatch(patch, call.turn_id, workspace, [*zip(made, files, strict=True)], call.objects)
            )
        for event in (PatchApplied(patch), *dropped):
            call.emit(event)
        return made

    def _patch(self, patch_id: str, call: EditingCall, workspace: Workspace, changes: Sequence[FileChange]) -> Patch:
        return patch_of(Patch(patch_id, call.title, (), call.id), workspace.root, changes, self._shown)

    def _keep(self, kept: KeptPatch) -> list[PatchResolved]:
        """Let the patch wait for its review. Of more, or larger ones, than may wait, the oldest count as kept: give the
        events that say so."""
        dropped: list[PatchResolved] = []
        if kept.pending:
            self._kept[kept.patch.id] = kept
        while len(self._kept) > _MOST_KEPT or sum(each.size for each in self._kept.values()) > _LARGEST_KEPT:
            oldest = next(iter(self._kept))
            dropped.append(self._kept[oldest].let_be("limit"))
            self._settle(oldest)
        return dropped

    def _settle(self, patch_id: str) -> None:
        del self._kept[patch_id]
        self._settled.add(patch_id)


def _only(patch: Patch, ids: Collection[str]) -> Patch:
    edits = (replace(edit, hunks=tuple(hunk for hunk in edit.hunks if hunk.id in ids)) for edit in patch.edits)
    return replace(patch, edits=tuple(edit for edit in edits if edit.hunks or not ids))


def _has_any(change: FileChange, ids: Collection[str]) -> bool:
    return any(hunk.id in ids for hunk in change.hunks)


def _as_it_is_now(
    workspace: Workspace, change: FileChange, document: Document | None
) -> tuple[FileChange, Document | None]:
    """``change`` for the document as it is after the review, in which the person may have written.

    Raises ToolError when that meets the change.
    """
    if document is None:
        return change, None
    now = workspace.read(str(workspace.root.path / change.path))
    if change.new is None or like(document.text, now.text) == now.text:
        return change, document
    merged = merge(like(document.text, now.text), now.text, like(change.new, now.text))
    if merged.conflicts:
        lines = ", ".join(str(conflict.line) for conflict in merged.conflicts)
        raise ToolError(
            f"{printable(change.path)}: the same lines were changed during the review (line {lines}). Read it again."
        )
    hunks = whole(change.path, now.text, merged.text)
    return replace(change, old=now.text, new=merged.text, hunks=hunks), replace(now, path=change.path)
