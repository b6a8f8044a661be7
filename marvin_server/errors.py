"""Every exception that Marvin raises on purpose.

::

    MarvinError
    ├── UsageError            a wrong option or value; exit code 2
    │   ├── NotOffered        an answer that the question does not take
    │   └── SessionBusy       something else is under way in the session
    ├── BudgetSpent           a cost limit is reached
    ├── StoreError            the session store cannot be read or written
    │   ├── NoSession         there is no session by that id
    │   └── SessionOwned      another process is at work in the session
    ├── CheckpointError       what would be undone cannot be kept or read
    ├── PatchError            a patch cannot be reviewed
    │   ├── NoPatch           there is no patch by that id
    │   └── PatchSettled      every hunk of it is decided on
    ├── ToolError             a tool could not do what it was asked; becomes a result that the model reads
    │   ├── PathRefused       a path that leads out of the workspace
    │   ├── Rejected          the person does not want the change
    │   └── PermissionNeeded  the person must be asked first; nothing was done yet
    └── ProviderError         a model request failed
        ├── Auth              the key is missing, wrong or not allowed
        ├── RateLimited       429
        ├── Overloaded        503, 529
        ├── ContextOverflow   the conversation does not fit the model
        ├── BadRequest        any other refusal of the request itself
        ├── Unreachable       no connection, or the name is unknown
        ├── Interrupted       the stream ended or broke before the answer was whole
        └── TimedOut          the request, or a silence in the stream, took too long

A message is one line, says what to do, and never holds a secret.
"""

from collections.abc import Sequence
from typing import Literal


class MarvinError(Exception):
    """Base of all errors whose message may be shown to a person as it is."""


class UsageError(MarvinError):
    """A wrong option, setting or combination of them."""


class SessionBusy(UsageError):
    """A turn runs in the session, or something else that must have it for itself."""


class NotOffered(UsageError):
    """A question does not take the answer ``decision``, but one of ``options``."""

    def __init__(self, decision: str, options: Sequence[str]) -> None:
        super().__init__(f"this question takes {', '.join(options)}, not {decision}")
        self.decision = decision
        self.options = tuple(options)


class BudgetSpent(MarvinError):
    """No more may be spent, in this session or at this time."""


class StoreError(MarvinError):
    """The session store cannot be opened, read or written."""


class NoSession(StoreError):
    """There is no session by that id."""


class SessionOwned(StoreError):
    """Another process runs turns in the session."""


class CheckpointError(MarvinError):
    """A checkpoint of the workspace's files cannot be taken, kept or read."""


class PatchError(MarvinError):
    """A patch cannot be reviewed."""


class NoPatch(PatchError):
    """There is no patch by that id in the session, since it was opened."""


class PatchSettled(PatchError):
    """Every hunk of the patch is decided on."""


class ToolError(MarvinError):
    """A tool cannot do what it was asked; the message tells the model how to go on."""


class PathRefused(ToolError):
    """A path leads out of the workspace, or names something that no tool may touch."""


class Rejected(ToolError):
    """The person has seen what would be changed and does not want any of it; nothing was done."""


class PermissionNeeded(ToolError):
    """The person must be asked before ``path`` is used. It is raised before anything was done.

    ``kind`` is ``protected_path`` or ``outside_path``. Whoever runs the tool asks, and runs it again with a workspace
    that permits exactly this path.
    """

    def __init__(self, kind: Literal["protected_path", "outside_path"], path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.kind: Literal["protected_path", "outside_path"] = kind
        self.path = path
        self.reason = reason


class ProviderError(MarvinError):
    """A model request failed.

    ``status`` is the HTTP status where there was one, ``retry_after`` seconds that the server asked to wait;
    ``retryable`` says whether the same request may succeed later; ``past`` that it failed long ago, in a recording, so
    that nothing is gained by waiting.
    """

    retryable = False

    def __init__(self, message: str, *, status: int | None = None, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after = retry_after
        self.past = False


class Auth(ProviderError):
    """The key is missing, wrong or not allowed to use the model."""


class RateLimited(ProviderError):
    """The vendor asks to slow down."""

    retryable = True


class Overloaded(ProviderError):
    """The vendor is out of capacity for the moment."""

    retryable = True


class ContextOverflow(ProviderError):
    """The conversation does not fit the model's context."""


class BadRequest(ProviderError):
    """The vendor refused the request itself, or answered something that is not its protocol."""


class Unreachable(ProviderError):
    """No connection to the vendor could be made."""

    retryable = True


class Interrupted(ProviderError):
    """The stream ended or broke before the answer was whole."""

    retryable = True


class TimedOut(ProviderError):
    """The request, or a silence within the stream, took too long."""

    retryable = True
