"""What was said in a session so far, in memory and in the store, by the one who is at work in it."""

import asyncio
from typing import TYPE_CHECKING

from marvin_server.agent.compactor import applied
from marvin_server.errors import UsageError
from marvin_server.events import Compacted
from marvin_server.messages import Message
from marvin_server.session.transcript import answered, size

if TYPE_CHECKING:
    from marvin_server.session.compactions import Kept
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
        self._held: Kept | None = None
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

    def compact(self, compaction: Compacted) -> list[Message]:
        """Have the summary stand for what was said before, and give the messages that are out of view by that."""
        from marvin_server.session.compactions import Kept

        kept = Kept(compaction, self._held.compaction.id if self._held else None)
        self._store.compactions.add(self._id, kept, self._head, self._turn_id)
        before = self._messages or []
        self._messages = applied(before, compaction)
        self._head, self._held, self._begun = compaction.id, kept, 0
        return before[: len(before) + 1 - len(self._messages)]

    async def compacted_before(self) -> "tuple[Kept | None, list[Message]]":
        """What held before the latest summary, and the messages that were in view by that. Raises ``UsageError`` where
        there is no summary."""
        await self.messages()
        held = self._held
        if held is None or held.compaction.message is None:
            raise UsageError("there is no summary that could be taken back")
        return await asyncio.to_thread(self._read_before, held)

    def take_back(self, compaction: Compacted, before: "Kept | None", messages: list[Message]) -> None:
        """Let hold what ``compacted_before`` gave; ``compaction`` says so."""
        from marvin_server.session.compactions import Kept

        kept = Kept(compaction, before.before if before else None)
        self._store.compactions.add(self._id, kept, self._head, self._turn_id)
        self._messages = messages
        self._head, self._held, self._begun = compaction.id, kept, 0

    def _added(self, message: Message) -> None:
        self._head = message.id
        if self._messages is not None:
            self._messages.append(message)

    def _read(self) -> list[Message]:
        with self._store.beside() as store:
            self._held = store.compactions.holding(self._head)
            return _in_view(store, self._id, self._head, self._held)

    def _read_before(self, held: "Kept") -> "tuple[Kept | None, list[Message]]":
        with self._store.beside() as store:
            before = store.compactions.find(held.before) if held.before else None
            return before, _in_view(store, self._id, self._head, before)

    def _write(self, message: Message) -> None:
        with self._store.beside() as store:
            store.append(self._id, message, self._head, turn_id=self._turn_id)


def in_view(store: "Store", session_id: str) -> list[Message]:
    """What is sent of the stored session: what its latest summary stands for is not. Raises ``StoreError``."""
    head = store.catalogue.state(session_id)[0]
    return _in_view(store, session_id, head, store.compactions.holding(head))


def _in_view(store: "Store", session_id: str, head: str | None, held: "Kept | None") -> list[Message]:
    """The messages on the way to ``head`` as they are sent where ``held`` holds."""
    if held is None:
        return store.history(session_id, head)
    messages = store.history(session_id, head, held.first)
    return [*filter(None, [held.compaction.message]), *messages]
