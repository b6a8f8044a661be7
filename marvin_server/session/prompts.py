"""The prompts of a session that cannot start yet: a turn runs, or another process is at work."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from marvin_server.errors import SessionOwned, StoreError
from marvin_server.messages import Message, new_id

if TYPE_CHECKING:
    from marvin_server.session.store import Store

# How often a queued prompt looks whether another process has finished with the session.
_LOOKS_EVERY = 0.15
_log = logging.getLogger("marvin.session")


class Prompts:
    """What waits in the session ``session_id``, each message a draft in the store (``Store.drafts``) until it is said.

    Queued prompts start one after the other, each as a turn of its own. While another process is at work, ``own`` is
    tried until it has finished; then ``go_on`` is called, or, for each prompt, ``fail`` with its turn's id when the
    store cannot be used.
    """

    def __init__(
        self,
        store: "Store",
        session_id: str,
        *,
        own: Callable[[], None],
        go_on: Callable[[], None],
        fail: Callable[[str, StoreError], None],
    ) -> None:
        self._store = store
        self._session_id = session_id
        self._own = own
        self._go_on = go_on
        self._fail = fail
        # The lease that tells the drafts of this process from those that were left behind.
        self._keeper = new_id()
        self._queue: deque[tuple[str, Message]] = deque()
        self._steering: list[Message] = []
        self._told: list[Message] = []
        self._waiting: asyncio.Task[None] | None = None

    @property
    def is_empty(self) -> bool:
        """Whether no prompt is queued."""
        return not self._queue

    def queue(self, prompt: Message, *, is_next: bool) -> str:
        """Let a prompt start after those before it, and give its turn's id. ``is_next``: after a turn that runs here,
        not after another process."""
        turn_id = new_id()
        self._keep(prompt, turn_id)
        self._queue.append((turn_id, prompt))
        if not is_next and self._waiting is None:
            self._waiting = asyncio.create_task(self._wait())
        return turn_id

    def steer(self, prompt: Message) -> None:
        """Hand a prompt to the running turn; when it takes no more, the prompt is the first of the queue, unless it is
        put aside."""
        self._keep(prompt)
        self._steering.append(prompt)

    def tell(self, message: Message) -> None:
        """Let the model know something with the running turn's next round, or with the next prompt."""
        self._keep(message)
        self._told.append(message)

    def take_told(self) -> list[Message]:
        """What the model has to know, once."""
        told, self._told = self._told, []
        return told

    def take_steering(self) -> list[Message]:
        """What the model has to know, and the prompts for the running turn, each once."""
        steering, self._steering = self._steering, []
        return [*self.take_told(), *steering]

    def put_aside(self, *failed: Message) -> None:
        """Leave prompts behind as drafts: those that could not be started, and those that the running turn was handed
        and has not taken, since the person has stopped it."""
        steering, self._steering = self._steering, []
        try:
            for prompt in (*failed, *steering):
                self._store.drafts.leave(prompt.id)
        except StoreError as error:
            _log.warning("what was not started is a draft once this process has ended: %s", error)

    def take_next(self) -> tuple[str, Message] | None:
        """The prompt that starts now, with its turn's id."""
        late, self._steering = self._steering, []
        self._queue.extendleft((new_id(), prompt) for prompt in reversed(late))
        taken = self._queue.popleft() if self._queue else None
        if len(late) > 1:
            self._keep_order()
        return taken

    def is_wanted(self, prompt: Message) -> bool:
        """Whether no other process has cancelled a prompt that was queued. Raises ``StoreError``."""
        return self._store.drafts.has(prompt.id)

    def drop(self, turn_id: str) -> bool:
        """Forget the queued prompt of this turn; False when there is none."""
        found = next((queued for queued in self._queue if queued[0] == turn_id), None)
        if found is None:
            return False
        self._store.drafts.drop(found[1].id)
        self._queue.remove(found)
        if not self._queue:
            self._stop_waiting()
        return True

    def leave(self) -> None:
        """Wait no more; what was not said is left behind as drafts."""
        self._stop_waiting()
        self._store.leases.give_back(self._keeper)

    def _keep(self, message: Message, turn_id: str | None = None) -> None:
        if not self._store.leases.is_here(self._keeper):
            self._store.leases.take(self._keeper)
        self._store.drafts.keep(self._session_id, self._keeper, message, turn_id)

    def _keep_order(self) -> None:
        try:
            for turn_id, prompt in self._queue:
                self._store.drafts.put_last(prompt.id, turn_id)
        except StoreError as error:
            _log.warning("what was steered too late is not listed among what is queued: %s", error)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    async def _wait(self) -> None:
        """Go on once the process that is at work in the session has finished."""
        while True:
            await asyncio.sleep(_LOOKS_EVERY)
            try:
                self._own()
            except SessionOwned:
                continue
            except StoreError as error:
                self._waiting = None
                while self._queue:
                    turn_id, prompt = self._queue.popleft()
                    self.put_aside(prompt)
                    self._fail(turn_id, error)
            else:
                self._waiting = None
                self._go_on()
            return
