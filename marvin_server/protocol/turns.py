"""``marvin/turn/…`` and ``marvin/oneShot``: a turn begins, ends early, tells what happens, and is taken back."""

from typing import Literal

from marvin_server.events import Event
from marvin_server.protocol.base import FromClient, FromServer
from marvin_server.protocol.context import Context, Input
from marvin_server.protocol.places import Range

WhenBusy = Literal["reject", "queue", "steer"]
State = Literal["running", "queued", "steered", "finished"]
Action = Literal["explain", "fix", "test", "document", "refactor", "commitMessage", "ask"]


class TurnStartParams(FromClient, frozen=True):
    """A prompt. The same ``client_turn_id`` starts one turn only, however often it is sent, and to whichever server."""

    session_id: str
    input: tuple[Input, ...]
    client_turn_id: str | None = None
    context: tuple[Context, ...] = ()
    when_busy: WhenBusy = "reject"


class TurnStartResult(FromServer, frozen=True):
    """``turn_id`` is the running turn's where the prompt was ``steered`` into it. It is ``finished`` where an earlier
    run of the server has got the same ``client_turn_id``: nothing is started."""

    turn_id: str
    state: State


class TurnCancelParams(FromClient, frozen=True):
    """Without ``turn_id``, the turn that runs; one that is queued can be named."""

    session_id: str
    turn_id: str | None = None


class TakeBackParams(FromClient, frozen=True):
    """With ``dry_run`` nothing is changed and only the preview is made."""

    session_id: str
    turn_id: str
    dry_run: bool = False


class FileConflict(FromServer, frozen=True):
    """Lines that were changed by somebody else since: ``line`` (from 1) is the first, ``ours`` are those that are
    there, ``theirs`` those that would have been put there."""

    line: int
    ours: tuple[str, ...]
    theirs: tuple[str, ...]


class FailedFile(FromServer, frozen=True):
    """A file that was left alone, and why."""

    path: str
    reason: str
    conflicts: tuple[FileConflict, ...] = ()


class TakeBackResult(FromServer, frozen=True):
    """``applied`` are the paths of the files that were changed, ``preview`` is the change as a unified diff, and
    ``notes`` are lines for the person."""

    applied: tuple[str, ...]
    failed: tuple[FailedFile, ...]
    preview: str
    notes: tuple[str, ...] = ()


class TurnEventsParams(FromServer, frozen=True):
    """Events of one turn, in order; ``seq`` counts these notifications of a session by one, from 1."""

    session_id: str
    turn_id: str
    seq: int
    events: tuple[Event, ...]


class OneShotParams(FromClient, frozen=True):
    """One action on a document, or without ``range`` on all of it; without ``session_id`` in a session of its own."""

    action: Action
    uri: str
    version: int | None = None
    range: Range | None = None
    instruction: str | None = None
    session_id: str | None = None


class OneShotResult(FromServer, frozen=True):
    """The turn that does it."""

    session_id: str
    turn_id: str
