"""Decides whether a tool call may run, and keeps the questions that wait for a person. No answer is never a yes."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from marvin_server.config_file import Verdict
from marvin_server.errors import NotOffered
from marvin_server.events import Decision, Event, Permission, PermissionKind, PermissionRequested, PermissionResolved
from marvin_server.messages import Effect
from marvin_server.settings import Approve, Mode

if TYPE_CHECKING:
    from marvin_server.agent.rules import Finding

_WHAT: dict[Effect, str] = {
    "read": "reading",
    "edit": "edits",
    "execute": "commands",
    "network": "requests to the network",
    "message": "messages",
}
_DENIALS: frozenset[Decision] = frozenset({"deny", "deny_and_stop"})


class Ruling(Struct, frozen=True):
    """What was decided, and the rule that decided it."""

    verdict: Verdict
    rule: str


class Policy(Struct, frozen=True):
    """How a session decides. ``approve`` stands in for a person who is not there; None means somebody can be asked.
    ``can_review``: that somebody can answer for each hunk of a patch."""

    approve: Approve | None = None
    readonly: bool = False
    mode: Mode = "auto"
    can_review: bool = False

    @property
    def reviews(self) -> bool:
        """Whether each patch is put before the person, hunk by hunk, before it is made."""
        return self.mode == "review" and self.can_review and self.approve is None

    def ruling(
        self, effect: Effect, finding: "Finding | None" = None, note: str | None = None, *, by_patch: bool = False
    ) -> Ruling:
        """May a call with this effect run? ``finding`` is what the person's rules say of it, None when nothing;
        ``note`` says why they do not. A call that changes things ``by_patch`` alone needs no other question than the
        review of that."""
        if (self.readonly or self.mode == "plan") and effect not in {"read", "network"}:
            return Ruling("deny", "mode plan: nothing is changed or run" if self.mode == "plan" else "read-only mode")
        if finding is not None and finding.verdict == "deny":
            return Ruling("deny", finding.rule)
        if by_patch and self.reviews:
            return Ruling("allow", "mode review: the person is asked about each hunk")
        ruling = self._attended(effect, finding) if self.approve is None else self._unattended(effect, finding)
        return Ruling(ruling.verdict, f"{ruling.rule} ({note})") if note and ruling.verdict != "allow" else ruling

    def for_path(self, kind: PermissionKind) -> Ruling:
        """May a protected or an outside path be used? No rule and no mode says yes to that, only a person."""
        if self.approve is not None:
            return Ruling("deny", f"--approve never covers {kind.replace('_', ' ')}s")
        return Ruling("ask", f"{kind.replace('_', ' ')}s ask")

    def _attended(self, effect: Effect, finding: "Finding | None") -> Ruling:
        if finding is not None and finding.verdict == "ask":
            return Ruling("ask", finding.rule)
        if self.mode == "review" and effect == "edit":
            return Ruling("ask", "mode review: every edit waits")
        if finding is not None:
            return Ruling("allow", finding.rule)
        if effect == "read":
            return Ruling("allow", "reading is always allowed")
        free = {"edit"} if self.mode != "full" else {"edit", "execute", "network"}
        if effect in free:
            return Ruling("allow", f"mode {self.mode}: {_WHAT[effect]} may go ahead")
        return Ruling("ask", f"mode {self.mode}: {_WHAT[effect]} must be asked for")

    def _unattended(self, effect: Effect, finding: "Finding | None") -> Ruling:
        flag = f"--approve {self.approve}"
        if finding is not None and finding.verdict == "ask":
            if self.approve == "all" and not finding.needs_person:
                return Ruling("allow", f"{flag} says yes to {finding.rule}")
            return Ruling("deny", f"{finding.rule}; nobody is there to ask")
        if effect == "read":
            return Ruling("allow", "reading is always allowed")
        if self.approve == "none":
            return Ruling("deny", flag)
        if finding is not None:
            return Ruling("allow", finding.rule)
        return (
            Ruling("allow", flag) if self.approve == "all" else Ruling("deny", f"{flag} runs only what a rule allows")
        )


class Answer(Struct, frozen=True):
    """A settled question: the decision, who made it, and with ``allow_edited`` the command to run instead. ``note`` is
    what the person adds to a denial for the model."""

    decision: Decision
    by: str
    command: str | None = None
    note: str | None = None


class Board(Protocol):
    """Where open questions stand so that they may be answered from another process."""

    def post(self, permission: Permission, settle: Callable[[Answer], None]) -> None:
        """Put the question up; ``settle`` is called with the answer that comes from elsewhere."""
        ...

    def claim(self, permission_id: str) -> bool:
        """Whether nobody elsewhere has answered; nobody can from then on."""
        ...

    def withdraw(self, permission_id: str) -> None:
        """Take the question down, answered or not."""
        ...


class Permissions:
    """The open questions of a session and what was granted for as long as it lives (in memory only).

    ``board`` gives the place where they stand for other processes, None where they stand for none; ``steer`` gets what
    a person adds to a yes (a no carries it to the model itself).
    """

    def __init__(
        self, board: Callable[[], Board] | None = None, steer: Callable[[str], object] = lambda _: None
    ) -> None:
        self._board = board
        self._steer = steer
        self._open: dict[str, tuple[Permission, asyncio.Future[Answer]]] = {}
        self._granted: set[object] = set()

    async def ask(self, permission: Permission, emit: Callable[[Event], None], shown: object = None) -> Decision:
        """As ``put``, for a question whose answer is a decision alone."""
        return (await self.put(permission, emit, shown)).decision

    async def put(self, permission: Permission, emit: Callable[[Event], None], shown: object = None) -> Answer:
        """Put the question and wait for the first answer; cancelled or shut down means denied.

        ``shown`` stands for all that a yes covers (the kind and the title of the question, without it): "for this
        session" holds for questions that show the same.
        """
        covered = (permission.kind, permission.title) if shown is None else shown
        if covered in self._granted:
            return Answer("allow_session", "session")
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        if self._board:
            self._board().post(permission, partial(self._settle, permission.id))
        self._open[permission.id] = permission, future
        emit(PermissionRequested(permission))
        answer = Answer("deny", "cancelled")
        try:
            answer = await future
        finally:
            self._open.pop(permission.id, None)
            emit(PermissionResolved(permission.id, answer.decision, answer.by))
            if self._board:
                self._board().withdraw(permission.id)
        if answer.decision == "allow_session":
            self._granted.add(covered)
        return answer

    def answer(
        self,
        permission_id: str,
        decision: Decision,
        by: str = "person",
        command: str | None = None,
        note: str | None = None,
    ) -> bool:
        """Settle a question; ``command`` comes with ``allow_edited``, which without one means deny.

        False when there is none by that id any more: the first answer has won. Raises ``NotOffered`` for a decision
        that the question does not take, and ``StoreError`` where it cannot be told which answer was the first.
        """
        if (permission := self._waiting(permission_id)) is None:
            return False
        if decision not in permission.options:
            raise NotOffered(decision, permission.options)
        if self._board and not self._board().claim(permission_id):
            return False
        self._settle(permission_id, Answer(decision, by, command, note))
        return True

    def deny_all(self, by: str) -> None:
        """Settle every open question as denied: disconnect or shutdown."""
        for permission_id in tuple(self._open):
            self._settle(permission_id, Answer("deny", by))

    def _waiting(self, permission_id: str) -> Permission | None:
        """The question, while it has no answer."""
        permission, future = self._open.get(permission_id, (None, None))
        return None if future is None or future.done() else permission

    def _settle(self, permission_id: str, answer: Answer) -> None:
        if (permission := self._waiting(permission_id)) is None:
            return
        is_edited = answer.decision == "allow_edited"
        if answer.decision not in permission.options or (is_edited and not answer.command):
            answer = Answer("deny", answer.by, note=answer.note)
        self._open[permission_id][1].set_result(answer)
        if answer.note and answer.decision not in _DENIALS:
            self._steer(answer.note)
