"""How the server and a session stand: ``marvin/status``, ``marvin/status/changed`` and ``marvin/usage/get``."""

from typing import Literal

from marvin_server.messages import Usage
from marvin_server.protocol.base import FromClient, FromServer

Login = Literal["ok", "required", "failed"]
StatusKind = Literal["ready", "busy", "warning"]


class StatusResult(FromServer, frozen=True):
    """Who would answer in a new session, and whether any turn runs. ``message`` says what to do about ``auth``."""

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


class UsageGetResult(FromServer, frozen=True):
    """All that a session has used. ``context_used`` and ``context_size`` are tokens: what the next request will hold at
    least, and what the model can read; ``cost_usd`` is None while a price is unknown."""

    tokens: Usage
    context_used: int
    context_size: int | None = None
    cost_usd: float | None = None
