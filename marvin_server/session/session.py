"""One conversation: it owns the running turn as a task, persists what happens, and tells every subscriber."""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Literal

from marvin_server.agent.loop import Agent
from marvin_server.agent.permissions import Permissions
from marvin_server.errors import MarvinError, SessionOwned, StoreError, UsageError
from marvin_server.events import Decision, Event, Failure, MessageFinished, Notice, TurnFinished, TurnStarted
from marvin_server.messages import Image, Message, Usage, new_id, user_message
from marvin_server.session.store import Store
from marvin_server.session.subscription import Subscription
from marvin_server.session.transcript import answered

if TYPE_CHECKING:
    from collections.abc import Collection

    from marvin_server.events import Rejection
    from marvin_server.providers.base import Provider
    from marvin_server.session.patches import Patches
    from marvin_server.session.reviews import Resolution
    from marvin_server.session.undo import Direction, TakenBack, Undo

WhenBusy = Literal["reject", "queue", "steer"]
# A subscriber that comes later is given this many of the latest events at most; the transcript is in the store.
_KEPT_EVENTS = 256
# How often a queued prompt looks whether another process has finished with the session.
_LOOKS_EVERY = 0.15


class Session:
    """A persisted conversation in one workspace.

    ``provider`` gives the one that answers a turn that begins now, and ``agent`` makes the agent for it;
    ``before_turn`` is awaited first, may emit events, and says whether the turn goes on. ``submit``, ``answer``,
    ``cancel``, ``undo``, ``redo``, ``tell`` and ``subscribe`` are its only entries; a subscriber that is slow, or
    leaves, never stops a turn.

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
    ) -> None:
        self.id = session_id
        self._patches = patches
        self._store = store
        # What leads to the entry ``_head``; None is to be read from the store.
        self._history: list[Message] | None = []
        self._head: str | None = None
        self._begun = 0
        self._keeper = new_id()
        self._waiting: asyncio.Task[None] | None = None
        self._permissions = permissions
        self._agent = agent
        self._before_turn = before_turn
        self._undo = undo
        self._taking_back: asyncio.Future[TakenBack] | None = None
        self._provider = provider
        self._seq = 0
        self._kept: deque[tuple[int, Event]] = deque(maxlen=_KEPT_EVENTS)
        self._subscriptions: list[Subscription] = []
        self._queue: deque[tuple[str, Message]] = deque()
        self._steering: list[Message] = []
        self._told: list[Message] = []
        self._turn: tuple[str, asyncio.Task[None]] | None = None
        self._closed = False

    def submit(self, prompt: str, when_busy: WhenBusy = "reject", images: Sequence[Image] = ()) -> str:
        """Start a turn and return its id; the prompt is on disk by then (else ``StoreError``, and nothing started).
        ``images`` are the pictures that it is about.

        While a turn runs, ``queue`` starts this one after it; ``steer`` hands the prompt to the running turn before
        its next round and returns that turn's id, or starts a turn of its own after it when it was too late, or when
        the turn is another process's; ``reject`` raises ``UsageError``, as everything does once the session is closed,
        and ``SessionOwned`` where another process is at work. What waits is on disk, too.
        """
        if self._closed:
            raise UsageError("the session is closed")
        if self._taking_back is not None:
            raise UsageError("changes are being taken back: try again when that is done")
        message = user_message(prompt, images)
        turn_id = new_id()
        if self._turn is None and not self._queue:
            try:
                self._own()
            except SessionOwned:
                if when_busy == "reject":
                    raise
                self._put_by(message)
                self._waiting = asyncio.create_task(self._wait())
            else:
                self._begin(turn_id, message)
                return turn_id
        elif when_busy == "reject" and self._turn is None:
            raise SessionOwned("prompts wait for another marvin to finish in the session: queue this one, too")
        elif when_busy == "reject":
            raise UsageError("a turn is running: wait for it, cancel it, or queue the prompt")
        else:
            self._put_by(message)
            if when_busy == "steer" and self._turn is not None:
                self._steering.append(message)
                return self._turn[0]
        self._queue.append((turn_id, message))
        return turn_id

    def tell(self, lines: Sequence[str]) -> str:
        """Say ``lines`` to every subscriber as a turn without a model, of which nothing is stored, and give its id;
        for a time when no turn runs."""
        turn_id, provider = new_id(), self._provider()
        self._publish(TurnStarted(turn_id, self.id, provider.name, provider.model))
        for line in lines:
            self._publish(Notice("note", line))
        self._publish(TurnFinished(turn_id, "completed", Usage()))
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

    def cancel(self, turn_id: str | None = None) -> bool:
        """End the running turn, keeping what arrived, or the one of this id, which may be queued; False when there is
        none."""
        waiting = next((queued for queued in self._queue if queued[0] == turn_id), None)
        if waiting is not None:
            self._store.drafts.drop(waiting[1].id)
            self._queue.remove(waiting)
            if not self._queue and self._waiting is not None:
                self._waiting.cancel()
            self._publish(TurnFinished(waiting[0], "cancelled", Usage()))
            return True
        if self._turn is None or turn_id not in (None, self._turn[0]):
            return False
        self._turn[1].cancel()
        return True

    @property
    def turn_id(self) -> str | None:
        """The turn that runs."""
        return self._turn[0] if self._turn else None

    async def undo(self, turn_id: str | None = None, *, preview: bool = False) -> "TakenBack":
        """Take back what a turn has changed, the newest that there is unless it is named; see ``Undo``. The model is
        told with the next prompt. Raises ``UsageError`` while a turn runs, ``MarvinError`` when nothing is there."""
        return await self._take_back("undo", turn_id, preview)

    async def redo(self, turn_id: str | None = None, *, preview: bool = False) -> "TakenBack":
        """Bring back what ``undo`` has taken back."""
        return await self._take_back("redo", turn_id, preview)

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

        Raises ``NoPatch``, ``PatchSettled``, and ``UsageError`` once the session is closed or while a turn is undone.
        """
        if self._closed:
            raise UsageError("the session is closed")
        if self._taking_back is not None:
            raise UsageError("changes are being taken back: try again when that is done")
        from marvin_server.workspace.undisturbed import undisturbed

        return await undisturbed(self._resolve(patch_id, accept, reject, by))

    def subscribe(self, from_seq: int | None = None) -> Subscription:
        """All events from now on; with ``from_seq`` also the kept ones from that number on.

        ``seq`` counts a session's events by one, so that a gap shows.
        """
        backlog = [] if from_seq is None else [kept for kept in self._kept if kept[0] >= from_seq]
        subscription = Subscription(backlog)
        if self._closed:
            subscription.close()
        else:
            self._subscriptions.append(subscription)
        return subscription

    def unsubscribe(self, subscription: Subscription) -> None:
        """Send it no more events, and let it end."""
        self._subscriptions.remove(subscription)
        subscription.close()

    def take_steering(self) -> list[Message]:
        """What the model has to know, and the prompts that were typed into the running turn, each handed over once."""
        taken = [*self._told, *self._steering]
        self._told, self._steering = [], []
        return taken

    async def close(self) -> None:
        """Cancel what runs, deny what is asked, and let every subscription end. The store is left open.

        Prompts that still wait are left behind as drafts (``Store.drafts``).
        """
        self._closed = True
        self._permissions.deny_all("shutdown")
        if self._waiting is not None:
            self._waiting.cancel()
        if self._turn is not None:
            task = self._turn[1]
            task.cancel()
            await asyncio.wait([task])
        if self._taking_back is not None:
            await asyncio.wait([self._taking_back])
        self._store.leases.give_back(self._keeper)
        for subscription in self._subscriptions:
            subscription.close()

    def _own(self) -> None:
        """Be the one who is at work in the session, and notice when another process was since."""
        head = self._store.own(self.id)
        if head != self._head:
            self._head, self._history = head, None

    def _begin(self, turn_id: str, prompt: Message) -> None:
        try:
            self._start(turn_id, prompt)
        except StoreError:
            self._store.disown(self.id)
            raise

    def _put_by(self, message: Message) -> None:
        """Keep a prompt that cannot start yet."""
        if not self._store.leases.is_here(self._keeper):
            self._store.leases.take(self._keeper)
        self._store.drafts.keep(self.id, self._keeper, message)

    async def _wait(self) -> None:
        """Go on with the queue once the process that is at work in the session has finished."""
        while True:
            await asyncio.sleep(_LOOKS_EVERY)
            try:
                self._own()
            except SessionOwned:
                continue
            except StoreError as error:
                while self._queue:
                    self._publish(_failed(self._queue.popleft()[0], error))
                return
            self._go_on()
            return

    def _start(self, turn_id: str, prompt: Message) -> None:
        self._begun = len(self._history or ())
        told, self._told = self._told, []
        for message in (*told, prompt):
            self._keep(message)
        provider = self._provider()
        self._publish(TurnStarted(turn_id, self.id, provider.name, provider.model))
        for message in (*told, prompt):
            self._publish(MessageFinished(message))
        # A task that is cancelled before its first step never runs, so the end of the turn hangs on the task itself.
        end = [TurnFinished(turn_id, "cancelled", Usage())]
        task = asyncio.create_task(self._run(end, provider))
        task.add_done_callback(lambda _: self._finish(end[0]))
        self._turn = (turn_id, task)

    async def _run(self, end: list[TurnFinished], provider: "Provider") -> None:
        """Drive the agent and keep what it says; ``end`` holds how the turn ended."""
        turn_id = end[0].turn_id
        try:
            if not await self._before_turn(self._publish):
                end[0] = TurnFinished(turn_id, "denied", Usage())
                return
            if self._history is None:
                self._history = await asyncio.to_thread(self._read)
                self._begun = len(self._history)
            async with aclosing(self._agent(provider).run(turn_id, self._history)) as events:
                async for event in events:
                    if isinstance(event, TurnFinished):
                        end[0] = event
                        break
                    if isinstance(event, MessageFinished):
                        self._keep(event.message)
                    self._publish(event)
        except MarvinError as error:
            end[0] = _failed(turn_id, error)
        except Exception as error:
            logging.getLogger("marvin.session").exception("turn %s crashed", turn_id)
            end[0] = _failed(turn_id, error)

    def _read(self) -> list[Message]:
        with self._store.beside() as store:
            return store.history(self.id, self._head)

    def _finish(self, end: TurnFinished) -> None:
        self._turn = None
        if self._history is not None:
            self._history[self._begun :] = answered(self._history[self._begun :])
        self._publish(end)
        # Prompts that came too late to steer go before the queue.
        late, self._steering = self._steering, []
        self._queue.extendleft((new_id(), message) for message in reversed(late))
        self._go_on()

    def _go_on(self) -> None:
        """Start the first turn of the queue, or let other processes have the session."""
        if not self._queue or self._closed:
            self._store.disown(self.id)
            return
        turn_id, prompt = self._queue.popleft()
        try:
            self._start(turn_id, prompt)
        except StoreError as error:
            self._finish(_failed(turn_id, error))

    async def _resolve(
        self, patch_id: str, accept: "Collection[str] | Literal['all']", reject: "Sequence[Rejection]", by: str
    ) -> "Resolution":
        settled = await self.patches.resolve(patch_id, accept, reject, by)
        if settled.event is not None:
            self._publish(settled.event)
        if settled.told is not None:
            message = user_message(settled.told)
            self._put_by(message)
            self._told.append(message)
        return settled.resolution

    async def _take_back(self, kind: "Direction", turn_id: str | None, preview: bool) -> "TakenBack":
        def work() -> "TakenBack":
            undo = self._undo()
            return undo.take_back(kind, undo.find(kind, session_id=self.id, turn_id=turn_id), preview=preview)

        if self._closed:
            raise UsageError("the session is closed")
        if self._turn is not None or self._taking_back is not None:
            raise UsageError("a turn is running, or being taken back: wait for it, or cancel it")
        self._own()
        self._taking_back = asyncio.ensure_future(asyncio.to_thread(work))
        self._taking_back.add_done_callback(self._taken_back)
        return await asyncio.shield(self._taking_back)

    def _taken_back(self, done: "asyncio.Future[TakenBack]") -> None:
        self._taking_back = None
        try:
            if not done.cancelled() and not done.exception() and (told := done.result().message):
                message = user_message(told)
                self._keep(message)
                self._publish(MessageFinished(message))
                if done.result().kind == "undo":
                    for event in self.patches.undone(done.result().turn_id, done.result().applied):
                        self._publish(event)
        finally:
            self._store.disown(self.id)

    def _keep(self, message: Message) -> None:
        self._store.append(self.id, message, self._head)
        self._head = message.id
        if self._history is not None:
            self._history.append(message)

    def _publish(self, event: Event) -> None:
        self._seq += 1
        self._kept.append((self._seq, event))
        for subscription in self._subscriptions:
            subscription.push(self._seq, event)


def _failed(turn_id: str, error: Exception) -> TurnFinished:
    known = isinstance(error, MarvinError)
    text = str(error) if known else f"{type(error).__name__}: {error} (the log has more)"
    return TurnFinished(turn_id, "failed", Usage(), Failure(type(error).__name__ if known else "InternalError", text))
