"""How a request is refused: JSON-RPC's and LSP's codes where they fit, and the dialect's own."""

from enum import IntEnum

from marvin_server.protocol.base import FromServer
from marvin_server.protocol.wire import camel


class Code(IntEnum):
    """Below 0 the codes are JSON-RPC's and LSP's, above 0 the dialect's."""

    PARSE_ERROR = -32700
    INVALID_REQUEST = -32600
    METHOD_NOT_FOUND = -32601
    INVALID_PARAMS = -32602
    INTERNAL_ERROR = -32603
    NOT_INITIALIZED = -32002
    CANCELLED = -32800
    STALE_VERSION = -32801
    FAILED = -32803
    SESSION_NOT_FOUND = 1001
    TURN_ACTIVE = 1002
    AUTH_REQUIRED = 1003
    PROVIDER = 1004
    STALE_PATCH = 1005
    UNSUPPORTED = 1006
    ALREADY_SETTLED = 1007

    @property
    def kind(self) -> str:
        """The name on the wire: ``sessionNotFound``."""
        return camel(self.name.lower())


class ErrorData(FromServer, frozen=True):
    """The ``data`` of an error. ``retryable``: the same request may work later.

    ``status`` (HTTP) and ``retry_after_ms`` come with ``provider``, where they are known.
    """

    kind: str
    retryable: bool
    status: int | None = None
    retry_after_ms: int | None = None
