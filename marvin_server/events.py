"""What a front-end sees of a running turn: frozen events, each with a ``type`` of its own.

Delta events carry only what is new; ``*.finished`` events carry the whole. docs/events.md tables every field.
"""

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

from marvin_server.messages import Effect, Message, Status, Tagged, Usage

Stop = Literal["completed", "cancelled", "failed", "denied", "round_limit", "budget"]
Level = Literal["note", "warning", "error"]
Why = Literal["budget", "overflow", "model", "person", "undo"]
PermissionKind = Literal["command", "edit", "protected_path", "outside_path", "network", "trust"]
Decision = Literal["allow_once", "allow_session", "allow_edited", "deny", "deny_and_stop"]
EditKind = Literal["add", "update", "delete"]


class Script(Struct, frozen=True):
    """A file that a command would run and that was changed in this session; ``path`` is relative to the root. The
    ``text`` is all of it, but for a first line in brackets where there is more to say. ``digest`` is of the content,
    empty for one that was not read and is not shown."""

    path: str
    text: str
    digest: str


class Command(Struct, frozen=True):
    """Exactly what would run: the text, the shell that reads it, the directory, and changed variables. Of a person's
    own tool that shows no command, the text is the call and the shell is the tool's file.

    ``sandbox`` says what would confine it, in a few words; empty when nothing is said. ``revealed`` is ``display`` with
    all that hides in it made visible, None where that is the same; it is for editors, which get it from their server.
    """

    display: str
    shell: str
    cwd: str
    env_changes: Mapping[str, str] = {}
    scripts: tuple[Script, ...] = ()
    sandbox: str = ""
    revealed: str | None = None


class Permission(Struct, frozen=True):
    """A question to the person. ``decided_by`` names the rule that asks; an answer covers exactly what is shown.

    ``diff`` is the unified diff of what would be changed (of git's branches and history, what would be done to them),
    None where the tool cannot tell before. Where it is cut, a last line says so. It ``is_whole`` when all that a yes
    covers can be shown. ``options`` are the answers that it takes; only a question with a ``command`` can be answered
    with another one, and only a whole one for the session.
    """

    id: str
    kind: PermissionKind
    title: str
    reason: str
    decided_by: str
    tool_call_id: str | None = None
    command: Command | None = None
    diff: str | None = None
    options: tuple[Decision, ...] = ("allow_once", "allow_session", "deny", "deny_and_stop")
    is_whole: bool = True


class Hunk(Struct, frozen=True):
    """Old lines of a file that become new ones; lines have their ends.

    ``old_start`` and ``new_start`` are the numbers, from 1, of the first line on each side; where a side has no lines,
    of the line that they would come before. ``id`` depends on the path and on the lines, not on where they are.
    """

    id: str
    old_start: int
    old_lines: tuple[str, ...]
    new_start: int
    new_lines: tuple[str, ...]


class Edit(Struct, frozen=True):
    """What becomes of one file. ``path`` is relative to the workspace root; with ``uri`` it is the place before.

    ``new_path`` and ``new_uri`` are where the file goes, ``executable`` whether it gets or loses that permission; None
    keeps either. A file that is added or deleted has one hunk, unless it is empty.
    """

    kind: EditKind
    path: str
    uri: str
    hunks: tuple[Hunk, ...]
    new_path: str | None = None
    new_uri: str | None = None
    executable: bool | None = None


class Patch(Struct, frozen=True):
    """Changes to one or more files that are made, and can be undone, as one."""

    id: str
    title: str
    edits: tuple[Edit, ...]
    tool_call_id: str | None = None


class Rejection(Struct, frozen=True):
    """A hunk that the person does not want; the model gets the ``reason``."""

    hunk_id: str
    reason: str | None = None


class Failure(Struct, frozen=True):
    """Why a turn failed: ``kind`` is the error's class name, ``retryable`` whether the same prompt may work later."""

    kind: str
    message: str
    retryable: bool = False


class TurnStarted(Tagged, frozen=True, tag="turn.started"):
    turn_id: str
    session_id: str
    provider: str
    model: str


class RoundStarted(Tagged, frozen=True, tag="round.started"):
    """One model request begins; ``round`` counts from 1 within the turn."""

    round: int


class MessageDelta(Tagged, frozen=True, tag="message.delta"):
    message_id: str
    text: str


