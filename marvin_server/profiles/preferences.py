"""``preferences.yaml``: how a person wants the terminal, and whatever else they want Marvin to know of them."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from marvin_server import setting_checks as checks
from marvin_server.profiles import files

Keys = Literal["emacs", "vi"]
Notify = Literal["bell", "desktop", "off"]

TEMPLATE = """\
# Preferences of this profile. A line that begins with # says nothing.

# The terminal:
# view: inline          # inline, plain or curses
# theme: auto           # /theme lists them
# keys: emacs           # emacs or vi
# notify: bell          # when a long turn ends: bell, desktop or off
# notify_after: 20      # seconds from which on a turn is a long one

# Anything else is told to the model, such as:
# distance_unit: kilometers
# dietary: [vegetarian]
"""
_DEEPEST = 100
_CHECKS: Mapping[str, Callable[[object], Any]] = {
    "view": checks.one_of("inline", "plain", "curses"),
    "theme": checks.text,
    "keys": checks.one_of("emacs", "vi"),
    "notify": checks.one_of("bell", "desktop", "off"),
    "notify_after": checks.amount,
}


class Preferences(Struct, frozen=True):
    """``notify_after`` is in seconds; ``about`` is all that is for the model: names and YAML values."""

    view: Literal["inline", "plain", "curses"] = "inline"
    theme: str = "auto"
    keys: Keys = "emacs"
    notify: Notify = "bell"
    notify_after: float = 20.0
    about: Mapping[str, Any] = {}


class Broken(ValueError):
    """The text is not what a preferences file may be."""


def parse(text: str) -> tuple[Preferences, tuple[str, ...]]:
    """The preferences in the text of a file, and a line for each value that is wrong and left out. Raises ``Broken``
    where nothing of it can be understood."""
    if not any(line.strip() and not line.lstrip().startswith("#") for line in text.splitlines()):
        return Preferences(), ()
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        # Its C code recurses with the nesting, without a bound; the events come one by one.
        depth = 0
        for event in yaml.parse(text, loader):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > _DEEPEST:
                raise Broken("it is nested too deep")
        content: object = yaml.load(text, loader)  # noqa: S506
    except yaml.MarkedYAMLError as error:
        line = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        raise Broken(f"{line}{error.problem or 'this is not YAML'}") from None
    except (yaml.YAMLError, ValueError, RecursionError, OverflowError) as error:
        raise Broken(" ".join(str(error).split())) from None
    if not isinstance(content, dict):
        raise Broken("it needs lines such as 'keys: vi'")
    values: dict[str, Any] = {}
    about: dict[str, Any] = {}
    problems: list[str] = []
    for key, value in content.items():  # pyright: ignore[reportUnknownVariableType]
        name = str(key)  # pyright: ignore[reportUnknownArgumentType]
        if name not in _CHECKS:
            about[name] = value
            continue
        try:
            values[name] = _CHECKS[name](value)  # pyright: ignore[reportUnknownArgumentType]
        except ValueError as error:
            problems.append(f"{name} {error}, not {checks.shown(value)}; it is ignored")  # pyright: ignore[reportUnknownArgumentType]
    return Preferences(**values, about=about), tuple(problems)


def load(path: Path) -> tuple[Preferences, tuple[str, ...]]:
    """The preferences of a profile, and lines for the person. A file that cannot be understood is kept under another
    name, so that it is there to be mended, and nothing of it holds."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
        preferences, problems = parse(text)
    except FileNotFoundError:
        return Preferences(), ()
    except OSError as error:
        return Preferences(), (f"{path}: cannot be read ({error.strerror}); no preference holds",)
    except ValueError as error:
        try:
            kept = files.aside(path)
        except OSError as problem:
            return Preferences(), (f"{path}: {error}; no preference holds ({problem.strerror})",)
        return Preferences(), (f"{path}: {error}; the file is kept as {kept.name}, and no preference holds",)
    return preferences, tuple(f"{path}: {problem}" for problem in problems)
