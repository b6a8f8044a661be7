"""What goes wrong between two machines, as errors whose one line a person can act on."""

import os
import re
import ssl
from collections.abc import Iterator
from typing import cast

from marvin_server.errors import Interrupted, TimedOut, Unreachable

_LONGEST = 200


def unreachable(host: str, error: BaseException) -> Unreachable:
    """No connection to ``host`` came about."""
    refusal = next((cause for cause in _chain(error) if isinstance(cause, ssl.SSLCertVerificationError)), None)
    if refusal:
        return Unreachable(
            f"cannot reach {host}: its certificate is not trusted ({refusal.verify_message}); if it should be, let the "
            "variable SSL_CERT_FILE name a file with the certificate of its authority"
        )
    return Unreachable(
        f"cannot reach {host} ({_reason(error)}); check the network, the address and that a server runs there"
    )


def unusable(host: str, error: BaseException) -> Unreachable:
    """The address, or what the environment says of proxies and certificates, makes no sense."""
    reason = _reason(error)
    return Unreachable(
        f"cannot reach {host}: {reason}; check the address and the environment's proxy and SSL variables"
    )


def unanswered(host: str, error: BaseException) -> Interrupted:
    """The connection ended before the head of an answer was whole, or what came is no HTTP."""
    return Interrupted(f"{host} closed the connection without an answer ({_reason(error)})")


def broken(host: str, error: BaseException) -> Interrupted:
    """The connection ended within an answer, or the rest of it is no HTTP."""
    return Interrupted(f"the connection to {host} broke during the answer ({_reason(error)})")


def too_long(host: str) -> TimedOut:
    """The request's deadline has passed."""
    return TimedOut(f"{host} took longer than the request may; the setting request_timeout allows more")


def silent(host: str) -> TimedOut:
    """A silence within the answer was longer than the stall time-out."""
    return TimedOut(f"{host} fell silent in its answer; the setting stall_timeout allows longer silences")


def _reason(error: BaseException) -> str:
    """The innermost cause that says something, such as the operating system's, as one line."""
    causes = [cause for cause in _chain(error) if str(cause)]
    deepest = causes[-1] if causes else error
    if isinstance(deepest, ConnectionError) and deepest.errno:
        return os.strerror(deepest.errno)
    text = getattr(deepest, "strerror", None) or str(deepest) or type(deepest).__name__
    # asyncio joins the failures of a host's several addresses into one text.
    if found := re.match(r"Multiple exceptions: \[Errno (\d+)\]", text):
        return os.strerror(int(found[1]))
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        group = cast("tuple[BaseException, ...]", getattr(error, "exceptions", ()))
        error = group[0] if group else error.__cause__ or error.__context__
