"""Follows the session that a terminal is in: shows what happens, asks what is asked, and says how it stands."""

import asyncio
import logging
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from itertools import takewhile
from typing import TYPE_CHECKING

from marvin_cli.repl import replay
from marvin_cli.repl.asking import Asking
from marvin_cli.repl.conversation import Conversation
from marvin_cli.repl.progress import Progress
from marvin_cli.repl.reviewing import Reviewing
from marvin_cli.view.base import Reply, View
from marvin_server.errors import MarvinError
from marvin_server.events import (
    Event,
    MessageFinished,
    Notice,
    PatchProposed,
    PatchResolved,
    PermissionRequested,
    PermissionResolved,
    TurnFinished,
    TurnStarted,
    UsageChanged,
)
from marvin_server.messages import new_id

if TYPE_CHECKING:
    from marvin_server.session.ledger import Ledger
    from marvin_server.session.subscription import Subscription

# So many of the latest messages are shown of a session that goes on.
_PAGE = 20
# Seconds between two looks at whether another process is at work in the session.
_LOOK = 0.5
_PUT_ASIDE = "what you had told the turn that was stopped is a draft now: /queue shows it"
_STOPPED_WITH = ("cancelled", "denied")


class Following:
    """``flags`` gives what else stands; ``finished`` is told each turn's end, with the text of its last answer and the
    seconds that it took."""

    def __init__(
        self,
        view: View,
        conversation: Conversation,
        flags: Callable[[], tuple[str, ...]],
        finished: Callable[[TurnFinished, str, float], None],
    ) -> None:
        self.progress = Progress()
        self.reviewing = Reviewing(view, conversation)
        self._view = view
        self._conversation = conversation
        self._flags = flags
        self._finished = finished
        self._asking = Asking(view, self._answer)
        self._answered = ""
        self._began = 0.0
        self._idle = asyncio.Event()
        self._shown: set[str] = set()
        self._tasks: list[asyncio.Task[None]] = []
        self._watching: asyncio.Task[None] | None = None

    def follow(self) -> None:
        """Follow the session that is open now."""
        self._tasks = [asyncio.create_task(self._follow(self._conversation.session.subscribe()))]
        self._unwatch()
        self._watching = asyncio.create_task(self._watch())

    def begin(self) -> None:
        """As ``follow``, and show the latest page of what was said in it."""
        self.follow()
        conversation = self._conversation
        entries = conversation.store.pages.of(conversation.session.id, _PAGE)
        latest = next((each.message for each in reversed(entries) if each.message.usage), None)
        self.progress = Progress(conversation.record.messages, latest, self._cost())
        if entries:
            hidden = self.progress.messages - len(entries)
            if hidden > 0:
                self._view.say(f"… {hidden:,} earlier messages (/export has them all)", "note")
            replay.show(self._view, entries)
        self._shown = {each.message.id for each in entries}
        if waiting := sum(len(each.open) for each in conversation.store.patches.waiting(conversation.session.id)):
            hunks = "1 hunk is" if waiting == 1 else f"{waiting} hunks are"
            self._view.say(f"{hunks} open for review: /review", "note")
        self._idle.set()
        self.stand()

    async def end(self) -> None:
        """Wait until all was shown; the session is closed."""
        self._unwatch()
        await self.reviewing.end()
        if self._tasks:
            await asyncio.wait(self._tasks)

    def submitted(self, turn_id: str, text: str, *, was_running: str | None) -> None:
        """A prompt was handed over: it began the turn, waits for its own, or steers the one that runs."""
        self._idle.clear()
        if turn_id == was_running:
            self.progress.steering.append(text)
        elif turn_id != self._conversation.session.running:
            self.progress.queued[turn_id] = text
        self.stand()

    async def until_idle(self) -> None:
        """Wait until no turn runs and none waits."""
        await self._idle.wait()

    def stand(self) -> None:
        """Say how it stands."""
        conversation, provider = self._conversation, self._conversation.choice.provider
        if self.progress.messages and self.progress.measured != provider.model:
            self.progress.measured, self.progress.context_size = provider.model, None
            self._tasks.append(asyncio.create_task(_measure(self.progress, conversation.opened.ledger)))
        settings = conversation.settings
        standing = self.progress.standing(provider.name, provider.model, settings.profile, settings.mode, self._flags())
        self._view.stand(standing)

    @contextmanager
    def working(self, command: str) -> Generator[None]:
        """Say ``command``, in a few words, while the block runs, and when it is stopped."""
        self.progress.command = command
        self.stand()
        try:
            yield
        except asyncio.CancelledError:
            self._view.say("[Cancelled]", "note")
            raise
        finally:
            self.progress.command = ""
            self.stand()

    @contextmanager
    def waiting(self, text: str) -> Generator[None]:
        """Show that what was entered waits, while the block runs."""
        queued, number = self.progress.queued, new_id()
        queued[number] = text
        self.stand()
        try:
            yield
        finally:
            queued.pop(number, None)
            self.stand()

    async def _follow(self, subscription: "Subscription") -> None:
        async for _, event in subscription:
            try:
                self._see(event)
            except Exception as error:
                logging.getLogger("marvin.cli").exception("an event could not be shown")
                self._view.say(f"internal error: {type(error).__name__} (the log has more)", "error")

    async def _watch(self) -> None:
        """Say while another process is at work in the session, and show what it has done once it has ended."""
        session_id, leases = self._conversation.session.id, self._conversation.store.leases
        while True:
            await asyncio.sleep(_LOOK)
            with suppress(MarvinError):
                was, self.progress.is_elsewhere = self.progress.is_elsewhere, leases.is_elsewhere(session_id)
                if was and not self.progress.is_elsewhere:
                    self._catch_up()
                if was != self.progress.is_elsewhere:
                    self.stand()

    def _unwatch(self) -> None:
        if self._watching is not None:
            self._watching.cancel()

    def _catch_up(self, turn_id: str | None = None) -> None:
        """Show what other processes have added to the session; the turn's own messages are to come as events."""
        conversation = self._conversation
        if not conversation.is_open:
            return
        entries = conversation.store.pages.of(conversation.session.id, _PAGE)
        theirs = [each for each in entries if each.turn_id is None or each.turn_id != turn_id]
        missed = list(takewhile(lambda each: each.message.id not in self._shown, reversed(theirs)))[::-1]
        messages = conversation.record.messages - (len(entries) - len(theirs))
        hidden = messages - self.progress.messages - len(missed)
        if hidden > 0 and len(missed) == len(theirs):
            self._view.say(f"… {hidden:,} more messages (/export has them all)", "note")
        replay.show(self._view, missed)
        self._shown.update(each.message.id for each in missed)
        self.progress.messages = messages

    def _see(self, event: Event) -> None:
        if isinstance(event, TurnFinished) and self.progress.queued.pop(event.turn_id, None) is not None:
            self._drop(event)
            return
        stands_otherwise = self.progress.see(event)
        match event:
            case TurnStarted(turn_id=turn_id):
                self.progress.is_elsewhere, stands_otherwise = False, True
                with suppress(MarvinError):
                    self._catch_up(turn_id)
                self._answered, self._began = "", time.monotonic()
            case MessageFinished(message=message):
                self._shown.add(message.id)
                if message.role == "user":
                    replay.show_prompt(self._view, message)
                    self.stand()
                    return
                self._answered = message.text or self._answered
            case PermissionRequested(permission=permission):
                self._asking.put(permission)
            case PermissionResolved(permission_id=permission_id):
                self._asking.settle(permission_id)
            case PatchResolved(patch_id=patch_id):
                self.reviewing.settle(patch_id)
            case UsageChanged():
                self.progress.cost_usd, stands_otherwise = self._cost(), True
            case _:
                pass
        self._view.show(event)
        if isinstance(event, PatchProposed):
            self.reviewing.put(event.patch)
        if isinstance(event, TurnFinished):
            self._end_turn(event)
        elif stands_otherwise:
            self.stand()

    def _drop(self, event: TurnFinished) -> None:
        """A turn has ended that never began: it was taken from the queue, or could not be stored."""
        if event.error is not None:
            self._view.say(event.error.message, "error")
        self.stand()
        self._rest()

    def _rest(self) -> None:
        if self._conversation.session.running is None and not self.progress.queued:
            self._idle.set()

    def _end_turn(self, event: TurnFinished) -> None:
        if event.stop_reason in _STOPPED_WITH and self.progress.steering:
            self.progress.steering.clear()
            self._view.show(Notice("note", _PUT_ASIDE))
        if self._conversation.is_open:
            self.progress.cost_usd = self._cost()
            self.stand()
            self._rest()
        self._finished(event, self._answered, time.monotonic() - self._began)

    def _answer(self, permission_id: str, reply: Reply) -> None:
        if not self._conversation.is_open:
            return
        session = self._conversation.session
        try:
            session.answer(permission_id, reply.decision, command=reply.command, note=reply.note)
        except MarvinError as error:
            self._view.say(f"{error}; so the answer is no", "error")
            session.answer(permission_id, "deny")

    def _cost(self) -> float | None:
        return self._conversation.tally().total.whole_cost


async def _measure(progress: Progress, ledger: "Ledger") -> None:
    """Find out how much the model reads; it takes a moment the first time."""
    with suppress(MarvinError):
        progress.context_size = (await ledger.abilities(ledger.provider)).context
