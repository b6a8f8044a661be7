"""Places in documents, as the Language Server Protocol has them."""

from marvin_server.protocol.base import FromClient


class Position(FromClient, frozen=True):
    """A place between two characters: ``line`` from 0, ``character`` from 0 in units of the negotiated encoding."""

    line: int
    character: int


class Range(FromClient, frozen=True):
    """From ``start`` up to ``end``, without it."""

    start: Position
    end: Position
