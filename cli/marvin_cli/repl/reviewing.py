"""Puts changes before the person hunk by hunk, and carries out what they say of each at once."""

import asyncio
from collections.abc import Iterator

from msgspec.structs import replace

from marvin_cli.repl.conversation import Conversation
from marvin_cli.view.base import Verdict, View
from marvin_server.errors import MarvinError
from marvin_server.events import Patch, Rejection
from marvin_server.sanitise import one_line
from marvin_server.session.reviews import Resolution

_LATER = "Not decided: it stays as it is until you go on with /review"
_STALE = "its lines are not there any more, or are there more than once"


class Reviewing:
    """One patch is reviewed at a time."""

    def __init__(self, view: View, conversation: Conversation) -> None:
        self._view = view
        self._conversation = conversation
        self._one_by_one = asyncio.Lock()
        self._reviews: set[asyncio.Task[bool]] = set()
        self._asked: tuple[str, asyncio.Task[Verdict]] | None = None

    @property
    def pending(self) -> tuple[Patch, ...]:
        """The patches of the session with hunks that nobody has decided on, with these alone, the oldest first."""
        return self._conversation.session.patches.pending

    def put(self, patch: Patch) -> None:
        """Have this reviewed."""
        task = asyncio.create_task(self._one(patch))
        self._reviews.add(task)
        task.add_done_callback(self._reviews.discard)

    def settle(self, patch_id: str) -> None:
        """Hunks of this patch are decided on; where it has no others, it is asked about no more."""
        if self._asked is not None and self._asked[0] == patch_id and not self._is_open(patch_id):
            self._asked[1].cancel()

    async def all(self) -> None:
        """Have all reviewed that is pending, until the person wants no more of it."""
        for patch in self.pending:
            if not await self._one(patch):
                return

    async def end(self) -> None:
        """Ask no more; what is not decided stays."""
        for task in self._reviews:
            task.cancel()
        if self._reviews:
            await asyncio.wait(self._reviews)

    def _is_open(self, patch_id: str) -> bool:
        return any(patch.id == patch_id and _hunks(patch) for patch in self.pending)

    async def _one(self, patch: Patch) -> bool:
        """Have ``patch`` reviewed; False when the person does not want to go on."""
        async with self._one_by_one:
            parts = list(_parts(patch))
            for number, part in enumerate(parts, 1):
                verdict = await self._verdict(part, number, len(parts))
                if verdict is None:
                    return True
                if verdict.ruling == "later":
                    self._view.say(_LATER, "note")
                    return False
                is_for_rest = verdict.ruling.endswith("_all")
                named = [name for each in (parts[number - 1 :] if is_for_rest else [part]) for name in _hunks(each)]
                if not await self._carry_out(patch.id, named, verdict) or is_for_rest:
                    return True
            return True

    async def _verdict(self, part: Patch, number: int, count: int) -> Verdict | None:
        """What the person says of a part; None where others were faster."""
        asked = asyncio.create_task(self._view.review(part, number, count))
        self._asked = part.id, asked
        try:
            await asyncio.wait({asked})
            return None if asked.cancelled() else asked.result()
        finally:
            self._asked = None
            asked.cancel()

    async def _carry_out(self, patch_id: str, names: list[str], verdict: Verdict) -> bool:
        """Do what was said of these hunks, or of a patch that has none; False where it cannot be."""
        session = self._conversation.session
        try:
            if verdict.ruling.startswith("keep"):
                done = await session.resolve(patch_id, names or "all")
            else:
                done = await session.resolve(patch_id, (), [Rejection(name, verdict.reason) for name in names])
        except MarvinError as error:
            self._view.say(one_line(str(error)), "error")
            return False
        self._tell(done)
        return True

    def _tell(self, done: Resolution) -> None:
        for reason in dict.fromkeys(failed.reason for failed in done.failed):
            said = _STALE if reason == "stale" else reason
            self._view.say(f"the change is left as it is: {one_line(said)}", "warning")


def _parts(patch: Patch) -> Iterator[Patch]:
    """The patch hunk by hunk; what has no hunks, such as a file that is only moved, goes with the first."""
    bare = [edit for edit in patch.edits if not edit.hunks]
    hunks = [replace(edit, hunks=(hunk,)) for edit in patch.edits for hunk in edit.hunks]
    first, *others = [(each,) for each in hunks] or [()]
    yield replace(patch, edits=(*first, *bare))
    yield from (replace(patch, edits=each) for each in others)


def _hunks(patch: Patch) -> list[str]:
    return [hunk.id for edit in patch.edits for hunk in edit.hunks]
