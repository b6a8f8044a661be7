"""One conversation: it owns the running turn as a task, persists what happens, and tells every subscriber."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from marvin_server.agent.loop import Agent
from marvin_server.agent.permissions import Permissions
from marvin_server.errors import MarvinError, SessionBusy, SessionOwned, StoreError, UsageError
from marvin_server.events import (
    Compacted,
    Decision,
    Event,
    Failure,
    MessageFinished,
    Notice,
    TurnFinished,
    TurnStarted,
)
from marvin_server.messages import Message, Usage, new_id, user_message
from marvin_server.session.history import History
from marvin_server.session.prompts import Prompts
from marvin_server.session.store import Store
from marvin_server.session.subscription import Broadcast, Subscription

if TYPE_CHECKING:
    from collections.abc import Collection, Coroutine

    from marvin_server.agent.compactor import Compactor
    from marvin_server.events import Rejection
    from marvin_server.providers.base import Provider
    from marvin_server.session.backups import Backups
    from marvin_server.session.patches import Patches
    from marvin_server.session.reviews import Resolution
    from marvin_server.session.summaries import Summaries
    from marvin_server.session.undo import Direction, TakenBack, Undo

T = TypeVar("T")
_SUMMARISED = "the conversation is being summarised: queue the prompt, or try again when that is done"
_END_SECONDS = 1.0
WhenBusy = Literal["reject", "queue", "steer"]
Activity = Literal["summarising"]


class Session:
    """A persisted conversation in one workspace.

    ``provider`` gives the one that answers a turn that begins now, and ``agent`` makes the agent for it;
    ``before_turn`` is awaited first, may emit events, and says whether the turn goes on. ``compactor`` makes the
    conversation smaller, and ``backups`` keeps what goes by that. ``submit``, ``answer``, ``cancel``, ``undo``,
    ``redo``, ``compact``, ``tell`` and ``subscribe`` are its only entries; a subscriber that is slow, or leaves, never
    stops a turn.

    Several processes may have the same session open. One at a time is at work in it, from a turn's start until its
    queue is empty; the others go on from what it has added.
    """

    def __init__(
        self,
        store: Store,
        session_id: str,
        permissions: Permissions,
        agent: "Callable[[Provider], Agent]",
        *,
        provider: "Callable[[], Provider]",
        before_turn: Callable[[Callable[[Event], None]], Awaitable[bool]],
        undo: "Callable[[], Undo]",
        patches: "Callable[[], Patches]",
        compactor: "Compactor",
        backups: "Callable[[], Backups]",
    ) -> None:
        self.id = session_id
        self._permissions = permissions
        self._agent = agent
        self._provider = provider
        self._before_turn = before_turn
        self._undo = undo
        self._patches = patches
        self._events = Broadcast()
        self._history = History(store, session_id)
        self._compactor = compactor
        self._backups = backups
        self._prompts = Prompts(store, session_id, own=self._history.own, go_on=self._go_on, fail=self._fail)
        self._turn: tuple[str, asyncio.Task[None]] | None = None
        self._taking_back: asyncio.Future[TakenBack] | None = None
        self._compacting: asyncio.Task[Any] | None = None
        self._activity: Activity | None = None
        self._on_activity: list[Callable[[], None]] = []
        self._closed = False
        self._at_end: list[Callable[[], Coroutine[Any, Any, None]]] = []

    def submit(self, prompt: str | Message, when_busy: WhenBusy = "reject") -> str:
        """Start a turn and return its id; the prompt, or the whole message of it, is on disk by then (else
        ``StoreError``, and nothing started).

        While a turn runs, ``queue`` starts this one after it; ``steer`` hands the prompt to the running turn before
        its next round and returns that turn's id, or starts a turn of its own after it when it was too late, or when
        the turn is another process's; a turn that was cancelled or denied leaves it behind as a draft. ``reject``
        raises ``UsageError``, as everything does once the session is closed, and ``SessionOwned`` where another process
        is at work. What waits is on disk, too.
        """
        self._check_open()
        message = user_message(prompt) if isinstance(prompt, str) else prompt
        if self._compacting is not None:
            if when_busy == "reject":
                raise SessionBusy(_SUMMARISED)
            return self._prompts.queue(message, is_next=True)
        if self._turn is None and self._prompts.is_empty:
            try:
                self._history.own()
            except SessionOwned:
                if when_busy == "reject":
                    raise
            else:
                return self._begin(message)
        elif when_busy == "reject" and self._turn is None:
            raise SessionOwned("prompts wait for another marvin to finish in the session: queue this one, too")
        elif when_busy == "reject":
            raise SessionBusy("a turn is running: wait for it, cancel it, or queue the prompt")
        elif when_busy == "steer" and self._turn is not None:
            self._prompts.steer(message)
            return self._turn[0]
        return self._prompts.queue(message, is_next=self._turn is not None)

    def tell(self, lines: Sequence[str], provider: str, model: str) -> str:
        """Say ``lines`` to every subscriber and give the id of the turn that says them: the one that runs, else one of
        which nothing is stored. No model is asked: these would answer."""
        turn_id = self.running or new_id()
        if self._turn is None:
            self._events.publish(TurnStarted(turn_id, self.id, provider, model))
        for line in lines:
            self._events.publish(Notice("note", line))
        if self._turn is None:
            self._events.publish(TurnFinished(turn_id, "completed", Usage()))
        return turn_id

    def answer(
        self,
        permission_id: str,
        decision: Decision,
        by: str = "person",
        command: str | None = None,
        note: str | None = None,
    ) -> bool:
        """Settle a permission question; False when it is settled already: the first answer wins.

        ``command`` goes with ``allow_edited``: what runs instead, exactly as it is, unless a deny rule forbids it.
        ``note`` goes with a denial: the model reads it.
        """
        return self._permissions.answer(permission_id, decision, by, command, note)

    @property
    def running(self) -> str | None:
        """The id of the turn that runs."""
        return self._turn[0] if self._turn else None

    @property
    def activity(self) -> Activity | None:
        """What is at work here that is no turn and takes as long as one."""
        return self._activity

    def on_activity(self, call: Callable[[], None]) -> None:
        """Call ``call`` when ``activity`` has changed."""
        self._on_activity.append(call)

    def cancel(self, turn_id: str | None = None) -> bool:
        """End the running turn, keeping what arrived, or the one of this id, which may be queued, or the writing of a
        summary, which leaves all as it was; False when there is none."""
        if turn_id is not None and self._prompts.drop(turn_id):
            self._events.publish(TurnFinished(turn_id, "cancelled", Usage()))
            return True
        if turn_id is None and self._compacting is not None:
            return self._compacting.cancel()
        if self._turn is None or turn_id not in (None, self._turn[0]):
            return False
        self._turn[1].cancel()
        return True

    async def undo(self, turn_id: str | None = None, *, preview: bool = False) -> "TakenBack":
        """Take back what a turn has changed, the newest that there is unless it is named; see ``Undo``. The model is
        told with the next prompt. Raises ``UsageError`` while a turn runs, ``MarvinError`` when nothing is there."""
        return await self._take_back("undo", turn_id, preview)

    async def redo(self, turn_id: str | None = None, *, preview: bool = False) -> "TakenBack":
        """Bring back what ``undo`` has taken back."""
        return await self._take_back("redo", turn_id, preview)

    async def compact(self, focus: str = "", *, preview: bool = False) -> Compacted:
        """Have a summary stand for the older part of the conversation, in which ``focus`` is kept in view. With
        ``preview`` nothing changes, and the same call without it carries out just what that has given, unless more was
        said meanwhile. Raises ``UsageError`` while a turn runs, and where nothing can go."""
        return await self._aside(self._summaries.compact(focus, preview=preview), "summarising")

    async def older(self) -> Sequence[Message]:
        """The messages for which ``compact`` would have a summary stand; it raises as that does."""
        return await self._aside(self._summaries.older())

    async def take_back_summary(self) -> Compacted:
        """Have in view again what the latest summary stands for. Raises ``UsageError`` while a turn runs, and where
        there is none."""
        return await self._aside(self._summaries.take_back())

    @property
    def patches(self) -> "Patches":
        """The patches of this session; ``pending`` are those that wait for a review."""
        return self._patches()

    async def resolve(
        self,
        patch_id: str,
        accept: "Collection[str] | Literal['all']" = (),
        reject: "Sequence[Rejection]" = (),
        by: str = "person",
    ) -> "Resolution":
        """Decide on hunks of a patch, by their ids; those that are in neither list stay open.

        Of a patch that waits for the review, the accepted hunks are made once every one is decided on, and the last
        answer waits for that. Of one that was made, they stay; the rejected ones are found again in the documents as
        they are now, and taken back, of which the model is told with its next round or the next prompt.

        Raises ``NoPatch``, ``PatchSettled``, ``SessionOwned`` while another process is at work, and ``UsageError`` once
        the session is closed or while a turn is undone.
        """
        self._check_open()
        self._history.check_free()
        from marvin_server.workspace.undisturbed import undisturbed

        return await undisturbed(self._resolve(patch_id, accept, reject, by))

    def subscribe(self, from_seq: int | None = None, only: type[Event] | None = None) -> Subscription:
        """The events from now on, all or of one kind ``only``; with ``from_seq`` also the kept ones from that number
        on.

        ``seq`` counts a session's events by one, so that a gap shows.
        """
        return self._events.subscribe(from_seq, only)

    def unsubscribe(self, subscription: Subscription) -> None:
        """Send it no more events, and let it end."""
        self._events.unsubscribe(subscription)

    def take_steering(self) -> list[Message]:
        """What the model has to know, and the prompts that were typed into the running turn, each handed over once."""
        return self._prompts.take_steering()

    def at_end(self, end: "Callable[[], Coroutine[Any, Any, None]]") -> None:
        """Await ``end`` when the session is closed."""
        self._at_end.append(end)

    def shut(self) -> None:
        """Take nothing more and begin no turn any more; ``close`` is to follow."""
        self._closed = True

    async def close(self) -> None:
        """Cancel what runs, deny what is asked, and let every subscription end. The store is left open.

        Prompts that still wait are left behind as drafts (``Store.drafts``). What was given to ``at_end`` has a second.
        """
        self.shut()
        self._permissions.deny_all("shutdown")
        if self._turn is not None:
            task = self._turn[1]
            task.cancel()
            await asyncio.wait([task])
        if self._compacting is not None:
            self._compacting.cancel()
        if aside := [each for each in (self._taking_back, self._compacting) if each is not None]:
            await asyncio.wait(aside)
        self._prompts.leave()
        self._events.close()
        await self._end()

    async def _end(self) -> None:
        if not self._at_end:
            return
        done, late = await asyncio.wait([asyncio.create_task(end()) for end in self._at_end], timeout=_END_SECONDS)
        for end in late:
            end.cancel()
        for error in (end.exception() for end in done if not end.cancelled()):
            if error is not None:
                logging.getLogger("marvin.session").error("at the end of session %s", self.id, exc_info=error)

    def _check_open(self) -> None:
        if self._closed:
            raise UsageError("the session is closed")
        if self._taking_back is not None:
            raise SessionBusy("changes are being taken back: try again when that is done")

    @cached_property
    def _summaries(self) -> "Summaries":
        from marvin_server.session.summaries import Summaries

        return Summaries(self._history, self._compactor, self._backups(), self._events.publish)

    def _check_idle(self) -> None:
        self._check_open()
        if self._turn is not None:
            raise SessionBusy("a turn is running: wait for it, or cancel it")
        if self._compacting is not None:
            raise SessionBusy(_SUMMARISED)

    def _begin(self, prompt: Message) -> str:
        turn_id = new_id()
        try:
            self._start(turn_id, prompt)
        except StoreError:
            self._history.disown()
            raise
        return turn_id

    def _start(self, turn_id: str, prompt: Message) -> None:
        self._history.begin_turn(turn_id)
        said = [*self._prompts.take_told(), prompt]
        for message in said:
            self._history.add(message)
        provider = self._provider()
        self._events.publish(TurnStarted(turn_id, self.id, provider.name, provider.model))
        for message in said:
            self._events.publish(MessageFinished(message))
        # A task that is cancelled before its first step never runs, so the end of the turn hangs on the task itself.
        end = [TurnFinished(turn_id, "cancelled", Usage())]
        task = asyncio.create_task(self._run(end, provider))
        task.add_done_callback(lambda _: self._finish(end[0]))
        self._turn = (turn_id, task)

    async def _run(self, end: list[TurnFinished], provider: "Provider") -> None:
        """Drive the agent and keep what it says; ``end`` holds how the turn ended."""
        turn_id = end[0].turn_id
        try:
            if not await self._before_turn(self._events.publish):
                end[0] = TurnFinished(turn_id, "denied", Usage())
                return
            history = await self._history.messages()
            async with aclosing(self._agent(provider).run(turn_id, history)) as events:
                async for event in events:
                    if isinstance(event, TurnFinished):
                        end[0] = event
                        break
                    if isinstance(event, MessageFinished):
                        await self._history.add_beside(event.message)
                    if isinstance(event, Compacted):
                        await self._summaries.apply(event)
                    else:
                        self._events.publish(event)
        except MarvinError as error:
            end[0] = _failed(turn_id, error)
        except Exception as error:
            logging.getLogger("marvin.session").exception("turn %s crashed", turn_id)
            end[0] = _failed(turn_id, error)

    def _finish(self, end: TurnFinished) -> None:
        self._turn = None
        self._history.end_turn()
        if end.stop_reason in ("cancelled", "denied"):
            self._prompts.put_aside()
        self._events.publish(end)
        self._go_on()

    def _go_on(self) -> None:
        """Start the first turn of the queue, or let other processes have the session."""
        if self._closed or (waiting := self._prompts.take_next()) is None:
            self._history.disown()
            return
        turn_id, prompt = waiting
        end = TurnFinished(turn_id, "cancelled", Usage())
        try:
            if self._prompts.is_wanted(prompt):
                self._start(turn_id, prompt)
                return
        except StoreError as error:
            self._prompts.put_aside(prompt)
            end = _failed(turn_id, error)
        self._finish(end)

    def _fail(self, turn_id: str, error: Exception) -> None:
        self._events.publish(_failed(turn_id, error))

    async def _resolve(
        self, patch_id: str, accept: "Collection[str] | Literal['all']", reject: "Sequence[Rejection]", by: str
    ) -> "Resolution":
        settled = await self.patches.resolve(patch_id, accept, reject, by)
        if settled.event is not None:
            self._events.publish(settled.event)
        if settled.told is not None:
            self._prompts.tell(user_message(settled.told))
        return settled.resolution

    async def _aside(self, work: "Coroutine[Any, Any, T]", activity: Activity | None = None) -> T:
        """Carry out ``work`` on what was said, while no turn runs and none begins."""
        try:
            self._check_idle()
            self._history.own()
        except MarvinError:
            work.close()
            raise
        self._compacting = task = asyncio.ensure_future(work)
        task.add_done_callback(self._compacted)
        self._be_at(activity)
        return await task

    def _compacted(self, _: "asyncio.Task[Any]") -> None:
        self._compacting = None
        self._go_on()
        self._be_at(None)

    def _be_at(self, activity: Activity | None) -> None:
        if activity != self._activity:
            self._activity = activity
            for call in self._on_activity:
                call()

    async def _take_back(self, kind: "Direction", turn_id: str | None, preview: bool) -> "TakenBack":
        def work() -> "TakenBack":
            undo = self._undo()
            return undo.take_back(kind, undo.find(kind, session_id=self.id, turn_id=turn_id), preview=preview)

        self._check_idle()
        self._history.own()
        self._taking_back = asyncio.ensure_future(asyncio.to_thread(work))
        self._taking_back.add_done_callback(self._taken_back)
        return await asyncio.shield(self._taking_back)

    def _taken_back(self, done: "asyncio.Future[TakenBack]") -> None:
        self._taking_back = None
        try:
            if not done.cancelled() and not done.exception() and (told := done.result().message):
                self._history.add(user_message(told))
                if done.result().kind == "undo":
                    for event in self.patches.kept.undone(done.result().turn_id, done.result().applied):
                        self._events.publish(event)
        finally:
            self._history.disown()


def _failed(turn_id: str, error: Exception) -> TurnFinished:
    known = isinstance(error, MarvinError)
    text = str(error) if known else f"{type(error).__name__}: {error} (the log has more)"
    return TurnFinished(turn_id, "failed", Usage(), Failure(type(error).__name__ if known else "InternalError", text))