class MessageFinished(Tagged, frozen=True, tag="message.finished"):
    """A whole message of the transcript, whoever wrote it. It is on disk when a front-end sees this."""

    message: Message


class ThoughtDelta(Tagged, frozen=True, tag="thought.delta"):
    message_id: str
    text: str


class ThoughtFinished(Tagged, frozen=True, tag="thought.finished"):
    message_id: str
    text: str


class ToolStarted(Tagged, frozen=True, tag="tool.started"):
    """A tool call begins. ``locations`` are paths, relative to the workspace root, that it is about."""

    tool_call_id: str
    name: str
    title: str
    kind: Effect
    input: Mapping[str, Any]
    locations: tuple[str, ...] = ()


class ToolOutput(Tagged, frozen=True, tag="tool.output"):
    """Text that a running tool has just printed."""

    tool_call_id: str
    text: str


class ToolFinished(Tagged, frozen=True, tag="tool.finished"):
    """``output`` is what the model reads; ``details`` is for the screen alone. ``duration_ms`` leaves out how long
    somebody was asked."""

    tool_call_id: str
    name: str
    status: Status
    duration_ms: int
    output: str
    exit_code: int | None = None
    details: Mapping[str, Any] = {}


class PermissionRequested(Tagged, frozen=True, tag="permission.requested"):
    permission: Permission


class PermissionResolved(Tagged, frozen=True, tag="permission.resolved"):
    """``by`` says who decided: ``person``, or the rule or event that did."""

    permission_id: str
    decision: Decision
    by: str


class PatchProposed(Tagged, frozen=True, tag="patch.proposed"):
    """The tool call waits for the person's word on each hunk; no file is changed yet."""

    patch: Patch


class PatchApplied(Tagged, frozen=True, tag="patch.applied"):
    """The files are changed. ``patch`` is what was really done, in the files as they were then."""

    patch: Patch


class PatchResolved(Tagged, frozen=True, tag="patch.resolved"):
    """Some hunks of a patch, by their ids, are decided on. ``by`` says who: ``person``, or what ended the review."""

    patch_id: str
    kept: tuple[str, ...]
    rejected: tuple[Rejection, ...]
    by: str


class UsageChanged(Tagged, frozen=True, tag="usage"):
    """Tokens and money of the turn so far; ``cost_usd`` is None while a price is unknown.

    ``saved_usd`` is what cached tokens saved, against the price of the same tokens uncached: below 0 where writing them
    cost more than reading them saved, None where nothing was cached or its price is unknown.
    """

    usage: Usage
    cost_usd: float | None
    saved_usd: float | None = None


class Notice(Tagged, frozen=True, tag="notice"):
    """One line for the person: a fallback, a retry, a limit, something that was left out."""

    level: Level
    text: str


class Compacted(Tagged, frozen=True, tag="compaction"):
    """Of the conversation, the model reads from now on ``message``, a summary, in the place of ``replaced`` messages,
    and those from the one whose id is ``keeps`` on (None: only those that follow). All of it stays in the store, and
    this is on disk when a front-end sees it.

    ``reason`` is the context's budget, a vendor that refused the request as too long, the model's or the person's wish;
    of ``undo``, ``message`` is the summary that was there before, None where there was none. ``by`` is the model that
    wrote the summary, None where none did, and ``note`` then says why. Tokens are estimates for all that is in view.
    """

    id: str
    message: Message | None
    replaced: int
    keeps: str | None
    tokens_before: int
    tokens_after: int
    reason: Why
    by: str | None = None
    note: str | None = None

    @property
    def line(self) -> str:
        """What has come of it, for a person."""
        if self.message is None or self.reason == "undo":
            return f"the summary was taken back: about {self.tokens_after:,} tokens are in view again"
        by = f"by {self.by}" if self.by else f"without a model ({self.note})" if self.note else "without a model"
        return (
            f"{self.replaced:,} earlier messages were summarised {by}: about {self.tokens_before:,} tokens became "
            f"{self.tokens_after:,}; /compact undo takes it back"
        )


class TurnFinished(Tagged, frozen=True, tag="turn.finished"):
    """Always the last event of a turn, exactly once."""

    turn_id: str
    stop_reason: Stop
    usage: Usage
    error: Failure | None = None


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
    | PatchProposed
    | PatchApplied
    | PatchResolved
    | UsageChanged
    | Notice
    | Compacted
    | TurnFinished
)
