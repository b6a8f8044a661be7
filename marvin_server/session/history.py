"""What was said in a session so far, in memory and in the store, by the one who is at work in it."""

import asyncio
from typing import TYPE_CHECKING

from marvin_server.messages import Message
from marvin_server.session.transcript import answered, size

if TYPE_CHECKING:
    from marvin_server.session.store import Store

# Up to this many characters a message is on disk within 15 ms; 5,000,000 take 100 ms and more.
_LARGE = 250_000


class History:
    """The messages that lead to the head of the stored session ``session_id``; only its owner adds to them.

    What was added is durable. Every method raises ``StoreError``.
    """

    def __init__(self, store: "Store", session_id: str) -> None:
        self._store = store
        self._id = session_id
        # What leads to the entry ``_head``; None is to be read from the store.
        self._messages: list[Message] | None = []
        self._head: str | None = None
        self._begun = 0
        self._turn_id: str | None = None

    def own(self) -> None:
        """Be the one, of all processes, who is at work in the session, until ``disown``; what another one has added
        since is part of it. Raises ``SessionOwned`` while somebody is at work."""
        head = self._store.own(self._id)
        if head != self._head:
            self._head, self._messages = head, None

    def check_free(self) -> None:
        """Raises ``SessionOwned`` while another process is at work in the session."""
        self._store.leases.check(self._id)

    def disown(self) -> None:
        """Let others have the session; nothing happens when it is not owned."""
        self._store.disown(self._id)

    def begin_turn(self, turn_id: str) -> None:
        """What is added from now on belongs to this turn."""
        self._turn_id = turn_id
        self._begun = len(self._messages or ())

    def end_turn(self) -> None:
        """Give every tool call of the turn that has no result one that says so; it is not stored."""
        self._turn_id = None
        if self._messages is not None:
            self._messages[self._begun :] = answered(self._messages[self._begun :])

    async def messages(self) -> list[Message]:
        """All of them, fit to be sent."""
        if self._messages is None:
            self._messages = await asyncio.to_thread(self._read)
            self._begun = len(self._messages)
        return self._messages

    def add(self, message: Message) -> None:
        """Add a message at the end; a large one holds up the event loop."""
        self._store.append(self._id, message, self._head, turn_id=self._turn_id)
        self._added(message)

    async def add_beside(self, message: Message) -> None:
        """Add a message, a large one in a thread. A cancellation comes through with whatever is awaited next, so that
        it never meets a message that is half told."""
        if size(message) <= _LARGE:
            self.add(message)
            return
        writing = asyncio.ensure_future(asyncio.to_thread(self._write, message))
        task = asyncio.current_task()
        cancelled = False
        while not writing.done():
            try:
                await asyncio.wait([writing])
            except asyncio.CancelledError:
                cancelled = True
                if task is not None:
                    task.uncancel()
        writing.result()
        self._added(message)
        if cancelled and task is not None:
            task.cancel()

    def _added(self, message: Message) -> None:
        self._head = message.id
        if self._messages is not None:
            self._messages.append(message)

    def _read(self) -> list[Message]:
        with self._store.beside() as store:
            return store.history(self._id, self._head)

    def _write(self, message: Message) -> None:
        with self._store.beside() as store:
            store.append(self._id, message, self._head, turn_id=self._turn_id)
