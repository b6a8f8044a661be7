"""What a question looks like in a message box of an editor: all of it where it fits, else its beginning."""

from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from marvin_server.events import Command, Decision, Permission, PermissionKind
from marvin_server.sanitise import one_line, revealed

SHOW = "Show all of it"
SHOW_PART = "Show what can be shown"
# Those that deny come first: some editors put the first answer where Enter takes it.
TITLES: dict[Decision, str] = {
    "deny": "Deny",
    "deny_and_stop": "Deny and stop",
    "allow_once": "Allow once",
    "allow_session": "Allow for this session",
}
DECISIONS: dict[str, Decision] = {title: decision for decision, title in TITLES.items()}
_DENIALS = (TITLES["deny"], TITLES["deny_and_stop"])
_NOT_WHOLE = "Not all of what a yes allows can be shown; the text says what is missing."
_MOST_LINES, _MOST_CHARACTERS = 12, 1000
_WANTS: dict[PermissionKind, str] = {
    "command": "run a command",
    "edit": "change files",
    "protected_path": "use a protected path",
    "outside_path": "use a path outside of the workspace",
    "network": "use the network",
    "trust": "follow this project's own files",
}


class Question(Struct, frozen=True):
    """``text`` is all that a yes covers, or what can be shown of that where it is not ``is_whole``; files with this
    ``suffix`` hold it. ``about`` and ``because`` are a line each. ``answers`` are titles, those that deny first."""

    about: str
    text: str
    because: str
    answers: tuple[str, ...]
    suffix: str = ".txt"
    is_whole: bool = True

    @property
    def page(self) -> str:
        """The text, for reading."""
        return f"{self.about}\n{self.because}\n\n{self.text}\n"


class Box(Struct, frozen=True):
    """What is put before the person: no yes is among the ``answers`` while something has not been shown."""

    message: str
    answers: tuple[str, ...]


def first(question: Question) -> Box:
    """The box that a question begins with."""
    lines = question.text.splitlines()
    if len(lines) <= _MOST_LINES and len(question.text) <= _MOST_CHARACTERS:
        note = "" if question.is_whole else f"\n\n{_NOT_WHOLE}"
        return Box(_message(question, f"{question.text}{note}"), question.answers)
    part = "\n".join(lines[:_MOST_LINES])[:_MOST_CHARACTERS]
    rest = f"… {len(question.text) - len(part):,} more characters; they must be shown before you can say yes."
    show = SHOW if question.is_whole else SHOW_PART
    return Box(_message(question, f"{part}\n{rest}"), (*_denying(question), show))


def shown(question: Question, page: Path) -> Box:
    """The box once the text is shown as ``page``."""
    text = f"All of it is shown in {page}" if question.is_whole else f"{_NOT_WHOLE} What can be is shown in {page}"
    return Box(_message(question, text), question.answers)


def unshown(question: Question, problem: str) -> Box:
    """The box when it could not be shown."""
    return Box(_message(question, problem), _denying(question))


def of_permission(permission: Permission) -> Question:
    """A session's question."""
    parts = [revealed(permission.title)] if permission.command is None else list(_command(permission.command))
    suffix = ".txt"
    if permission.kind == "trust":
        parts.append(revealed(permission.reason))
    elif permission.diff is not None:
        parts.append(revealed(permission.diff))
        suffix = ".diff"
    answers = tuple(title for decision, title in TITLES.items() if decision in permission.options)
    because = f"Asked because: {one_line(permission.decided_by, 200)}"
    about = f"Marvin wants to {_WANTS[permission.kind]}."
    return Question(about, "\n".join(parts), because, answers, suffix, permission.is_whole)


def _message(question: Question, text: str) -> str:
    return f"{question.about}\n\n{text}\n\n{question.because}"


def _denying(question: Question) -> tuple[str, ...]:
    return tuple(title for title in question.answers if title in _DENIALS)


def _command(command: Command) -> Iterator[str]:
    """Every line of the command is marked, so that none of them can pass for one of ours."""
    yield from (f"| {line}" for line in revealed(command.display).split("\n"))
    yield f"in {revealed(command.cwd)}"
    yield f"by {revealed(command.shell)}" + (f", {command.sandbox}" if command.sandbox else "")
    yield from (f"with {name}={value!r}" for name, value in command.env_changes.items())
    for script in command.scripts:
        yield f"it runs {revealed(script.path)}, which was changed in this session:"
        yield from (f"| {line}" for line in revealed(script.text).split("\n"))
