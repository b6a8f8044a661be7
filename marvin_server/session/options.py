"""What a person may change of a session while it is open, whatever front-end it is: each option by its name.

Permissions, the sandbox, keys and addresses are none of these: they come from the person's own files and flags.
"""

import dataclasses
from collections.abc import Mapping
from types import MappingProxyType
from typing import get_args

from msgspec import Struct

from marvin_server.errors import UsageError
from marvin_server.providers.base import Provider
from marvin_server.providers.selection import names
from marvin_server.setting_checks import shown
from marvin_server.settings import Effort, Mode, Settings

# What stands for a setting that nobody has made.
DEFAULT = "default"
_MODES: Mapping[Mode, str] = MappingProxyType(
    {
        "plan": "nothing is changed or run",
        "review": "every edit waits for an answer",
        "auto": "edits are made and can be taken back; commands ask",
        "full": "commands run without a question, too",
    }
)


class Value(Struct, frozen=True):
    """One that an option takes, with what it means where that is worth a line."""

    value: str
    meaning: str | None = None


class Option(Struct, frozen=True):
    """``value`` is the one that holds, empty where nobody can say; without ``values`` any other text is taken."""

    name: str
    title: str
    value: str
    values: tuple[Value, ...] = ()


def options(settings: Settings, provider: Provider | None) -> tuple[Option, ...]:
    """The options as they stand. ``provider`` is the one that answers, None while there is none."""
    name = provider.name if provider else settings.provider or ""
    model = provider.model if provider else settings.model or ""
    return (
        Option("mode", "Mode", settings.mode, tuple(Value(mode, meaning) for mode, meaning in _MODES.items())),
        Option("provider", "Provider", name, tuple(Value(each) for each in names(settings))),
        Option("model", "Model", model),
        Option("thinking", "Thinking", settings.thinking or DEFAULT, _efforts()),
    )


def changed(settings: Settings, provider: Provider | None, name: str, value: object) -> Settings:
    """``settings`` with another value of the option ``name``. Another provider begins with its own default model, and a
    model is one of the ``provider`` that answers now. Raises ``UsageError`` with what could be said instead."""
    known = {option.name: option for option in options(settings, provider)}
    if name not in known:
        raise UsageError(f"there is no option {shown(name)}; there are: {', '.join(known)}")
    taken = [each.value for each in known[name].values]
    if not isinstance(value, str) or not value.strip() or (taken and value not in taken):
        wanted = f"one of {', '.join(taken)}" if taken else "a name"
        raise UsageError(f"{name} must be {wanted}, not {shown(value)}")
    match name:
        case "provider":
            return dataclasses.replace(settings, provider=value, model=None, default_model=None)
        case "model":
            answering = provider.name if provider else settings.provider
            return dataclasses.replace(settings, model=value.strip(), provider=answering)
        case "thinking":
            effort = next((each for each in get_args(Effort) if each == value), None)
            return dataclasses.replace(settings, thinking=effort)
        case _:
            return dataclasses.replace(settings, mode=next(each for each in _MODES if each == value))


def _efforts() -> tuple[Value, ...]:
    return (Value(DEFAULT, "as the project or the model has it"), *(Value(each) for each in get_args(Effort)))
