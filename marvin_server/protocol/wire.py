"""Events and messages as the dialect's JSON objects: camelCase, absent instead of null."""

from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

# Fields whose values are words of the dialect, not a person's or a model's text.
_WORDS = frozenset({"type", "kind", "stop_reason", "decision", "finish"})
# What a provider wants back unchanged is nobody else's business.
_PRIVATE = frozenset({"vendor"})


def to_wire(value: Any) -> Any:
    """A JSON-ready copy of an event, a message or any part of one.

    Field names become camelCase and fields that are None are left out. Mappings (tool input, details) pass through
    as they are: their keys belong to the tool.
    """
    if is_dataclass(value):
        wire: dict[str, Any] = {}
        for name, key, is_word in _names(type(value)):
            field = getattr(value, name)
            if field is not None:
                wire[key] = camel(field) if is_word else to_wire(field)
        return wire
    if isinstance(value, tuple):
        return [to_wire(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
    return value


@cache
def _names(cls: type) -> tuple[tuple[str, str, bool], ...]:
    named = sorted(fields(cls), key=lambda field: field.name != "type")
    return tuple((field.name, camel(field.name), field.name in _WORDS) for field in named if field.name not in _PRIVATE)


def camel(name: str) -> str:
    """A word of ours as the wire spells it: ``round_limit`` is ``roundLimit``."""
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)
