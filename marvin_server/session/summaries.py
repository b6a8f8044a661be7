"""The summaries that stand for what was said in a session: made, shown before they hold, and taken back."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from marvin_server.errors import UsageError
from marvin_server.events import Compacted, Event
from marvin_server.messages import Message
from marvin_server.session.history import History
from marvin_server.workspace.undisturbed import regardless, undisturbed

if TYPE_CHECKING:
    from marvin_server.agent.compactor import Compactor
    from marvin_server.session.backups import Backups

_LONGER = "nothing would be gained: a summary would be no shorter than what it stands for"
_NOTHING = "there is nothing to summarise: the latest messages stay as they are"


class Summaries:
    """Those of the session with this ``history``, which ``compactor`` makes and ``publish`` tells of. ``backups`` keeps
    in files what goes out of view."""

    def __init__(
        self, history: History, compactor: "Compactor", backups: "Backups", publish: Callable[[Event], None]
    ) -> None:
        self._history = history
        self._compactor = compactor
        self._backups = backups
        self._publish = publish
        # What was made and does not hold yet, for which focus and which messages.
        self._made: tuple[str, Sequence[str], Compacted] | None = None

    async def compact(self, focus: str, *, preview: bool) -> Compacted:
        """See ``Session.compact``."""
        messages = await self._history.messages()
        said = (focus, [message.id for message in messages])
        if self._made is not None and self._made[:2] == said:
            compacted: Compacted | None = self._compactor.up_to_date(self._made[2])
        else:
            compacted = await self._compactor.compact(messages, "person", focus)
        if compacted is None:
            raise UsageError(_LONGER if self._compactor.older(messages) else _NOTHING)
        self._made = (*said, compacted)
        if not preview:
            await regardless(self.apply(compacted))
            self._made = None
        return compacted

    async def older(self) -> Sequence[Message]:
        """See ``Session.older``."""
        older = self._compactor.older(await self._history.messages())
        if not older:
            raise UsageError(_NOTHING)
        return older

    async def take_back(self) -> Compacted:
        """See ``Session.take_back_summary``."""
        before, then = await self._history.compacted_before()
        now = await self._history.messages()
        compacted = self._compactor.taken_back(before.compaction if before else None, now, then)
        self._history.take_back(compacted, before, then)
        self._publish(compacted)
        return compacted

    async def apply(self, compacted: Compacted) -> None:
        """Have the summary hold; it is on disk before anybody is told."""
        gone = self._history.compact(compacted)
        self._compactor.budget.restart(gone)
        self._publish(compacted)
        await undisturbed(self._backups.keep(gone, compacted))
