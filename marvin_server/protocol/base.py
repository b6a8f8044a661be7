"""What all types of the ``marvin/*`` messages have in common: camelCase on the wire, and who sends them."""

from msgspec import Struct


class FromClient(Struct, frozen=True, rename="camel"):
    """What a client sends. A field with a default may be left out; unknown keys are ignored. See ``reading.read``."""


class FromServer(Struct, frozen=True, rename="camel"):
    """What the server sends, by way of ``wire.to_wire``. A field is left out when it is None."""


class NoParams(FromClient, frozen=True):
    """Nothing is asked for in particular."""


class Done(FromServer, frozen=True):
    """It is done, and there is nothing to say about it."""
