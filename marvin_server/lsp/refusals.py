"""How a request is refused, and which error of ours has which code."""

from typing import Any

from marvin_server.errors import (
    Auth,
    MarvinError,
    NoSession,
    ProviderError,
    SessionBusy,
    SessionOwned,
    UsageError,
)
from marvin_server.protocol.errors import Code, ErrorData
from marvin_server.protocol.wire import to_wire
from marvin_server.sanitise import printable


class Refusal(Exception):
    """A request is answered with an error. ``message`` says what to do."""

    def __init__(
        self,
        code: Code,
        message: str,
        *,
        retryable: bool = False,
        status: int | None = None,
        retry_after_ms: int | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.details = ErrorData(code.kind, retryable, status, retry_after_ms)

    def to_wire(self) -> dict[str, Any]:
        """The ``error`` member of the answer."""
        return {"code": int(self.code), "message": printable(str(self)), "data": to_wire(self.details)}


_CODES: tuple[tuple[type[MarvinError], Code], ...] = (
    (NoSession, Code.SESSION_NOT_FOUND),
    (SessionOwned, Code.TURN_ACTIVE),
    (SessionBusy, Code.TURN_ACTIVE),
    (Auth, Code.AUTH_REQUIRED),
    (ProviderError, Code.PROVIDER),
    (UsageError, Code.INVALID_PARAMS),
    (MarvinError, Code.FAILED),
)


def refusal(error: MarvinError) -> Refusal:
    """The answer that stands for one of Marvin's own errors."""
    code = next(code for kind, code in _CODES if isinstance(error, kind))
    if not isinstance(error, ProviderError):
        return Refusal(code, str(error), retryable=code is Code.TURN_ACTIVE)
    wait = None if error.retry_after is None else round(error.retry_after * 1000)
    return Refusal(code, str(error), retryable=error.retryable, status=error.status, retry_after_ms=wait)
