"""A question to the person as lines that show all that a yes covers, and the answers that it takes: one about a
permission, or one about a hunk of a change."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

from msgspec import Struct

from marvin_cli.view.base import Reply, Verdict
from marvin_cli.view.cells import EMPTY, Line, line, wrapped
from marvin_cli.view.diffs import patch_lines, unified_lines
from marvin_server.events import Decision, Patch, Permission
from marvin_server.sanitise import one_line, revealed

_FIELD = 11
_TITLE, _LONGEST_TITLE = 76, 2000
Said = TypeVar("Said")


class Answer(Struct, Generic[Said], frozen=True):
    """One key, and what it does in a few words. It may ask ``asks`` for a line more, which begins as ``text``; what it
    ``says`` then depends on that line, and is None where it has to be another one.

    One that ``is_yes`` can be given only once all was shown.
    """

    key: str
    label: str
    says: Callable[[str], Said | None]
    asks: str = ""
    text: str = ""
    is_yes: bool = False

    @property
    def word(self) -> str:
        """What may be entered in place of the key."""
        return self.label.partition(",")[0]


class Question(Struct, Generic[Said], frozen=True):
    """What is asked: its lines, the answers in the order in which they are shown, and what no answer says."""

    lines: list[Line]
    answers: list[Answer[Said]]
    otherwise: Said


_EVER = "yes, whenever the text is this"


async def put(
    question: Question[Said],
    shown: Sequence[list[Line]],
    *,
    show: Callable[[list[Line]], None],
    more: Callable[[int], Answer[Said]],
    answer: Callable[[Sequence[Answer[Said]]], Awaitable[Answer[Said] | None]],
    words: Callable[[Answer[Said]], Awaitable[str | None]],
) -> Said:
    """What the person says to a question whose lines are ``shown`` page by page, a yes after the last one only.

    ``more`` is the answer that shows the page of this number; ``answer`` gets one of those that are offered, None where
    nobody is left, and ``words`` the line that it asks for, None to go back.
    """
    harmless = [each for each in question.answers if not each.is_yes]
    for number, page in enumerate(shown, 1):
        show(page)
        further = more(number + 1) if number < len(shown) else None
        offered = [further, *harmless] if further else question.answers
        while (chosen := await answer(offered)) is not further or further is None:
            if chosen is None:
                return question.otherwise
            given = await words(chosen) if chosen.asks else ""
            if given is not None and (said := chosen.says(given)):
                return said
    return question.otherwise


def permission_question(permission: Permission) -> Question[Reply]:
    """The question about a permission. A yes to a project's file is kept."""
    command = permission.command.display if permission.command else ""

    def edited(words: str) -> Reply | None:
        return Reply("allow_edited", command=words) if words.strip() else None

    every: list[tuple[Decision, Answer[Reply]]] = [
        ("allow_once", _fixed("y", _EVER if permission.kind == "trust" else "yes", Reply("allow_once"), is_yes=True)),
        ("allow_session", _fixed("s", "yes, for this session", Reply("allow_session"), is_yes=True)),
        ("allow_edited", Answer("e", "edit", edited, "Command", command, is_yes=True)),
        ("deny", _fixed("n", "no", Reply("deny"))),
        ("deny", Answer("t", "no, and tell why", lambda words: Reply("deny", note=words.strip() or None), "Reason")),
        ("deny_and_stop", _fixed("x", "no, and stop", Reply("deny_and_stop"))),
    ]
    offered = [answer for decision, answer in every if decision in permission.options]
    return Question(question_lines(permission), offered, Reply("deny"))


def hunk_question(part: Patch, number: int, count: int) -> Question[Verdict]:
    """The question about one hunk of a change, see ``View.review``."""
    title = one_line(revealed(part.title), _TITLE)
    place = f"Keep change {number} of {count}? {title}" if count > 1 else f"Keep this change? {title}"
    offered = [
        _fixed("k", "keep", Verdict("keep"), is_yes=True),
        _fixed("r", "reject", Verdict("reject")),
        Answer("t", "reject, and tell why", lambda words: Verdict("reject", words.strip() or None), "Reason"),
        _fixed("l", "later", Verdict("later")),
    ]
    if number < count:
        rest = [
            _fixed("a", "keep all that follow", Verdict("keep_all"), is_yes=True),
            _fixed("x", "reject all that follow", Verdict("reject_all")),
        ]
        offered[3:3] = rest
    lines = [Line((("", "  "), *one.fragments), one.hang, one.verbatim) for one in patch_lines(part, revealed)]
    return Question([line(place, "warning", "? "), *lines], offered, Verdict("later"))


def _fixed(key: str, label: str, said: Said, *, is_yes: bool = False) -> Answer[Said]:
    return Answer(key, label, lambda _: said, is_yes=is_yes)


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
