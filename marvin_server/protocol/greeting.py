"""``capabilities.experimental.marvin`` of ``initialize``: what the client says, and what the server answers."""

from collections.abc import Mapping
from typing import Any

from marvin_server.protocol.base import FromClient, FromServer

VERSION = 1


class Marker(FromClient, frozen=True):
    """That a feature is there."""


class ClientMarvin(FromClient, frozen=True):
    """``opt_out`` are kinds of events that are not wanted, by the first word of their type; never turns and
    permissions. ``document_save``: it answers ``marvin/document/save``."""

    protocol_version: int
    opt_out: tuple[str, ...] = ()
    document_save: Marker | None = None


class Limits(FromServer, frozen=True):
    """``message_bytes`` is the longest message that is taken, ``image_bytes`` the largest picture, without base64."""

    message_bytes: int
    image_bytes: int


class ServerMarvin(FromServer, frozen=True):
    """``protocol_version`` is the smaller of the two sides'. ``features`` are the methods that a client may call,
    without ``marvin/``."""

    protocol_version: int
    features: Mapping[str, Mapping[str, Any]]
    limits: Limits
    version: str
