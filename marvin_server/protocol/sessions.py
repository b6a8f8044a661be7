"""``marvin/session/…``: begin, find, load, change and delete sessions."""

from typing import Literal

from marvin_server.events import Compacted, Patch, Permission
from marvin_server.messages import Message
from marvin_server.protocol.base import FromClient, FromServer
from marvin_server.protocol.items import AnyItem
from marvin_server.settings import Mode

Activity = Literal["summarising"]


class Session(FromServer, frozen=True):
    """``cwd`` is an absolute path. Times are ISO 8601 in UTC; ``parent_id`` is the session that it was forked from.

    ``busy`` says that something is at work in it, here or in another process; ``activity`` what, where it is here
    and no turn."""

    id: str
    title: str
    cwd: str
    mode: Mode
    model: str
    created_at: str
    updated_at: str
    busy: bool
    parent_id: str | None = None
    activity: Activity | None = None


class SessionResult(FromServer, frozen=True):
    """The session as it is now."""

    session: Session


class SessionNewParams(FromClient, frozen=True):
    """``cwd`` is an absolute path; an ``ephemeral`` session is in no list, and goes with the connection."""

    cwd: str
    title: str | None = None
    mode: Mode | None = None
    model: str | None = None
    ephemeral: bool = False


class SessionListParams(FromClient, frozen=True):
    """Only sessions of ``cwd``, and only those that hold the words of ``query``; ``cursor`` is the last page's
    ``next_cursor``."""

    cwd: str | None = None
    query: str | None = None
    cursor: str | None = None
    limit: int = 50


class SessionListResult(FromServer, frozen=True):
    """The latest first; ``next_cursor`` is there when there are more."""

    sessions: tuple[Session, ...]
    next_cursor: str | None = None


class SessionLoadParams(FromClient, frozen=True):
    """``limit`` counts messages; ``before`` is the ``cursor`` of the page that was loaded last."""

    session_id: str
    limit: int = 100
    before: str | None = None


class PartialMessage(FromServer, frozen=True):
    """What the model has written so far of the message that it is at."""

    message_id: str
    text: str
    thought: str | None = None


class QueuedPrompt(FromServer, frozen=True):
    """A prompt that waits for its turn, in whichever process."""

    turn_id: str
    message: Message


class Draft(FromServer, frozen=True):
    """A prompt that waited when its server ended, or when the turn that it was for was stopped. Nothing starts it by
    itself."""

    id: str
    created_at: str
    message: Message


class SessionLoadResult(FromServer, frozen=True):
    """One moment of a session: everything up to ``seq`` is in it, nothing later is.

    ``items`` is a page, oldest first; ``cursor`` is there when there are older ones. ``turn_id`` is the running turn.
    ``open_permissions`` are those of another process where that one is at work.
    """

    session: Session
    items: tuple[AnyItem, ...]
    seq: int
    open_permissions: tuple[Permission, ...]
    pending_patches: tuple[Patch, ...]
    queued: tuple[QueuedPrompt, ...] = ()
    drafts: tuple[Draft, ...] = ()
    cursor: str | None = None
    turn_id: str | None = None
    partial: PartialMessage | None = None


class SessionForkParams(FromClient, frozen=True):
    """A session that goes on from ``at_item_id``, or from the end."""

    session_id: str
    at_item_id: str | None = None


class SessionUpdateParams(FromClient, frozen=True):
    """Another title; ``archived`` sessions are listed only when words are looked for."""

    session_id: str
    title: str | None = None
    archived: bool | None = None


class SessionDeleteParams(FromClient, frozen=True):
    session_id: str


class SessionDeletedParams(FromServer, frozen=True):
    """Another process has deleted a session that this client has begun or loaded."""

    session_id: str


class SessionCompactParams(FromClient, frozen=True):
    """Have a summary stand for the older part of what was said. With ``preview`` nothing changes, and the same without
    it carries out what that has shown. ``focus`` is what the summary has to keep in view."""

    session_id: str
    preview: bool = False
    focus: str = ""


class SessionCompactResult(FromServer, frozen=True):
    """``topics`` are the prompts that go out of view, a short line each; ``diff`` is unified: what goes, each message
    cut short, and the summary that comes in its place."""

    compaction: Compacted
    topics: tuple[str, ...]
    diff: str


class SessionChangedParams(FromServer, frozen=True):
    """The session is not what it was."""

    session: Session
