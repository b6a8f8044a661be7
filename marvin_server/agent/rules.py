"""The person's rules about tools: ``run_command(pytest *)``, ``edit(*.lock)``, a tool's name or an effect's.

A deny rule beats an ask rule, which beats an allow rule. A deny or an ask rule that cannot be read lets only a person
say yes to what it may have been about.
"""

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import PurePath

from msgspec import Struct

from marvin_server.config_file import PermissionEntry, Verdict
from marvin_server.errors import ToolError
from marvin_server.messages import Effect
from marvin_server.workspace.globs import glob_pattern

_FORM = re.compile(r"\s*([a-z][a-z0-9_]*)\s*(?:\((.+)\))?\s*", re.DOTALL)
_NAME = re.compile(r"\s*([a-z][a-z0-9_]*)\b")
_EFFECTS: tuple[Effect, ...] = ("read", "edit", "execute", "network", "message")


class Rule(Struct, frozen=True):
    """One entry of ``permissions``. ``subject`` is the name of a tool or an effect; ``pattern`` is what stands in its
    parentheses, None when the rule is about all calls. ``text`` shows the rule and where it stands."""

    verdict: Verdict
    subject: str
    pattern: str | None
    text: str


class Finding(Struct, frozen=True):
    """What the rules say of a call. ``rule`` names the deciding ones; ``needs_person`` is true when nothing but a
    person's own yes will do, since it may be what a deny rule is about."""

    verdict: Verdict
    rule: str
    needs_person: bool = False


class Rules:
    """All rules of a session; ``warnings`` are lines for the person about entries that are wrong."""

    def __init__(self, entries: Iterable[PermissionEntry], tools: Collection[str]) -> None:
        """Read ``entries``; ``tools`` are the names of all tools that there are."""
        self.warnings: list[str] = []
        self._rules: list[Rule] = []
        self._unreadable: list[Rule] = []
        for entry in entries:
            self._read(entry, tools)

    def _read(self, entry: PermissionEntry, tools: Collection[str]) -> None:
        text = f"{entry.verdict}: {entry.text} in {PurePath(entry.where).name}"
        match = _FORM.fullmatch(entry.text)
        problem = None if match else "is no rule"
        if match and match[1] not in (*_EFFECTS, *tools):
            problem = f"names no tool: there is no '{match[1]}'"
        elif match and match[2] and match[1] not in {"execute", "network", "message"}:
            try:
                glob_pattern(match[2])
            except ToolError as error:
                problem = None if match[1] == "run_command" else f"has a bad pattern: {error}"
        if match and not problem:
            self._rules.append(Rule(entry.verdict, match[1], match[2] and match[2].strip(), text))
            return
        name = match[1] if match else (found[1] if (found := _NAME.match(entry.text)) else "")
        known = name if name in (*_EFFECTS, *tools) else "*"
        if entry.verdict == "allow":
            self.warnings.append(f"{entry.where}: permissions: {entry.text!r} {problem}; it is ignored")
            return
        about = f"every {known}" if known != "*" else "everything but reading"
        self.warnings.append(f"{entry.where}: permissions: {entry.text!r} {problem}; until it is right, {about} asks")
        self._unreadable.append(Rule("ask", known, None, f"{text} {problem}"))

    def about(self, tool: str, effect: Effect, verdict: Verdict) -> list[Rule]:
        """The readable rules with ``verdict`` that name ``tool`` or ``effect``."""
        return [rule for rule in self._rules if rule.verdict == verdict and rule.subject in {tool, effect}]

    def unreadable(self, tool: str, effect: Effect) -> Finding | None:
        """What an entry that cannot be read says of any call of ``tool``."""
        for rule in self._unreadable:
            if rule.subject in {tool, effect} or (rule.subject == "*" and effect != "read"):
                return Finding("ask", rule.text, needs_person=True)
        return None

    def for_paths(self, tool: str, effect: Effect, paths: Sequence[str]) -> Finding | None:
        """What the rules say of a call that is about files: ``paths``, relative to the root, links resolved.

        It is allowed when every path is; without paths only rules without a pattern count.
        """

        def fits_any(rule: Rule) -> bool:
            return rule.pattern is None or any(_fits(rule, path, exactly=False) for path in paths)

        if finding := self._restricting(tool, effect, fits_any):
            return finding
        allowing = self.about(tool, effect, "allow")
        used = [next((rule.text for rule in allowing if _fits(rule, path, exactly=True)), None) for path in paths]
        if not paths:
            used = [next((rule.text for rule in allowing if rule.pattern is None), None)]
        known = [text for text in used if text is not None]
        return Finding("allow", "; ".join(dict.fromkeys(known))) if len(known) == len(used) else None

    def for_host(self, tool: str, effect: Effect, host: str | None) -> Finding | None:
        """What the rules say of a call that reaches ``host``, None when that is not known: then any pattern may fit."""

        def may_fit(rule: Rule) -> bool:
            return rule.pattern is None or host is None or _is_host(rule.pattern, host)

        if finding := self._restricting(tool, effect, may_fit):
            return finding
        for rule in self.about(tool, effect, "allow"):
            if rule.pattern is None or (host is not None and _is_host(rule.pattern, host)):
                return Finding("allow", rule.text)
        return None

    def guard(self, path: str, writing: bool) -> str | None:
        """The rule about files that denies, or asks about, reading or (``writing``) editing the true ``path``; a
        ``workspace.confine.Guard``, so that it holds for whatever a tool opens."""
        effect: Effect = "edit" if writing else "read"
        for rule in (*self.about(effect, effect, "deny"), *self.about(effect, effect, "ask")):
            if rule.pattern is not None and _fits(rule, path, exactly=False):
                return rule.text
        return None

    def _restricting(self, tool: str, effect: Effect, fits: Callable[[Rule], bool]) -> Finding | None:
        for rule in self.about(tool, effect, "deny"):
            if fits(rule):
                return Finding("deny", rule.text)
        if finding := self.unreadable(tool, effect):
            return finding
        for rule in self.about(tool, effect, "ask"):
            if fits(rule):
                return Finding("ask", rule.text)
        return None


def _fits(rule: Rule, path: str, *, exactly: bool) -> bool:
    """Whether ``rule`` is about ``path``. Unless ``exactly``, case does not count, as some file systems fold it."""
    if rule.pattern is None:
        return True
    if exactly:
        return bool(glob_pattern(rule.pattern).fullmatch(path))
    return bool(glob_pattern(rule.pattern.casefold()).fullmatch(path.casefold()))


def _is_host(pattern: str, host: str) -> bool:
    import fnmatch

    return fnmatch.fnmatchcase(host.lower().rstrip("."), pattern.lower())
