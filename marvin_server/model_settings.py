"""What a person says of a model in the setting ``models``: it beats what is published of it."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from msgspec import Struct

from marvin_server import setting_checks as checks


class ModelSettings(Struct, frozen=True):
    """``context`` is in tokens; prices are in USD per million tokens; what is None is not said.

    ``tools``, ``images`` and ``thinking`` say whether the model can. ``larger`` is the model that goes on when a
    conversation is too long for this one.
    """

    context: int | None = None
    input: float | None = None
    output: float | None = None
    cache_read: float | None = None
    cache_write: float | None = None
    tools: bool | None = None
    images: bool | None = None
    thinking: bool | None = None
    larger: str | None = None


PRICES = ("input", "output", "cache_read", "cache_write")
ABILITIES = ("tools", "images", "thinking")
CHECKS: Mapping[str, Callable[[object], Any]] = MappingProxyType(
    {
        "context": checks.count,
        **dict.fromkeys(PRICES, checks.price),
        **dict.fromkeys(ABILITIES, checks.flag),
        "larger": checks.text,
    }
)
