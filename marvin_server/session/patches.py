"""The patches of a session: put before the person, made, kept for review, and taken back hunk by hunk."""

from collections import deque
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from functools import partial
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from marvin_server.edits.hunks import FileChange, keep, whole
from marvin_server.edits.lines import like
from marvin_server.edits.merge import merge
from marvin_server.errors import NoPatch, PatchSettled, Rejected, StoreError, ToolError
from marvin_server.events import Event, Notice, Patch, PatchApplied, PatchProposed, PatchResolved, Rejection
from marvin_server.messages import new_id
from marvin_server.session.kept_file import KeptFile
from marvin_server.session.kept_patches import KeptPatches
from marvin_server.session.open_patches import OpenPatch
from marvin_server.session.patch_events import as_made, as_shown, diffs, only, patch_of
from marvin_server.session.patch_step import PatchStep
from marvin_server.session.reviews import Review, Settled, reasons
from marvin_server.tools.base import Applied
from marvin_server.workspace.changes import Change
from marvin_server.workspace.documents import Document
from marvin_server.workspace.names import printable
from marvin_server.workspace.undisturbed import Stoppable, undisturbed
from marvin_server.workspace.workspace import Workspace

_REMEMBERED = 1000


class EditingCall(Struct, frozen=True):
    """A tool call that may make patches. Each is made within ``patch``, which keeps what it makes of the files."""

    id: str
    title: str
    turn_id: str
    emit: Callable[[Event], None]
    patch: Callable[[], AbstractAsyncContextManager[PatchStep]]


class Patches:
    """The patches of one session; the ``tools.base.Patches`` of its tools.

    Where a person ``can_review`` them, patches that were made wait for the review in ``kept``, and while
    ``reviews_first`` says so each waits before it is made. ``shown`` is how a line may be seen in an event.
    """

    def __init__(
        self, kept: KeptPatches, reviews_first: Callable[[], bool], shown: Callable[[str], str], *, can_review: bool
    ) -> None:
        self.kept = kept
        self._reviews_first = reviews_first
        self._shown = shown
        self._can_review = can_review
        self._call: EditingCall | None = None
        self._reviews: dict[str, Review] = {}
        self._latest: deque[str] = deque(maxlen=_REMEMBERED)

    @property
    def pending(self) -> tuple[Patch, ...]:
        """Those with hunks that nobody has decided on, the oldest first, each with these hunks only."""
        return (*self.kept.pending, *(only(review.patch, review.pending) for review in self._reviews.values()))

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
        self._latest.append(patch_id)
        if not self._reviews_first():
            is_reviewed = not self._can_review
            made = self._made(patch_id, call, workspace, changes, documents, changing=changing, is_reviewed=is_reviewed)
            return Applied(await undisturbed(made, changing.stop))
        review = Review(as_shown(self._opened(patch_id, call, workspace, changes, ()).patch, self._shown))
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
        rest = ("The person rejected these parts, which are as they were:", *notes) if notes else ()
        return Applied(made, rest)

    async def resolve(
        self, patch_id: str, accept: Collection[str] | Literal["all"], reject: Sequence[Rejection], by: str
    ) -> Settled:
        """See ``Session.resolve``."""
        if review := self._reviews.get(patch_id):
            return Settled(await review.settle(accept, reject, by))
        try:
            settled = await self.kept.resolve(patch_id, accept, reject, by)
        except NoPatch:
            if patch_id in self._latest:
                raise PatchSettled("every hunk of this patch is decided on already") from None
            raise
        self._latest.append(patch_id)
        return settled

    def reject_reviews(self, by: str) -> None:
        """Let nothing be made of the patches that wait for their review; ``by`` says why."""
        for review in self._reviews.values():
            review.reject(by)

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
        opened = partial(self._opened, patch_id, call, workspace)
        async with call.patch() as step:
            planned = opened(changes, await step.begin(changes))
            waits = not is_reviewed and await self._plan(planned, call)
            try:
                done = await changing.run(workspace.change(f"Marvin: {call.title}", wanted))
            except BaseException:
                if waits:
                    self.kept.give_up(patch_id)
                await step.failed()
                raise
            made = tuple(as_made(change, one.text) for change, one in zip(changes, done, strict=True))
            kept = opened(made, await step.made(made, done))
        dropped = await self._keep(kept, call) if waits else []
        for event in (PatchApplied(as_shown(kept.patch, self._shown)), *dropped):
            call.emit(event)
        return made

    def _opened(
        self,
        patch_id: str,
        call: EditingCall,
        workspace: Workspace,
        changes: Sequence[FileChange],
        files: Sequence[KeptFile | None],
    ) -> OpenPatch:
        patch = patch_of(Patch(patch_id, call.title, (), call.id), workspace.root, changes)
        names = tuple(hunk.id for edit in patch.edits for hunk in edit.hunks)
        return OpenPatch(self.kept.session_id, call.turn_id, str(workspace.root.path), patch, tuple(files), names)

    async def _plan(self, planned: OpenPatch, call: EditingCall) -> bool:
        """Let the patch wait for its review once it is made; False where there is nothing to review, or it cannot
        be."""
        try:
            if planned.open:
                await self.kept.plan(planned)
        except StoreError as error:
            call.emit(Notice("warning", f"this change cannot be reviewed: {error}"))
            return False
        return bool(planned.open)

    async def _keep(self, made: OpenPatch, call: EditingCall) -> list[PatchResolved]:
        try:
            return await self.kept.keep(made)
        except StoreError as error:
            call.emit(Notice("warning", f"this change cannot be reviewed before the session is loaded again: {error}"))
            return []


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
