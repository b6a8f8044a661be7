"""``marvin/config/…``: what a person may set for a session."""

from marvin_server.protocol.base import FromClient, FromServer

Value = bool | int | str


class ConfigGetParams(FromClient, frozen=True):
    """Without a session, what holds for new ones."""

    session_id: str | None = None


class ConfigSetParams(FromClient, frozen=True):
    """Without a session, for new ones of this connection."""

    name: str
    value: Value
    session_id: str | None = None


class Choice(FromServer, frozen=True):
    """One of the values that an option takes."""

    value: Value
    title: str
    description: str | None = None


class Option(FromServer, frozen=True):
    """``mode``, ``model``, ``thinking`` and others; without ``choices`` it takes any value of its type."""

    name: str
    title: str
    value: Value
    choices: tuple[Choice, ...] = ()


class ConfigResult(FromServer, frozen=True):
    """All options, in the order in which they are to be shown."""

    options: tuple[Option, ...]
