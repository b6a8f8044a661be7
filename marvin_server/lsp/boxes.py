"""What a question looks like in a message box of an editor: all of it where it fits, else its beginning."""

from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from marvin_server.events import Command, Decision, Permission, PermissionKind
from marvin_server.sanitise import one_line, revealed

SHOW = "Show all of it"
# Those that deny come first: some editors put the first answer where Enter takes it.
TITLES: dict[Decision, str] = {
    "deny": "Deny",
    "deny_and_stop": "Deny and stop",
    "allow_once": "Allow once",
    "allow_session": "Allow for this session",
}
DECISIONS: dict[str, Decision] = {title: decision for decision, title in TITLES.items()}
_DENIALS = (TITLES["deny"], TITLES["deny_and_stop"])
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
    """``whole`` is all that a yes covers, a text that files with this ``suffix`` hold; ``about`` and ``because`` are a
    line each. ``answers`` are titles, those that deny first."""

    about: str
    whole: str
    because: str
    answers: tuple[str, ...]
    suffix: str = ".txt"

    @property
    def page(self) -> str:
        """All of it, for reading."""
        return f"{self.about}\n{self.because}\n\n{self.whole}\n"


class Box(Struct, frozen=True):
    """What is put before the person: no yes is among the ``answers`` while something has not been shown."""

    message: str
    answers: tuple[str, ...]


def first(question: Question) -> Box:
    """The box that a question begins with."""
    lines = question.whole.splitlines()
    if len(lines) <= _MOST_LINES and len(question.whole) <= _MOST_CHARACTERS:
        return Box(_message(question, question.whole), question.answers)
    part = "\n".join(lines[:_MOST_LINES])[:_MOST_CHARACTERS]
    rest = f"… {len(question.whole) - len(part):,} more characters; they must be shown before you can say yes."
    return Box(_message(question, f"{part}\n{rest}"), (*_denying(question), SHOW))


def shown(question: Question, page: Path) -> Box:
    """The box once all of it is shown as ``page``."""
    return Box(_message(question, f"All of it is shown in {page}"), question.answers)


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
    return Question(f"Marvin wants to {_WANTS[permission.kind]}.", "\n".join(parts), because, answers, suffix)


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
