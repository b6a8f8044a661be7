"""A patch that waits for the person's word on each of its hunks before anything is changed."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from typing import Literal

from msgspec import Struct

from marvin_server.errors import PatchSettled
from marvin_server.events import Patch, PatchResolved, Rejection


class FailedHunk(Struct, frozen=True):
    """A hunk for which it was not done as asked. ``reason`` is ``stale`` where its lines are not there any more, or
    are there more than once; else it says in a sentence what stood against it."""

    hunk_id: str
    reason: str


class Resolution(Struct, frozen=True):
    """``applied`` are the ids of the hunks for which it is done as asked: kept, or taken back."""

    applied: tuple[str, ...]
    failed: tuple[FailedHunk, ...] = ()


class Settled(Struct, frozen=True):
    """A resolution, the event that shows it, and what the model has to know of it; None when there is nothing."""

    resolution: Resolution
    event: PatchResolved | None = None
    told: str | None = None


class Decisions:
    """What the person has said of hunks: which are ``kept``, which ``rejected`` and which, of ``ids`` at first, are
    ``open``."""

    def __init__(self, ids: Collection[str], rejected: Sequence[Rejection] = ()) -> None:
        self.open = list(ids)
        self.kept: list[str] = []
        self.rejected = list(rejected)

    def split(
        self, accept: Collection[str] | Literal["all"], reject: Sequence[Rejection]
    ) -> tuple[list[str], list[Rejection], list[FailedHunk]]:
        """The open hunks that are to be kept and those that are not, and those that are not open. One that is named on
        both sides is not kept."""
        wanted = {each.hunk_id: each for each in reject}
        named = self.open if accept == "all" else accept
        kept = [name for name in dict.fromkeys(named) if name not in wanted]
        unknown = [
            FailedHunk(name, "it is no open hunk of this patch") for name in (*kept, *wanted) if not self._has(name)
        ]
        return list(filter(self._has, kept)), [each for name, each in wanted.items() if self._has(name)], unknown

    def settle(self, kept: Collection[str], rejected: Sequence[Rejection]) -> None:
        """Keep what was decided."""
        self.kept += kept
        self.rejected += rejected
        decided = {*kept, *(each.hunk_id for each in rejected)}
        self.open = [name for name in self.open if name not in decided]

    def reject_rest(self, reason: str | None) -> None:
        """Keep nothing: what is open, and what was kept, is rejected."""
        self.rejected += [Rejection(name, reason) for name in (*self.kept, *self.open)]
        self.kept, self.open = [], []

    def _has(self, name: str) -> bool:
        return name in self.open


class Review:
    """The review of ``patch``. A part of it that has no hunks goes with the rest; a patch without any hunk is wanted
    when "all" is accepted."""

    def __init__(self, patch: Patch) -> None:
        self.patch = patch
        self.by = "cancelled"
        self._decisions = Decisions([hunk.id for edit in patch.edits for hunk in edit.hunks])
        self._decided = asyncio.Event()
        self._outcome: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        self._wanted = False
        self._is_over = False

    @property
    def pending(self) -> list[str]:
        """The hunks that nobody has decided on."""
        return self._decisions.open

    @property
    def kept(self) -> Collection[str]:
        return self._decisions.kept

    @property
    def rejected(self) -> Sequence[Rejection]:
        return self._decisions.rejected

    @property
    def is_wanted(self) -> bool:
        """Whether anything is to be done."""
        return bool(self._decisions.kept) or self._wanted

    async def decided(self) -> None:
        """Wait until each hunk is decided on; when this is cancelled, nothing is wanted."""
        try:
            await self._decided.wait()
        finally:
            self._is_over = True
            if not self._decided.is_set():
                self._decisions.reject_rest(None)
                self.finish("the call was cancelled; nothing was changed")

    def reject(self, by: str) -> None:
        """Let nothing of it be wanted, whatever was accepted so far; ``by`` says why. A review that ``decided`` has
        given out stays as it is."""
        if not self._is_over:
            self._decisions.reject_rest(by)
            self.by = by
            self._wanted = False
            self._decided.set()

    def finish(self, problem: str | None = None) -> None:
        """Tell whoever decided last how it went: ``problem`` says why nothing was changed."""
        if not self._outcome.done():
            self._outcome.set_result(problem)

    async def settle(
        self, accept: Collection[str] | Literal["all"], reject: Sequence[Rejection], by: str
    ) -> Resolution:
        """Take a decision. The last one waits until it is carried out; any after it raises ``PatchSettled``."""
        if self._decided.is_set():
            raise PatchSettled("every hunk of this patch is decided on already")
        kept, rejected, failed = self._decisions.split(accept, reject)
        self._decisions.settle(kept, rejected)
        names = (*kept, *(each.hunk_id for each in rejected))
        if self._decisions.open:
            return Resolution(names, tuple(failed))
        self._wanted = accept == "all" and not self._decisions.rejected
        self.by = by
        self._decided.set()
        problem = await self._outcome
        if problem is None:
            return Resolution(names, tuple(failed))
        done = tuple(each.hunk_id for each in rejected)
        return Resolution(done, (*failed, *(FailedHunk(name, problem) for name in kept)))

    def resolved(self) -> PatchResolved:
        """What was decided, as an event."""
        return PatchResolved(self.patch.id, tuple(self.kept), tuple(self.rejected), self.by)


def reasons(rejected: Sequence[Rejection], shown: Mapping[str, str]) -> tuple[str, ...]:
    """Lines for the model on the hunks that the person does not want; ``shown`` has each as a diff."""
    return tuple(
        f"{shown[each.hunk_id]}" + (f"Reason: {each.reason}" if each.reason else "No reason was given.")
        for each in rejected
    )
