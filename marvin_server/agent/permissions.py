"""Decides whether a tool call may run, and keeps the questions that wait for a person. No answer is never a yes."""

import asyncio
from collections.abc import Callable
from typing import Literal

from msgspec import Struct

from marvin_server.events import Decision, Event, Permission, PermissionKind, PermissionRequested, PermissionResolved
from marvin_server.messages import Effect
from marvin_server.settings import Approve

Verdict = Literal["allow", "ask", "deny"]


class Ruling(Struct, frozen=True):
    """What was decided, and the rule that decided it."""

    verdict: Verdict
    rule: str


class Policy(Struct, frozen=True):
    """The rules of a session. ``approve`` stands in for a person who is not there; None means somebody can be asked."""

    approve: Approve | None = None
    readonly: bool = False

    def for_effect(self, effect: Effect) -> Ruling:
        """May a tool with this effect run on what lies beneath the root?"""
        if effect == "read":
            return Ruling("allow", "reading is always allowed")
        if self.readonly and effect != "network":
            return Ruling("deny", "read-only mode")
        if self.approve is not None:
            return Ruling("allow" if self.approve == "all" else "deny", f"--approve {self.approve}")
        if effect == "edit":
            return Ruling("allow", "mode auto: edits are applied")
        return Ruling("ask", f"mode auto: {effect} asks")

    def for_path(self, kind: PermissionKind) -> Ruling:
        """May a protected or an outside path be used?"""
        if self.approve is not None:
            return Ruling("deny", f"--approve never covers {kind.replace('_', ' ')}s")
        return Ruling("ask", f"{kind.replace('_', ' ')}s ask")


class Permissions:
    """The open questions of a session and what was granted for as long as it lives (in memory only)."""

    def __init__(self) -> None:
        self._open: dict[str, asyncio.Future[tuple[Decision, str]]] = {}
        self._granted: set[tuple[object, ...]] = set()

    async def ask(self, permission: Permission, emit: Callable[[Event], None]) -> Decision:
        """Put the question and wait for the first answer; cancelled or shut down means denied."""
        shown = (permission.kind, permission.title, permission.command and _shown(permission))
        if shown in self._granted:
            return "allow_session"
        answer = asyncio.get_running_loop().create_future()
        self._open[permission.id] = answer
        emit(PermissionRequested(permission))
        decision: Decision = "deny"
        by = "cancelled"
        try:
            decision, by = await answer
        finally:
            self._open.pop(permission.id, None)
            emit(PermissionResolved(permission.id, decision, by))
        if decision == "allow_session":
            self._granted.add(shown)
        return decision

    def answer(self, permission_id: str, decision: Decision, by: str = "person") -> bool:
        """Settle a question. False when there is none by that id any more: the first answer has won."""
        answer = self._open.get(permission_id)
        if answer is None or answer.done():
            return False
        answer.set_result((decision, by))
        return True

    def deny_all(self, by: str) -> None:
        """Settle every open question as denied: disconnect or shutdown."""
        for permission_id in tuple(self._open):
            self.answer(permission_id, "deny", by)


def _shown(permission: Permission) -> tuple[object, ...]:
    command = permission.command
    assert command is not None
    return (command.display, command.shell, command.cwd, tuple(sorted(command.env_changes.items())))
