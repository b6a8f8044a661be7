"""Checks of single values that a person wrote into a setting: each gives the value to use, or raises ``ValueError``."""

import re
import reprlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import cast

# In a command, for bash: what is quoted, a quote without its end, and a word of its own that stands for files.
_QUOTED = re.compile(r"""\\.|'[^']*'|"(?:\\.|[^"\\])*\"""", re.DOTALL)
_QUOTE = re.compile(r"""['"]""")
_FILE = re.compile(r"(?<![^\s|&;()<>])\{file\}(?![^\s|&;()<>])")


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


def map_tokens(value: object) -> int:
    """Tokens: those of ``auto``, or none for ``off``, which YAML reads as False."""
    if value in ("off", False):
        return 0
    if value == "auto":
        return 1_000
    try:
        return count(value)
    except ValueError:
        raise ValueError("needs off, auto or a number of tokens") from None


def amount(value: object) -> float:
    try:
        number = float(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else 0.0
    except (ValueError, OverflowError):
        number = 0.0
    if 0 < number < float("inf"):
        return number
    raise ValueError("needs a number above 0")


def budget(value: object) -> Mapping[str, float]:
    caps = cast("dict[object, object]", value) if isinstance(value, dict) else {None: None}
    if not caps.keys() <= {"session", "day", "month"}:
        raise ValueError("needs USD for session, day or month, such as {day: 5, month: 50}")
    return {str(span): amount(usd) for span, usd in caps.items()}


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


def folders(value: object) -> tuple[Path, ...]:
    items = cast("list[object]", value) if isinstance(value, list) else [value]
    folders = [Path(item).expanduser() for item in items if isinstance(item, str) and "\0" not in item]
    if len(folders) == len(items) and all(folder.is_absolute() for folder in folders):
        return tuple(folders)
    raise ValueError("needs folders that begin with / or ~/")


def hosts(value: object) -> tuple[str, ...]:
    items = cast("list[object]", value) if isinstance(value, list) else [value]
    return tuple(_host(item) for item in items)


def _host(value: object) -> str:
    if isinstance(value, str) and re.fullmatch(r"[A-Za-z0-9._-]{1,253}|[0-9A-Fa-f:.]{2,45}", value):
        return value.lower().rstrip(".")
    raise ValueError("needs the name or the address of a host, such as wiki.example.com, without scheme and port")


def file_checks(value: object) -> Mapping[str, str]:
    pairs = cast("dict[object, object]", value) if isinstance(value, dict) else {None: None}
    if not all(isinstance(text, str) and text.strip() and "\0" not in text for pair in pairs.items() for text in pair):
        raise ValueError('needs file names with the command that checks them, such as {"*.py": "ruff check {file}"}')
    commands = cast("dict[str, str]", pairs)
    for command in commands.values():
        unquoted = _QUOTED.sub("_", command)
        if "{file}" in command and (len(_FILE.findall(unquoted)) < command.count("{file}") or _QUOTE.search(unquoted)):
            raise ValueError(f"needs {{file}} as a word of its own, in no quotes, in {shown(command)}")
    return commands
