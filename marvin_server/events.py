"""What a front-end sees of a running turn: frozen events, each with a ``type`` of its own.

Delta events carry only what is new; ``*.finished`` events carry the whole. docs/events.md tables every field.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from marvin_server.messages import Effect, Message, Status, Usage

Stop = Literal["completed", "cancelled", "failed", "denied", "round_limit", "budget"]
Level = Literal["note", "warning", "error"]
PermissionKind = Literal["command", "edit", "protected_path", "outside_path", "network", "trust"]
Decision = Literal["allow_once", "allow_session", "deny", "deny_and_stop"]


@dataclass(frozen=True, slots=True)
class Command:
    """Exactly what would run: the text, the shell that reads it, the directory, and changed variables."""

    display: str
    shell: str
    cwd: str
    env_changes: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Permission:
    """A question to the person. ``decided_by`` names the rule that asks; an answer covers exactly what is shown."""

    id: str
    kind: PermissionKind
    title: str
    reason: str
    decided_by: str
    tool_call_id: str | None = None
    command: Command | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a turn failed: ``kind`` is the error's class name, ``retryable`` whether the same prompt may work later."""

    kind: str
    message: str
    retryable: bool = False


@dataclass(frozen=True, slots=True)
class TurnStarted:
    turn_id: str
    session_id: str
    provider: str
    model: str
    type: Literal["turn.started"] = "turn.started"


@dataclass(frozen=True, slots=True)
class RoundStarted:
    """One model request begins; ``round`` counts from 1 within the turn."""

    round: int
    type: Literal["round.started"] = "round.started"


@dataclass(frozen=True, slots=True)
class MessageDelta:
    message_id: str
    text: str
    type: Literal["message.delta"] = "message.delta"


@dataclass(frozen=True, slots=True)
class MessageFinished:
    """A whole message of the transcript, whoever wrote it. It is on disk when a front-end sees this."""

    message: Message
    type: Literal["message.finished"] = "message.finished"


@dataclass(frozen=True, slots=True)
class ThoughtDelta:
    message_id: str
    text: str
    type: Literal["thought.delta"] = "thought.delta"


@dataclass(frozen=True, slots=True)
class ThoughtFinished:
    message_id: str
    text: str
    type: Literal["thought.finished"] = "thought.finished"


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """A tool call begins. ``locations`` are paths, relative to the workspace root, that it is about."""

    tool_call_id: str
    name: str
    title: str
    kind: Effect
    input: Mapping[str, Any]
    locations: tuple[str, ...] = ()
    type: Literal["tool.started"] = "tool.started"


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """Text that a running tool has just printed."""

    tool_call_id: str
    text: str
    type: Literal["tool.output"] = "tool.output"


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """``output`` is what the model reads; ``details`` is for the screen alone."""

    tool_call_id: str
    name: str
    status: Status
    duration_ms: int
    output: str
    exit_code: int | None = None
    details: Mapping[str, Any] = field(default_factory=dict[str, Any])
    type: Literal["tool.finished"] = "tool.finished"


@dataclass(frozen=True, slots=True)
class PermissionRequested:
    permission: Permission
    type: Literal["permission.requested"] = "permission.requested"


@dataclass(frozen=True, slots=True)
class PermissionResolved:
    """``by`` says who decided: ``person``, or the rule or event that did."""

    permission_id: str
    decision: Decision
    by: str
    type: Literal["permission.resolved"] = "permission.resolved"


@dataclass(frozen=True, slots=True)
class UsageChanged:
    """Tokens and money of the turn so far; ``cost_usd`` is None while a price is unknown."""

    usage: Usage
    cost_usd: float | None
    type: Literal["usage"] = "usage"


@dataclass(frozen=True, slots=True)
class Notice:
    """One line for the person: a fallback, a retry, a limit, something that was left out."""

    level: Level
    text: str
    type: Literal["notice"] = "notice"


@dataclass(frozen=True, slots=True)
class TurnFinished:
    """Always the last event of a turn, exactly once."""

    turn_id: str
    stop_reason: Stop
    usage: Usage
    error: Failure | None = None
    type: Literal["turn.finished"] = "turn.finished"


Event = (
    TurnStarted
    | RoundStarted
    | MessageDelta
    | MessageFinished
    | ThoughtDelta
    | ThoughtFinished
    | ToolStarted
    | ToolOutput
    | ToolFinished
    | PermissionRequested
    | PermissionResolved
    | UsageChanged
    | Notice
    | TurnFinished
)
