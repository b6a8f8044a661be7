"""The events of one session on their way to the client: in order, numbered, and deltas in batches."""

import asyncio
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any, Protocol

from marvin_server.events import (
    Event,
    MessageDelta,
    MessageFinished,
    Permission,
    PermissionRequested,
    PermissionResolved,
    ThoughtDelta,
    ToolFinished,
    ToolOutput,
    TurnFinished,
    TurnStarted,
)
from marvin_server.lsp.shown import ShownEvents
from marvin_server.protocol.sessions import PartialMessage
from marvin_server.protocol.wire import to_wire

if TYPE_CHECKING:
    from marvin_server.session.subscription import Subscription

INTERVAL = 0.033
_MOST_CHARACTERS = 4096
# Without these a client could not tell what happens, or would leave a question or a review open for ever.
_NEVER_SILENT = ("turn", "permission", "patch")
_Delta = MessageDelta | ThoughtDelta | ToolOutput
OnTurn = Callable[[TurnStarted | TurnFinished], None]


class Outlet(Protocol):
    """The way to the client."""

    @property
    def is_full(self) -> bool:
        """Whether the client is behind with its reading."""
        ...

    def when_not_full(self, call: Callable[[], None]) -> None:
        """Call it once there is room again."""
        ...

    def tell(self, method: str, params: Any) -> None:
        """Send a notification."""
        ...


class Feed:
    """Sends ``marvin/turn/events``: the first delta after a pause at once, more of them after ``interval`` (seconds) or
    with 4 Ki characters, and every other event with all before it at once. While the client does not read, the pieces
    of one message or output are put together and nothing else is lost.

    ``seq`` is the number of the last notification; ``questions`` are those without an answer, ``finished`` the tool
    calls of the round whose results are not stored yet, by their ids. ``silent`` are kinds of events, by the first word
    of their type, that the client does not want; ``on_turn`` is called after a turn's start and end with the event of
    it.
    """

    def __init__(
        self,
        session_id: str,
        subscription: "Subscription",
        outlet: Outlet,
        silent: Collection[str],
        on_turn: OnTurn,
        *,
        interval: float = INTERVAL,
    ) -> None:
        self.seq = 0
        self._texts: dict[str, list[str]] = {}
        self._thoughts: dict[str, list[str]] = {}
        self.questions: dict[str, Permission] = {}
        self.finished: dict[str, ToolFinished] = {}
        self._session_id = session_id
        self._subscription = subscription
        self._outlet = outlet
        self._silent = frozenset(silent) - set(_NEVER_SILENT)
        self._on_turn = on_turn
        self._interval = interval
        self._turn_id = ""
        self._shown = ShownEvents()
        self._batch = _Batch()
        self._sent_at = 0.0
        self._timer: asyncio.TimerHandle | None = None

    async def run(self) -> None:
        """Send until the session is closed."""
        async for _, event in self._subscription:
            self._take(event)
            for _, later in self._subscription.take():
                self._take(later)
            self._send_if_due()

    def belongs_to(self, turn_id: str) -> None:
        """What is told next, while no turn runs, is about this turn."""
        self._turn_id = turn_id

    def unfinished(self) -> PartialMessage | None:
        """What is being written at this moment."""
        message_id = next(iter({**self._thoughts, **self._texts}), None)
        if message_id is None:
            return None
        text, thought = ("".join(pieces.get(message_id, ())) for pieces in (self._texts, self._thoughts))
        return PartialMessage(message_id, text, thought or None)

    def catch_up(self) -> None:
        """Send all that has happened so far, whether or not the client reads: what is told next builds on it."""
        for _, event in self._subscription.take():
            self._take(event)
        self._send()

    def _take(self, happened: Event) -> None:
        event = self._shown.next(happened)
        self._watch(event)
        turn_id = event.turn_id if isinstance(event, TurnStarted | TurnFinished) else self._turn_id
        if turn_id != self._batch.turn_id:
            self._send()
            self._batch.turn_id = turn_id
        if event.type.partition(".")[0] not in self._silent:
            self._batch.add(event)
        if isinstance(event, TurnStarted | TurnFinished):
            self._send()
            self._on_turn(event)

    def _watch(self, event: Event) -> None:
        match event:
            case TurnStarted():
                self._turn_id = event.turn_id
            case MessageDelta():
                self._texts.setdefault(event.message_id, []).append(event.text)
            case ThoughtDelta():
                self._thoughts.setdefault(event.message_id, []).append(event.text)
            case MessageFinished():
                self._texts.pop(event.message.id, None)
                self._thoughts.pop(event.message.id, None)
                if event.message.role == "tool":
                    self.finished.clear()
            case ToolFinished():
                self.finished[event.tool_call_id] = event
            case PermissionRequested():
                self.questions[event.permission.id] = event.permission
            case PermissionResolved():
                self.questions.pop(event.permission_id, None)
            case TurnFinished() if event.turn_id == self._turn_id:
                for unfinished in (self._texts, self._thoughts, self.finished):
                    unfinished.clear()
            case _:
                pass

    def _send_if_due(self) -> None:
        """Send now, or let a timer do it."""
        if self._timer is not None and not self._batch.is_urgent:
            return
        wait = self._sent_at + self._interval - asyncio.get_running_loop().time()
        if self._batch.is_urgent or wait <= 0:
            self._send_when_read()
        else:
            self._timer = asyncio.get_running_loop().call_later(wait, self._send_when_read)

    def _send_when_read(self) -> None:
        if self._outlet.is_full:
            self._outlet.when_not_full(self._send_when_read)
        else:
            self._send()

    def _send(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        events = self._batch.clear()
        if not events:
            return
        self.seq += 1
        self._sent_at = asyncio.get_running_loop().time()
        told = {"sessionId": self._session_id, "turnId": self._batch.turn_id, "seq": self.seq, "events": events}
        self._outlet.tell("marvin/turn/events", told)


class _Batch:
    """Events of one turn that are to be sent together; deltas of one id become one, up to the next other event."""

    def __init__(self) -> None:
        self.turn_id = ""
        self._events: list[Event | list[_Delta]] = []
        self._runs: dict[tuple[str, str], list[_Delta]] = {}
        self._characters = 0
        self._has_others = False

    @property
    def is_urgent(self) -> bool:
        """Whether it must not wait for the end of the interval."""
        return self._has_others or self._characters >= _MOST_CHARACTERS

    def add(self, event: Event) -> None:
        if not isinstance(event, MessageDelta | ThoughtDelta | ToolOutput):
            self._events.append(event)
            self._runs.clear()
            self._has_others = True
            return
        key = (event.type, event.tool_call_id if isinstance(event, ToolOutput) else event.message_id)
        self._characters += len(event.text)
        if key in self._runs:
            self._runs[key].append(event)
        else:
            run = self._runs[key] = [event]
            self._events.append(run)

    def clear(self) -> list[Any]:
        """What was added, as the dialect's JSON."""
        told = [_joined(entry) if isinstance(entry, list) else to_wire(entry) for entry in self._events]
        self._events, self._characters, self._has_others = [], 0, False
        self._runs.clear()
        return told


def _joined(run: list[_Delta]) -> Any:
    return {**to_wire(run[0]), "text": "".join(delta.text for delta in run)}
