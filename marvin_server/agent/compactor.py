"""Makes a conversation smaller when it has become too long for the model: with a summary of a model's, or without."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from marvin_server.agent.budget import Budget
from marvin_server.errors import MarvinError, StoreError
from marvin_server.events import Compacted, Why
from marvin_server.messages import Message, new_id
from marvin_server.providers.base import ModelRequest

if TYPE_CHECKING:
    from marvin_server.agent.fitting import Abilities

_SECONDS = 180.0
# Of the threshold, what the messages that stay may take at most; of the window, what must go for it to be worth while.
_TAIL, _WORTH = 2, 16
# Characters of a summary, and of each prompt that is put back; fewer for a model that reads little.
_LONGEST, _WORDS = 24_000, 4_000
_FOCUS = 500  # characters of what the model wants to be kept in view


def applied(messages: Sequence[Message], compaction: Compacted) -> list[Message]:
    """``messages`` as they are in view after ``compaction``."""
    kept = next((n for n, message in enumerate(messages) if message.id == compaction.keeps), len(messages))
    return [*filter(None, [compaction.message]), *messages[kept:]]


class Compactor:
    """For one session, with its ``budget``.

    ``ask`` puts a request, made for so many tokens of text, to the model that writes summaries; it gives None where
    there is no model, and raises ``MarvinError``. ``edits`` gives the names of the tools that change files, and
    ``standing`` lines on what waits for the person.
    """

    def __init__(
        self,
        budget: Budget,
        ask: Callable[[Callable[[int], ModelRequest]], Awaitable[Message | None]],
        edits: Callable[[], Collection[str]],
        standing: Callable[[], Sequence[str]],
    ) -> None:
        self.budget = budget
        self._ask = ask
        self._edits = edits
        self._standing = standing
        self._wanted: str | None = None
        self._overflowed = False
        # The last of the messages of which a summary was no shorter.
        self._in_vain = ""

    def want(self, focus: str) -> None:
        """Have the conversation made smaller before the next request, as the model has asked."""
        self._wanted = focus[:_FOCUS]

    def overflowed(self) -> None:
        """Take note that the vendor has refused the latest request as too long for its model."""
        self.budget.overflowed()
        self._overflowed = True

    def due(self, request: ModelRequest, model: str, abilities: "Abilities") -> Why | None:
        """Why the conversation is to become smaller before this request goes to ``model``; None where it need not, or
        cannot."""
        self.budget.measure(request, model, abilities.context, abilities.output)
        is_full = self.budget.used > self.budget.window.compact
        if not (is_full or self._overflowed or self._wanted is not None):
            return None
        gone = self.older(request.history)
        if not gone or gone[-1].id == self._in_vain:
            self._wanted, self._overflowed = None, False
            return None
        if self._overflowed:
            return "overflow"
        if self._wanted is not None:
            return "model"
        return "budget" if self._tokens(gone) * _WORTH >= self.budget.window.usable else None

    def announcement(self, why: Why, model: str) -> str:
        """What is about to happen, for a person."""
        match why:
            case "overflow":
                return f"{model} cannot read a conversation of this length: what is older is summarised"
            case "model":
                return f"{model} has asked for it: what is older of the conversation is summarised"
            case _:
                size = f"{self.budget.used:,} of {self.budget.window.context:,} tokens"
                return f"the conversation takes about {size}: what is older is summarised"

    async def compact(self, messages: Sequence[Message], reason: Why, focus: str = "") -> Compacted | None:
        """How ``messages`` become smaller; ``focus`` is what is to be kept in view. None where nothing can go, or
        nothing would be gained. It takes as long as a model does, 3 minutes at most. Raises ``StoreError``."""
        from marvin_server.agent import compaction

        wanted, self._wanted, self._overflowed = self._wanted, None, False
        gone = self.older(messages)
        if not gone:
            return None
        kept = messages[len(gone) :]
        body, by, note = await self._summary(gone, focus or wanted or "", by_person=bool(focus))
        message = compaction.standing_for(
            gone,
            kept,
            body,
            f"written by {by}" if by else "made without a model",
            edits=self._edits(),
            standing=self._standing(),
            words=min(_WORDS, self.budget.window.usable // 8),
            message_id=new_id(),
        )
        before, after = self._tokens(messages), self._tokens((message, *kept))
        if after >= before:
            self._in_vain = gone[-1].id
            return None
        keeps = kept[0].id if kept else None
        return Compacted(message.id, message, len(gone), keeps, before, after, reason, by, note)

    def older(self, messages: Sequence[Message]) -> Sequence[Message]:
        """Those of ``messages`` for which a summary would stand; none where that would be an earlier summary alone."""
        from marvin_server.agent.compaction import first_kept, is_summary

        most = self.budget.window.compact // _TAIL
        gone = messages[: first_kept(messages, lambda message: self._tokens([message]), most)]
        return () if all(map(is_summary, gone)) else gone

    def up_to_date(self, compaction: Compacted) -> Compacted:
        """``compaction``, which was made a while ago; another one where something else waits for the person by now."""
        from marvin_server.agent.compaction import with_standing

        before = compaction.message
        if before is None or (message := with_standing(before, self._standing())) == before:
            return compaction
        message = replace(message, id=new_id())
        after = compaction.tokens_after + self._tokens([message]) - self._tokens([before])
        return replace(compaction, id=message.id, message=message, tokens_after=after)

    def taken_back(self, before: Compacted | None, now: Sequence[Message], then: Sequence[Message]) -> Compacted:
        """What says that ``before`` holds again: the messages ``now`` in view give way to those of ``then``."""
        message, keeps = (before.message, before.keeps) if before else (None, None)
        replaced = before.replaced if before else 0
        return Compacted(new_id(), message, replaced, keeps, self._tokens(now), self._tokens(then), "undo")

    def _tokens(self, messages: Sequence[Message]) -> int:
        return self.budget.corrected(sum(map(self.budget.tokens, messages)))

    async def _summary(
        self, gone: Sequence[Message], focus: str, *, by_person: bool
    ) -> tuple[str, str | None, str | None]:
        """The summary, the model that wrote it, and why none did where it was to."""
        from marvin_server.agent import compaction, summary

        try:
            async with asyncio.timeout(_SECONDS):
                answer = await self._ask(lambda most: summary.request(gone, focus, most, by_person=by_person))
        except StoreError:
            raise  # A summary could not be kept either.
        except TimeoutError:
            note = f"it took longer than {_SECONDS:g} s"
        except MarvinError as error:
            logging.getLogger("marvin.agent").warning("no model has written a summary: %s", error)
            note = str(error)
        else:
            # Some servers leave a model's thoughts in its text.
            written = answer.text.rpartition("</think>")[2].strip() if answer else ""
            if answer and written:
                longest = min(_LONGEST, self.budget.window.usable // 2)
                return compaction.clipped(written, longest), answer.model, None
            note = "the model said nothing" if answer else None
        return compaction.deterministic(gone, self._edits()), None, note
