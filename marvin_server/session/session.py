"""One conversation: it owns the running turn as a task, persists what happens, and tells every subscriber."""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Literal

from marvin_server.agent.loop import Agent
from marvin_server.agent.permissions import Permissions
from marvin_server.errors import MarvinError, StoreError, UsageError
from marvin_server.events import Decision, Event, Failure, MessageFinished, TurnFinished, TurnStarted
from marvin_server.messages import Image, Message, Usage, new_id, user_message
from marvin_server.session.store import Store
from marvin_server.session.transcript import answered

if TYPE_CHECKING:
    from marvin_server.session.undo import Direction, TakenBack, Undo

WhenBusy = Literal["reject", "queue", "steer"]
# A subscriber that comes later is given this many of the latest events at most; the transcript is in the store.
_KEPT_EVENTS = 256


class Subscription:
    """The events of a session as an async iterator of ``(seq, event)``; it ends when the session is closed."""

    def __init__(self, backlog: list[tuple[int, Event]]) -> None:
        self._events = deque(backlog)
        self._changed = asyncio.Event()
        self._closed = False

    def push(self, seq: int, event: Event) -> None:
        """Hand over one event; never waits for the reader."""
        self._events.append((seq, event))
        self._changed.set()

    def close(self) -> None:
        """Let the iterator end after what is still in it."""
        self._closed = True
        self._changed.set()

    @property
    def is_drained(self) -> bool:
        """Whether the reader has everything that has happened so far."""
        return not self._events

    def __aiter__(self) -> "Subscription":
        return self

    async def __anext__(self) -> tuple[int, Event]:
        while not self._events:
            if self._closed:
                raise StopAsyncIteration
            self._changed.clear()
            await self._changed.wait()
        return self._events.popleft()


class Session:
    """A persisted conversation in one workspace.

    ``agent`` makes the agent for one turn; ``before_turn`` is awaited first, may emit events, and says whether the turn
    goes on. ``submit``, ``answer``, ``cancel``, ``undo``, ``redo`` and ``subscribe`` are its only entries;
    a subscriber that is slow, or leaves, never stops a turn.
    """

    def __init__(
        self,
        store: Store,
        session_id: str,
        history: list[Message],
        permissions: Permissions,
        agent: Callable[[], Agent],
        *,
        provider: str,
        model: str,
        before_turn: Callable[[Callable[[Event], None]], Awaitable[bool]],
        undo: "Callable[[], Undo]",
    ) -> None:
        self.id = session_id
        self._store = store
        self._history = history
        self._permissions = permissions
        self._agent = agent
        self._before_turn = before_turn
        self._undo = undo
        self._taking_back: asyncio.Future[TakenBack] | None = None
        self._provider = provider
        self._model = model
        self._seq = 0
        self._kept: deque[tuple[int, Event]] = deque(maxlen=_KEPT_EVENTS)
        self._subscriptions: list[Subscription] = []
        self._queue: deque[tuple[str, Message]] = deque()
        self._steering: list[Message] = []
        self._turn: tuple[str, asyncio.Task[None]] | None = None
        self._closed = False

    def submit(self, prompt: str, when_busy: WhenBusy = "reject", images: Sequence[Image] = ()) -> str:
        """Start a turn and return its id; the prompt is on disk by then (else ``StoreError``, and nothing started).
        ``images`` are the pictures that it is about.

        While a turn runs, ``queue`` starts this one after it; ``steer`` hands the prompt to the running turn before
        its next round and returns that turn's id, or starts a turn of its own after it when it was too late; ``reject``
        raises ``UsageError``, as everything does once the session is closed.
        """
        if self._closed:
            raise UsageError("the session is closed")
        if self._taking_back is not None:
            raise UsageError("changes are being taken back: try again when that is done")
        message = user_message(prompt, images)
        turn_id = new_id()
        if self._turn is None:
            self._start(turn_id, message)
        elif when_busy == "queue":
            self._queue.append((turn_id, message))
        elif when_busy == "steer":
            self._steering.append(message)
            return self._turn[0]
        else:
            raise UsageError("a turn is running: wait for it, cancel it, or queue the prompt")
        return turn_id

    def answer(self, permission_id: str, decision: Decision, by: str = "person", command: str | None = None) -> bool:
        """Settle a permission question; False when it is settled already: the first answer wins.

        ``command`` goes with ``allow_edited``: what runs instead, exactly as it is, unless a deny rule forbids it.
        """
        return self._permissions.answer(permission_id, decision, by, command)

    def cancel(self) -> bool:
        """End the running turn, keeping what arrived; False when none runs."""
        if self._turn is None:
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
        """The prompts that were typed into the running turn, each handed over once."""
        taken, self._steering = self._steering, []
        return taken

    async def close(self) -> None:
        """Cancel what runs, deny what is asked, and let every subscription end. The store is left open."""
        self._closed = True
        self._permissions.deny_all("shutdown")
        if self._turn is not None:
            task = self._turn[1]
            task.cancel()
            await asyncio.wait([task])
        if self._taking_back is not None:
            await asyncio.wait([self._taking_back])
        for subscription in self._subscriptions:
            subscription.close()

    def _start(self, turn_id: str, prompt: Message) -> None:
        self._keep(prompt)
        self._publish(TurnStarted(turn_id, self.id, self._provider, self._model))
        self._publish(MessageFinished(prompt))
        # A task that is cancelled before its first step never runs, so the end of the turn hangs on the task itself.
        end = [TurnFinished(turn_id, "cancelled", Usage())]
        task = asyncio.create_task(self._run(end))
        task.add_done_callback(lambda _: self._finish(end[0]))
        self._turn = (turn_id, task)

    async def _run(self, end: list[TurnFinished]) -> None:
        """Drive the agent and keep what it says; ``end`` holds how the turn ended."""
        turn_id = end[0].turn_id
        try:
            if not await self._before_turn(self._publish):
                end[0] = TurnFinished(turn_id, "denied", Usage())
                return
            async with aclosing(self._agent().run(turn_id, answered(self._history))) as events:
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

    def _finish(self, end: TurnFinished) -> None:
        self._turn = None
        self._publish(end)
        # Prompts that came too late to steer go before the queue.
        self._queue.extendleft((new_id(), message) for message in reversed(self.take_steering()))
        if self._queue and not self._closed:
            turn_id, prompt = self._queue.popleft()
            try:
                self._start(turn_id, prompt)
            except StoreError as error:
                self._finish(_failed(turn_id, error))

    async def _take_back(self, kind: "Direction", turn_id: str | None, preview: bool) -> "TakenBack":
        def work() -> "TakenBack":
            undo = self._undo()
            return undo.take_back(kind, undo.find(kind, session_id=self.id, turn_id=turn_id), preview=preview)

        if self._closed:
            raise UsageError("the session is closed")
        if self._turn is not None or self._taking_back is not None:
            raise UsageError("a turn is running, or being taken back: wait for it, or cancel it")
        self._taking_back = asyncio.ensure_future(asyncio.to_thread(work))
        self._taking_back.add_done_callback(self._taken_back)
        return await asyncio.shield(self._taking_back)

    def _taken_back(self, done: "asyncio.Future[TakenBack]") -> None:
        self._taking_back = None
        if not done.cancelled() and not done.exception() and (told := done.result().message):
            message = user_message(told)
            self._keep(message)
            self._publish(MessageFinished(message))

    def _keep(self, message: Message) -> None:
        self._store.append(self.id, message, self._history[-1].id if self._history else None)
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
