"""A vendor is one data file, JSON or YAML; this reads and checks it. Checked by hand: pydantic would slow the start."""

import contextlib
import json
import re
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar, cast
from urllib.parse import urlsplit

from msgspec import Struct

from marvin_server.errors import UsageError

Value = TypeVar("Value")
SUFFIXES = (".json", ".yaml", ".yml")
WIRE_APIS = MappingProxyType(
    {
        "openai_chat": "OpenAIChat",
        "openai_responses": "OpenAIResponses",
        "anthropic": "Anthropic",
        "ollama": "Ollama",
    }
)
_QUIRKS = (
    *("no_stream_options", "no_json_schema", "echo_reasoning_content", "echo_reasoning_details"),
    "reasoning_object",
)
_THINKING = ("adaptive", "budget")
_ABILITIES = ("tools", "images", "thinking")


class Vendor(Struct, frozen=True):
    """One endpoint, as its file says. The file's name without its suffix is the vendor's.

    ``wire_api`` names the module that speaks to it. ``url_variable``, ``key_variable`` and ``model_variable`` are
    environment variables; ``key_file`` may begin with ``~/``; ``key_header`` carries the key, where that is not the
    wire API's own. ``price_vendor`` is the provider's id in genai-prices. ``contexts`` are sizes in tokens of models
    that genai-prices lacks; ``free`` says that answers cost nothing; ``start`` is the command that starts the server,
    where it is one of the person's own machine.

    Quirks: ``no_stream_options`` and ``no_json_schema`` leave a field out that the vendor refuses;
    ``echo_reasoning_content`` and ``echo_reasoning_details`` send a model's reasoning back, where it is wanted;
    ``reasoning_object`` asks for effort by ``reasoning: {effort}``.

    What differs between models goes by the beginning of their names, the longest that fits: ``abilities``, all that a
    model can; ``larger``, the model that goes on when a conversation is too long; ``wire_apis`` instead of
    ``wire_api``; and for the wire API ``anthropic`` ``max_output``, the most tokens of one answer, and ``thinking``,
    ``adaptive`` or ``budget``: how a model is asked to think.
    """

    name: str
    file: Path
    wire_api: str
    base_url: str
    title: str = ""
    url_variable: str | None = None
    key_variable: str | None = None
    key_file: str | None = None
    key_header: str | None = None
    model_variable: str | None = None
    default_model: str | None = None
    price_vendor: str | None = None
    free: bool = False
    start: str | None = None
    wire_apis: Mapping[str, str] = {}
    max_output: Mapping[str, int] = {}
    thinking: Mapping[str, str] = {}
    contexts: Mapping[str, int] = {}
    abilities: Mapping[str, tuple[str, ...]] = {}
    larger: Mapping[str, str] = {}
    quirks: tuple[str, ...] = ()


def read(file: Path) -> Vendor:
    """The vendor that ``file`` describes. Raises ``UsageError``: one line with the file, and the line where known."""
    try:
        text = file.read_text("utf-8")
        values = _parse_yaml(text) if file.suffix != ".json" else json.loads(text)
        return Vendor(name=file.stem, file=file, **_checked(values, file.stem))
    except json.JSONDecodeError as error:
        raise UsageError(f"{file}:{error.lineno}: {error.msg}") from None
    except OSError as error:
        raise UsageError(f"{file}: cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{file}: {error}") from None


def check_address(value: object) -> str:
    """``value``, if it is an HTTP address with a host. Raises ``ValueError``."""
    with contextlib.suppress(ValueError):
        if isinstance(value, str):
            parts = urlsplit(value)
            # Reading the port raises ValueError when it is no number.
            if parts.scheme in ("http", "https") and parts.hostname and parts.port != 0:
                return value
    raise ValueError("needs an address such as https://host/v1")


def _parse_yaml(text: str) -> object:
    import yaml

    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
        where = f"line {mark.line + 1}: " if mark else ""
        raise ValueError(f"{where}{problem or 'not valid YAML'}") from None


def _checked(values: object, name: str) -> dict[str, Any]:
    fields = cast("dict[str, object]", values) if isinstance(values, dict) else {}
    for field_name, value in fields.items():
        if field_name not in _CHECKS:
            raise ValueError(f"unknown field {field_name!r}; known: {', '.join(_CHECKS)}")
        try:
            fields[field_name] = _CHECKS[field_name](value)
        except ValueError as error:
            raise ValueError(f"{field_name} {error}, not {value!r}") from None
    for required in ("wire_api", "base_url"):
        if required not in fields:
            raise ValueError(f"lacks {required}")
    return {"title": name, **fields}


def _text(value: object) -> str:
    if isinstance(value, str) and value.strip():
        return value.strip()
    raise ValueError("needs a text")


def _header(value: object) -> str:
    if isinstance(value, str) and re.fullmatch(r"[A-Za-z0-9-]+", value):
        return value.lower()
    raise ValueError("needs the name of a header")


def _flag(value: object) -> bool:
    if isinstance(value, bool):
        return value
    raise ValueError("needs true or false")


def _sizes(value: object) -> Mapping[str, int]:
    sizes = cast("dict[object, object]", value) if isinstance(value, dict) else {"": None}
    if all(isinstance(name, str) and isinstance(size, int) and size > 0 for name, size in sizes.items()):
        return cast("dict[str, int]", sizes)
    raise ValueError("needs a number of tokens for each model's name")


def _one_of(known: Collection[str]) -> Callable[[object], str]:
    def check(value: object) -> str:
        if isinstance(value, str) and value in known:
            return value
        raise ValueError(f"needs one of {', '.join(known)}")

    return check


def _list_of(*known: str) -> Callable[[object], tuple[str, ...]]:
    def check(value: object) -> tuple[str, ...]:
        items = cast("list[object]", value) if isinstance(value, list) else [None]
        if all(item in known for item in items):
            return tuple(cast("list[str]", items))
        raise ValueError(f"needs a list of {', '.join(known)}")

    return check


def _of_each(check_one: Callable[[object], Value]) -> Callable[[object], Mapping[str, Value]]:
    def check(value: object) -> Mapping[str, Value]:
        items = cast("dict[object, object]", value) if isinstance(value, dict) else {None: None}
        try:
            return {_text(name): check_one(item) for name, item in items.items()}
        except ValueError as error:
            raise ValueError(f"{error} for the beginning of each model's name") from None

    return check


_CHECKS: Mapping[str, Callable[[object], Any]] = {
    "title": _text,
    "wire_api": _one_of(WIRE_APIS),
    "base_url": check_address,
    "url_variable": _text,
    "key_variable": _text,
    "key_file": _text,
    "key_header": _header,
    "model_variable": _text,
    "default_model": _text,
    "price_vendor": _text,
    "free": _flag,
    "start": _text,
    "wire_apis": _of_each(_one_of(WIRE_APIS)),
    "max_output": _sizes,
    "thinking": _of_each(_one_of(_THINKING)),
    "contexts": _sizes,
    "abilities": _of_each(_list_of(*_ABILITIES)),
    "larger": _of_each(_text),
    "quirks": _list_of(*_QUIRKS),
}
