"""A question to the person as lines that show all that a yes covers, and the answers that it takes."""

from msgspec import Struct
from msgspec.structs import replace

from marvin_cli.view.cells import EMPTY, Line, line, wrapped
from marvin_cli.view.diffs import unified_lines
from marvin_server.events import Decision, Permission
from marvin_server.sanitise import one_line, revealed

_FIELD = 11
_TITLE, _LONGEST_TITLE = 76, 2000


class Answer(Struct, frozen=True):
    """One key, what it does in a word or two, and the decision that it makes. It ``asks`` for a line more."""

    key: str
    label: str
    decision: Decision
    asks: str = ""


_EVER = "yes, whenever the text is this"
_EVERY = (
    Answer("y", "yes", "allow_once"),
    Answer("s", "yes, for this session", "allow_session"),
    Answer("e", "edit", "allow_edited", "Command"),
    Answer("n", "no", "deny"),
    Answer("t", "no, and tell why", "deny", "Reason"),
    Answer("x", "no, and stop", "deny_and_stop"),
)
# The keys that are no text while a question is open, though it may not take them now.
IDLE = "".join(answer.key for answer in _EVERY) + " "


def answers(permission: Permission) -> list[Answer]:
    """The answers that the question takes, in the order in which they are shown. A yes to a project's file is kept."""
    offered = [answer for answer in _EVERY if answer.decision in permission.options]
    if permission.kind != "trust":
        return offered
    return [replace(answer, label=_EVER) if answer.decision == "allow_once" else answer for answer in offered]


def question_lines(permission: Permission) -> list[Line]:
    """All of the question. What hides from the eye is spelled out, so that nothing is approved unseen."""
    # A command is shown whole below its title.
    title = one_line(revealed(permission.title), _TITLE if permission.command else _LONGEST_TITLE)
    lines = [line(title, "warning", "? ")]
    if command := permission.command:
        lines += _field("command", command.display)
        lines += _field("directory", command.cwd)
        lines += _field("shell", command.shell)
        for name, value in command.env_changes.items():
            lines += _field("with", f"{name}={value}")
        lines += _field("sandbox", command.sandbox)
    lines += _field("why", permission.reason)
    lines += _field("asked by", permission.decided_by)
    for script in command.scripts if command else ():
        lines += [EMPTY, line(f"{revealed(script.path)}, changed in this session:", "strong", "  script ", "  ")]
        lines += [_verbatim(text) for text in script.text.splitlines()]
    if permission.diff:
        lines.append(EMPTY)
        lines += [Line((("", "  "), *one.fragments), (), True) for one in unified_lines(permission.diff, revealed)]
    if not permission.is_whole:
        lines += [EMPTY, line("Not all that a yes covers can be shown: see the lines in brackets.", "warning", "  ")]
    return lines


def pages(lines: list[Line], columns: int, rows: int) -> list[list[Line]]:
    """The lines in portions of which each fits on a screen of ``rows`` rows."""
    found: list[list[Line]] = [[]]
    free = rows
    for one in lines:
        shown = wrapped(one, columns)
        parts = [(one, len(shown))] if len(shown) <= rows else [(Line(row, (), verbatim=True), 1) for row in shown]
        for part, height in parts:
            if height > free:
                found.append([])
                free = rows
            found[-1].append(part)
            free -= height
    return found


def _field(name: str, value: str) -> list[Line]:
    """A named value, aligned with the others; each of its lines stays one."""
    if not value:
        return []
    first, *more = [revealed(text).expandtabs(4) for text in value.split("\n")]
    label = f"  {name:<{_FIELD}}"
    hang = (("", " " * len(label)),)
    return [
        Line((("muted", label), ("", first)), hang),
        *(Line((*hang, ("", text)), hang) for text in more),
    ]


def _verbatim(text: str) -> Line:
    return Line((("", f"    {revealed(text).expandtabs(4)}"),), (), verbatim=True)
