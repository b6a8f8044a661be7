"""Checks of single values that a person wrote into a setting: each gives the value to use, or raises ``ValueError``."""

import re
import reprlib
from collections.abc import Callable
from typing import cast


def shown(value: object) -> str:
    """A short form of any value, however deep it is nested."""
    form = reprlib.Repr()
    form.maxlevel, form.maxstring = 1, 80
    return form.repr(value)


def text(value: object) -> str:
    if isinstance(value, str) and value.strip() and value.isprintable():
        return value.strip()
    raise ValueError("needs a name")


def name(value: object) -> str:
    if isinstance(value, str) and re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", value):
        return value
    raise ValueError("needs a name of letters, digits, '.', '_' or '-'")


def url(value: object) -> str:
    if isinstance(value, str) and re.fullmatch(r"https?://[^\s/]+(/\S*)?", value):
        return value.rstrip("/")
    raise ValueError("needs a URL that begins with https:// or http://")


def names(value: object) -> tuple[str, ...]:
    items = cast("list[object]", value) if isinstance(value, list) else [value]
    return tuple(name(item) for item in items)


def count(value: object) -> int:
    try:
        number = int(value) if isinstance(value, str | int) and not isinstance(value, bool) else 0
    except ValueError:
        number = 0
    if number >= 1:
        return number
    raise ValueError("needs a whole number of at least 1")


def amount(value: object) -> float:
    try:
        number = float(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else 0.0
    except (ValueError, OverflowError):
        number = 0.0
    if 0 < number < float("inf"):
        return number
    raise ValueError("needs a number above 0")


def price(value: object) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 10**6:
        return float(value)
    raise ValueError("needs USD per million tokens, such as 2.5")


def flag(value: object) -> bool:
    word = str(value).lower() if isinstance(value, str | bool | int) else None
    if word in ("1", "true", "yes", "on", "y"):
        return True
    if word in ("0", "false", "no", "off", "n", ""):
        return False
    raise ValueError("needs true or false")


def one_of(*allowed: str) -> Callable[[object], str]:
    def check(value: object) -> str:
        # YAML 1.1 reads a bare on/off as a boolean.
        text = {True: "on", False: "off"}[value] if isinstance(value, bool) else value
        if isinstance(text, str) and (text := text.lower()) in allowed:
            return text
        raise ValueError(f"needs one of {', '.join(allowed)}")

    return check
