"""What the person's rules say of a command: its parsed sub-commands are matched word by word, never its text.

A pattern is words, in which ``*`` and ``?`` stand for other characters; a ``*`` of its own at the end stands for any
further words, also none. Deny and ask rules are read generously: case does not count, a program is known by its name
in any folder, and what only bash can tell may be anything. Allow rules are read strictly: the program is named as in
the rule, ``*`` stays within a name of a path (``**`` does not), and no word with ``..`` fits a pattern with a star.
"""

import re
from collections.abc import Callable, Sequence
from enum import IntEnum
from functools import cache
from pathlib import PurePosixPath

from msgspec import Struct

from marvin_server.agent.rules import Finding, Rule, Rules
from marvin_server.agent.shell.arguments import may_run
from marvin_server.agent.shell.subcommands import Parsed, Redirect
from marvin_server.agent.shell.words import Word
from marvin_server.config_file import Verdict
from marvin_server.messages import Effect

_SIGNS = re.compile(r"(\*\*|\*|\?)")


class _Fit(IntEnum):
    NO = 0
    MAYBE = 1
    YES = 2


class Spot(Struct, frozen=True):
    """Where a redirect leads: ``path`` relative to the root, links resolved, None outside of it. ``reason`` says why
    it is protected."""

    path: str | None
    reason: str | None = None


class CommandRules:
    """Judges the commands of one tool. ``find`` gives the spot of a redirect's target as it is written, None when it
    cannot be told; with ``edits_wait`` no rule lets a command write to a file."""

    def __init__(
        self, rules: Rules, tool: str, effect: Effect, find: Callable[[str], Spot | None], *, edits_wait: bool
    ) -> None:
        self._rules = rules
        self._find = find
        self._edits_wait = edits_wait
        self._tool = tool
        self._by_verdict = {verdict: rules.about(tool, effect, verdict) for verdict in ("deny", "ask", "allow")}
        self._unreadable = rules.unreadable(tool, effect)

    def finding(self, parsed: Parsed) -> Finding | None:
        """What the rules say of a command, None when they say nothing."""
        moved = any(sub.moves for sub in parsed.subcommands)
        restricting = [*self._by_verdict["deny"], *self._by_verdict["ask"], *self._about_files()]
        findings = [self._of_words(sub.words, "deny") for sub in parsed.subcommands]
        findings += [self._of_words(sub.words, "ask") for sub in parsed.subcommands]
        findings += [self._of_arguments(sub.words) for sub in parsed.subcommands if not sub.wraps]
        findings += [self._of_redirect(r, moved) for sub in parsed.subcommands for r in sub.redirects]
        findings.append(self._unreadable)
        if parsed.problem and restricting:
            names = "; ".join(rule.text for rule in restricting)
            findings.append(Finding("ask", f"{names}: whether it holds is unknown, as it {parsed.problem}", True))
        restrictive = [finding for finding in findings if finding and finding.verdict != "allow"]
        if restrictive:
            return max(restrictive, key=lambda finding: (finding.verdict == "deny", finding.needs_person))
        return None if parsed.problem else self._allowing(parsed, moved)

    def _of_words(self, words: Sequence[Word], verdict: Verdict) -> Finding | None:
        """The strictest that the rules with ``verdict``, deny or ask, say of one sub-command."""
        fits = [(generous_fit(rule, words), rule) for rule in self._by_verdict[verdict]] if words else []
        fit, rule = max(fits, key=lambda pair: pair[0], default=(_Fit.NO, None))
        if rule is None or fit == _Fit.NO:
            return None
        if fit == _Fit.YES:
            return Finding(verdict, rule.text)
        shown = " ".join(word.text for word in words)
        return Finding("ask", f"{rule.text}: it may be about '{shown}'", needs_person=verdict == "deny")

    def _of_arguments(self, words: Sequence[Word]) -> Finding | None:
        """What deny and ask rules say of the commands that a program may find in its arguments: it may run them."""
        rules = [rule for rule in (*self._by_verdict["deny"], *self._by_verdict["ask"]) if rule.pattern]
        for inner in may_run(words) if rules else ():
            for rule in rules:
                wanted, is_open = _wanted(rule.pattern or "")
                if inner and inner[0].value and generous_fit(rule, inner if is_open else inner[: len(wanted)]):
                    shown = " ".join(word.text for word in words)
                    reason = f"{rule.text}: it may be about '{shown}'"
                    return Finding("ask", reason, needs_person=rule.verdict == "deny")
        return None

    def _about_files(self) -> list[Rule]:
        """The deny and ask rules that a redirect may be about."""
        effects: tuple[Effect, ...] = ("edit", "read")
        verdicts: tuple[Verdict, ...] = ("deny", "ask")
        return [
            rule for effect in effects for verdict in verdicts for rule in self._rules.about(effect, effect, verdict)
        ]

    def _of_redirect(self, redirect: Redirect, moved: bool) -> Finding | None:
        """What the rules for files say of a redirect: writing is an edit of the file, reading a read."""
        if not (redirect.writes or redirect.reads) or redirect.target.value == "/dev/null":
            return None
        tool, effect = ("edit", "edit") if redirect.writes else ("read", "read")
        spot = None if redirect.target.value is None else self._find(redirect.target.value)
        if spot is None or spot.path is None or moved:
            restricting = self._rules.about(tool, effect, "deny")
            for rule in restricting:
                return Finding("ask", f"{rule.text}: it may be about '{redirect.target.text}'", needs_person=True)
            if spot is None or spot.path is None:
                return None
        return self._rules.for_paths(tool, effect, [spot.path])

    def _allowing(self, parsed: Parsed, moved: bool) -> Finding | None:
        used: list[str] = []
        for sub in parsed.subcommands:
            if sub.words and not sub.wraps:
                rule = next((rule for rule in self._by_verdict["allow"] if _strictly_fits(rule, sub.words)), None)
                if rule is None:
                    return None
                used.append(rule.text)
            for redirect in sub.redirects:
                allowed = self._allowed_redirect(redirect, moved)
                if allowed is None:
                    return None
                used += [allowed] if allowed else []
        return Finding("allow", "; ".join(dict.fromkeys(used))) if used else None

    def _allowed_redirect(self, redirect: Redirect, moved: bool) -> str | None:
        """The rule that allows ``redirect``; empty when it needs none, None when there is none."""
        if not (redirect.writes or redirect.reads) or redirect.target.value == "/dev/null":
            return ""
        spot = None if redirect.target.value is None else self._find(redirect.target.value)
        if spot is None or spot.path is None or spot.reason:
            return None
        if not redirect.writes:
            return ""
        finding = self._rules.for_paths("edit", "edit", [spot.path])
        return None if moved or self._edits_wait or finding is None else finding.rule

    def uncovered(self, parsed: Parsed) -> str | None:
        """Why the allow rules do not cover a command, for the person; None when there are no such rules."""
        if not self._by_verdict["allow"]:
            return None
        if parsed.problem:
            return f"no rule can allow it: it {parsed.problem}"
        for sub in parsed.subcommands:
            needs_rule = sub.words and not sub.wraps
            if needs_rule and not any(_strictly_fits(rule, sub.words) for rule in self._by_verdict["allow"]):
                return f"no rule allows '{sub.text}'"
        return "no rule allows a file that it writes to or reads"


