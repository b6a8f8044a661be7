"""How the server and a session stand: ``marvin/status``, ``marvin/status/changed`` and ``marvin/usage/get``."""

from typing import Literal

from marvin_server.messages import Usage
from marvin_server.protocol.base import FromClient, FromServer
from marvin_server.settings import Span

Login = Literal["ok", "required", "failed"]
StatusKind = Literal["ready", "busy", "warning"]


class StatusResult(FromServer, frozen=True):
    """Who would answer in a new session, and whether anything is at work. ``message``: what to do about ``auth``."""

    provider: str
    model: str
    auth: Login
    busy: bool
    version: str
    message: str | None = None


class StatusChangedParams(FromServer, frozen=True):
    """One line for the status bar, which says what to do where something has to be done."""

    busy: bool
    kind: StatusKind
    message: str


class UsageGetParams(FromClient, frozen=True):
    session_id: str


class Spent(FromServer, frozen=True):
    """What model requests have used. ``cost_usd`` is None while a price is unknown, and ``saved_usd``, what cached
    tokens saved, where nothing was."""

    requests: int
    tokens: Usage
    cost_usd: float | None = None
    saved_usd: float | None = None


class ModelSpent(Spent, frozen=True, kw_only=True):
    """What one model of one provider has used."""

    provider: str
    model: str


class Cap(FromServer, frozen=True):
    """The most that may be spent in a session, a day or a month, and what was: USD, as far as prices are known."""

    span: Span
    cap_usd: float
    spent_usd: float


class UsageGetResult(FromServer, frozen=True):
    """All that a session has used, by model too. ``context_used`` and ``context_size`` are tokens: what the next
    request will hold at least, and what the model can read; ``cost_usd`` is None while a price is unknown. ``lifetime``
    is what all sessions of the profile have used, those that were deleted too."""

    tokens: Usage
    context_used: int
    context_size: int | None = None
    cost_usd: float | None = None
    requests: int | None = None
    saved_usd: float | None = None
    models: tuple[ModelSpent, ...] | None = None
    lifetime: Spent | None = None
    caps: tuple[Cap, ...] | None = None
