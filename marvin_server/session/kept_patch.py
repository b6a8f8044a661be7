"""A patch that was made and is open for review: its hunks are kept, or taken back in the documents as they are now."""

from collections.abc import Collection, Sequence
from typing import Literal

from msgspec import Struct

from marvin_server.edits.hunks import FileChange
from marvin_server.edits.lines import like
from marvin_server.edits.taking_out import taken_out
from marvin_server.errors import ToolError
from marvin_server.events import Hunk, Patch, PatchResolved, Rejection
from marvin_server.session.patch_events import diffs
from marvin_server.session.reviews import Decisions, FailedHunk, Resolution, reasons
from marvin_server.workspace.changes import Change
from marvin_server.workspace.documents import Document
from marvin_server.workspace.workspace import Workspace

STALE = "stale"


class _Becomes(Struct, frozen=True):
    """A document as it is (None: there is none) and the text that it is to get (None: it goes)."""

    document: Document | None
    text: str | None


class KeptPatch:
    """``patch``, which a turn has made in ``workspace`` by ``changes``."""

    def __init__(self, patch: Patch, turn_id: str, workspace: Workspace, changes: Sequence[FileChange]) -> None:
        self.patch = patch
        self.turn_id = turn_id
        self._workspace = workspace
        self._diffs = diffs(changes)
        self._places: dict[str, tuple[FileChange, Hunk]] = {
            hunk.id: (change, hunk) for change in changes for hunk in change.hunks
        }
        self._decisions = Decisions(self._places)

    @property
    def pending(self) -> list[str]:
        """The hunks that nobody has decided on."""
        return self._decisions.open

    async def resolve(
        self, accept: Collection[str] | Literal["all"], reject: Sequence[Rejection], by: str
    ) -> tuple[Resolution, PatchResolved | None, str | None]:
        """Keep hunks, and take others back: with the event that shows it, and what the model has to know."""
        kept, unwanted, failed = self._decisions.split(accept, reject)
        rejected, stale = await self._taken_out(unwanted)
        self._decisions.settle(kept, rejected)
        names = (*kept, *(each.hunk_id for each in rejected))
        event = PatchResolved(self.patch.id, tuple(kept), tuple(rejected), by) if names else None
        return Resolution(names, (*failed, *stale)), event, self._told(rejected)

    def undone(self, paths: Collection[str]) -> PatchResolved | None:
        """The hunks in the files at ``paths`` are not there any more: the event that says so, if there were any."""
        gone = [Rejection(name) for name in self.pending if _place(self._places[name][0]) in paths]
        self._decisions.settle((), gone)
        return PatchResolved(self.patch.id, (), tuple(gone), "undo") if gone else None

    async def _taken_out(self, unwanted: Sequence[Rejection]) -> tuple[list[Rejection], list[FailedHunk]]:
        """Those of ``unwanted`` that were taken back, all as one undo step, and those that could not be."""
        becoming: dict[str, _Becomes] = {}
        done: list[Rejection] = []
        failed: list[FailedHunk] = []
        for rejection in unwanted:
            change, hunk = self._places[rejection.hunk_id]
            path = _place(change)
            becomes = self._without(change, hunk, becoming.get(path))
            if becomes is None:
                failed.append(FailedHunk(rejection.hunk_id, STALE))
            else:
                becoming[path] = becomes
                done.append(rejection)
        changes = [
            Change(path, each.document, each.text)
            for path, each in becoming.items()
            if each.document is None or each.text != each.document.text
        ]
        try:
            await self._workspace.change(f"Marvin: take back {self.patch.title}", changes)
        except ToolError as error:
            return [], [*failed, *(FailedHunk(rejection.hunk_id, str(error)) for rejection in done)]
        return done, failed

    def _without(self, change: FileChange, hunk: Hunk, becoming: _Becomes | None) -> _Becomes | None:
        """The document without ``hunk``, on top of what is taken back already; None where that is not clear."""
        path = str(self._workspace.root.path / _place(change))
        try:
            is_there = self._workspace.exists(path)
            if change.new is None:
                return None if is_there else _Becomes(None, change.old)
            if not is_there:
                return None
            document = becoming.document if becoming else self._workspace.read(path)
        except ToolError:
            return None
        if document is None:
            return None
        now = becoming.text if becoming else document.text
        made = like(change.new, document.text)
        if change.old is None:
            return _Becomes(document, None) if now == made else None
        text = None if now is None else taken_out(_like(hunk, document.text), made, now)
        return None if text is None else _Becomes(document, text)

    def _told(self, rejected: Sequence[Rejection]) -> str | None:
        if not rejected:
            return None
        what = (
            f"[Marvin: the person took back parts of your change {self.patch.title!r}, which are as they were before:"
        )
        return "\n".join([what, *reasons(rejected, self._diffs)]) + "]"


def _place(change: FileChange) -> str:
    """Where the file of ``change`` is after it."""
    return change.move_to or change.path


def _like(hunk: Hunk, text: str) -> Hunk:
    old, new = (tuple(like(line, text) for line in side) for side in (hunk.old_lines, hunk.new_lines))
    return Hunk(hunk.id, hunk.old_start, old, hunk.new_start, new)