def generous_fit(rule: Rule, words: Sequence[Word]) -> _Fit:
    """How far a deny or an ask rule is about the command ``words``."""
    if rule.pattern is None:
        return _Fit.YES
    wanted, is_open = _wanted(rule.pattern)
    for index, pattern in enumerate(wanted):
        if index >= len(words):
            return _Fit.NO
        word = words[index]
        if word.value is None:
            return _Fit.MAYBE if _may_become(pattern, word.known, is_name=index == 0) else _Fit.NO
        names = {word.value, PurePosixPath(word.value).name} if index == 0 else {word.value}
        if not any(_glob(pattern.casefold(), ".*", ".").fullmatch(name.casefold()) for name in names):
            return _Fit.NO
    if is_open or len(words) == len(wanted):
        return _Fit.YES
    return _Fit.MAYBE if all(word.value is None for word in words[len(wanted) :]) else _Fit.NO


def _may_become(pattern: str, known: str, *, is_name: bool) -> bool:
    """Whether a word that begins with ``known`` may turn out to fit ``pattern``."""
    fixed = re.split(r"[*?]", pattern, maxsplit=1)[0].casefold()
    known = known.casefold()
    if is_name and "/" in known:
        return True
    return fixed.startswith(known) or (known.startswith(fixed) and fixed != pattern.casefold())


def _strictly_fits(rule: Rule, words: Sequence[Word]) -> bool:
    """Whether an allow rule certainly covers the command ``words``."""
    if rule.pattern is None:
        return True
    wanted, is_open = _wanted(rule.pattern)
    if len(words) < len(wanted) or (len(words) > len(wanted) and not is_open) or words[0].value is None:
        return False
    return all(_strictly_is(pattern, word.value) for pattern, word in zip(wanted, words, strict=False))


def _strictly_is(pattern: str, value: str | None) -> bool:
    if value is None or pattern == value:
        return value is not None
    if ".." in value.split("/"):
        return False
    return bool(_glob(pattern, "[^/]*", "[^/]").fullmatch(value))


def _wanted(pattern: str) -> tuple[list[str], bool]:
    """The words of a pattern, and whether further ones may follow."""
    words = pattern.split()
    return (words[:-1], True) if words[-1:] == ["*"] else (words, False)


@cache
def _glob(pattern: str, star: str, mark: str) -> re.Pattern[str]:
    signs = {"**": ".*", "*": star, "?": mark}
    return re.compile("".join(signs.get(piece, re.escape(piece)) for piece in _SIGNS.split(pattern)), re.DOTALL)
