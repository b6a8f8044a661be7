"""What goes wrong between two machines, as errors whose one line a person can act on."""

import os
import re
import ssl
from collections.abc import Iterator
from typing import cast

from marvin_server.errors import BadRequest, Interrupted, TimedOut, Unreachable

_LONGEST = 200


def unreachable(host: str, error: BaseException) -> Unreachable:
    """No connection came about."""
    refusal = next((cause for cause in _chain(error) if isinstance(cause, ssl.SSLCertVerificationError)), None)
    if refusal:
        return Unreachable(
            f"cannot reach {host}: its certificate is refused ({refusal.verify_message}); if you trust it, let the "
            "variable SSL_CERT_FILE name a file that holds its authority's certificate"
        )
    return Unreachable(
        f"cannot reach {host} ({_reason(error)}); check the network, the address and that a server runs there"
    )


def unusable(host: str, error: BaseException) -> Unreachable:
    """The address, or what the environment says of proxies and certificates, makes no sense."""
    return Unreachable(f"cannot reach {host}: {error}; check the address and the environment's proxy and SSL variables")


def improper(host: str) -> BadRequest:
    """A header holds what HTTP forbids. The line does not show it, since it may be a key."""
    return BadRequest(f"the request to {host} cannot be sent: a header holds characters that HTTP does not allow")


def unanswered(host: str, error: BaseException) -> Interrupted:
    """The connection ended before the head of an answer was whole."""
    return Interrupted(f"{host} closed the connection without an answer ({_reason(error)})")


def not_http(host: str, error: BaseException) -> Interrupted:
    """What came first is not the head of an HTTP answer, or one of unreasonable size."""
    return Interrupted(f"{host} answered something that is not HTTP ({_reason(error)})")


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
    # asyncio words these itself, and joins those of a host's several addresses into one text.
    if found := re.search(r"\[Errno (\d+)\] Connect call failed", str(deepest)):
        return os.strerror(int(found[1]))
    text = getattr(deepest, "strerror", None) or str(deepest) or type(deepest).__name__
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        group = cast("tuple[BaseException, ...]", getattr(error, "exceptions", ()))
        error = group[0] if group else error.__cause__ or error.__context__
