"""Events and messages as the dialect's JSON objects: camelCase, absent instead of null."""

from functools import cache
from typing import Any

from msgspec import Struct

# Fields whose values are words of the dialect, not a person's or a model's text.
WORDS = frozenset({"kind", "stop_reason", "decision", "finish", "options"})
# What a provider wants back unchanged is nobody else's business.
PRIVATE = frozenset({"vendor"})


def to_wire(value: Any) -> Any:
    """A JSON-ready copy of an event, a message or any part of one.

    Field names become camelCase and fields that are None are left out. Mappings (tool input, details) pass through
    as they are: their keys belong to the tool.
    """
    if isinstance(value, Struct):
        tag, names = _shape(type(value))
        wire: dict[str, Any] = dict(tag)
        for name, key, is_word in names:
            field = getattr(value, name)
            if field is not None:
                wire[key] = _spelled(field) if is_word else to_wire(field)
        return wire
    if isinstance(value, tuple):
        return [to_wire(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
    return value


def _spelled(value: Any) -> Any:
    """A word, or several, as the wire has them."""
    if isinstance(value, str):
        return camel(value)
    return [_spelled(each) for each in value] if isinstance(value, tuple) else to_wire(value)  # pyright: ignore[reportUnknownVariableType]


@cache
def _shape(cls: type[Struct]) -> tuple[dict[str, str], tuple[tuple[str, str, bool], ...]]:
    """The tag that an object of this class begins with, then its fields: name here, key there, and is it a word."""
    config = cls.__struct_config__
    tag = {str(config.tag_field): camel(str(config.tag))} if config.tag else {}
    names = (name for name in cls.__struct_fields__ if name not in PRIVATE)
    return tag, tuple((name, camel(name), name in WORDS) for name in names)


def camel(name: str) -> str:
    """A word of ours as the wire spells it: ``round_limit`` is ``roundLimit``."""
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)
