"""Decides whether a tool call may run, and keeps the questions that wait for a person. No answer is never a yes."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct

from marvin_server.config_file import Verdict
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


class Ruling(Struct, frozen=True):
    """What was decided, and the rule that decided it."""

    verdict: Verdict
    rule: str


class Policy(Struct, frozen=True):
    """How a session decides. ``approve`` stands in for a person who is not there; None means somebody can be asked."""

    approve: Approve | None = None
    readonly: bool = False
    mode: Mode = "auto"

    def ruling(self, effect: Effect, finding: "Finding | None" = None, note: str | None = None) -> Ruling:
        """May a call with this effect run? ``finding`` is what the person's rules say of it, None when nothing;
        ``note`` says why they do not."""
        if (self.readonly or self.mode == "plan") and effect not in {"read", "network"}:
            return Ruling("deny", "mode plan: nothing is changed or run" if self.mode == "plan" else "read-only mode")
        if finding is not None and finding.verdict == "deny":
            return Ruling("deny", finding.rule)
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
    """A settled question: the decision, who made it, and with ``allow_edited`` the command to run instead."""

    decision: Decision
    by: str
    command: str | None = None


class Permissions:
    """The open questions of a session and what was granted for as long as it lives (in memory only)."""

    def __init__(self) -> None:
        self._open: dict[str, asyncio.Future[Answer]] = {}
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
        self._open[permission.id] = future
        emit(PermissionRequested(permission))
        answer = Answer("deny", "cancelled")
        try:
            answer = await future
        finally:
            self._open.pop(permission.id, None)
            emit(PermissionResolved(permission.id, answer.decision, answer.by))
        if answer.decision == "allow_session" and _is_shown(permission):
            self._granted.add(covered)
        return answer

    def answer(self, permission_id: str, decision: Decision, by: str = "person", command: str | None = None) -> bool:
        """Settle a question; ``command`` comes with ``allow_edited``, which without one means deny.

        False when there is none by that id any more: the first answer has won.
        """
        future = self._open.get(permission_id)
        if future is None or future.done():
            return False
        if decision == "allow_edited" and not command:
            decision = "deny"
        future.set_result(Answer(decision, by, command))
        return True

    def deny_all(self, by: str) -> None:
        """Settle every open question as denied: disconnect or shutdown."""
        for permission_id in tuple(self._open):
            self.answer(permission_id, "deny", by)


def _is_shown(permission: Permission) -> bool:
    """Whether all that would run was read: a script without a digest was not, and may be another one next time."""
    return permission.command is None or all(script.digest for script in permission.command.scripts)
