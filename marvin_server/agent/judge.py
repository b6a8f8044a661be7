"""Judges a prepared call: brings together what it would touch, the person's rules and the session's policy.

All of it reads files or a command, and so may take long: it is work for a thread.
"""

import json
import os
import posixpath
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from marvin_server.agent.permissions import Policy, Ruling
from marvin_server.errors import PermissionNeeded, ToolError
from marvin_server.events import Command
from marvin_server.tools import index
from marvin_server.tools.base import ToolContext
from marvin_server.tools.registry import PreparedCall
from marvin_server.workspace.confine import Root
from marvin_server.workspace.names import protection
from marvin_server.workspace.workspace import Workspace

if TYPE_CHECKING:
    from marvin_server.agent.command_rules import Spot
    from marvin_server.agent.rules import Finding, Rules
    from marvin_server.agent.shell.subcommands import Parsed

_STRICTNESS = {"allow": 0, "ask": 1, "deny": 2}


class Reading:
    """A command, and from when it is first asked for all that it would run."""

    def __init__(self, command: Command) -> None:
        self.command = command

    @cached_property
    def parsed(self) -> "Parsed":
        from marvin_server.agent.shell.running import parse, unlike_bash

        shell, text = self.command.shell, self.command.display
        parsed = parse(text)
        if posixpath.basename(shell) != "bash" and (problem := unlike_bash(shell, text)):
            return replace(parsed, problem=parsed.problem or problem)
        return parsed


class Judged(Struct, frozen=True):
    """A call at one moment. Where the ruling is to ask, ``shown`` is what would run, with its scripts, and ``covers``
    all that a yes to the question covers, as a value that equals only itself."""

    ruling: Ruling
    reading: Reading | None = None
    shown: Command | None = None
    covers: object = None


class Judge(Struct, frozen=True):
    """Rules on calls. ``policy`` gives the one that holds at the moment, since a person may change it at any time;
    ``since`` is when the session began, in seconds since the epoch."""

    policy: Callable[[], Policy]
    rules: "Rules | None"
    since: float

    def is_quick(self, prepared: PreparedCall) -> bool:
        """Whether judging the call reads no command and no file."""
        has_no_files = not prepared.locations or (self.rules is None and prepared.entry.effect == "read")
        return prepared.command is None and has_no_files

    def judged(
        self, prepared: PreparedCall, command: Command | None, context: ToolContext, earlier: Judged | None = None
    ) -> Judged:
        """May the call run? ``command`` is what it would run, for one that runs something; what was ``earlier`` found
        of the same call spares reading the same command again."""
        reading = earlier.reading if earlier else None
        if reading is None or reading.command != command:
            reading = None if command is None else Reading(command)
        ruling = self._ruling(prepared, reading, context.workspace)
        if ruling.verdict != "ask":
            return Judged(ruling, reading)
        shown = _as_call(prepared, context) if reading is None else self._with_scripts(reading, context.workspace)
        return Judged(ruling, reading, shown, covered(prepared, shown, context))

    def _ruling(self, prepared: PreparedCall, reading: Reading | None, workspace: Workspace) -> Ruling:
        finding, note = None, None
        effect, name = prepared.entry.effect, prepared.entry.name
        if self.rules is None:
            pass
        elif reading is not None:
            finding, note = self._of_command(self.rules, prepared, reading.parsed, workspace)
        elif effect in {"read", "edit"}:
            finding = self.rules.for_paths(name, effect, true_paths(workspace, prepared.locations))
        else:
            finding = self.rules.for_host(name, effect, host(prepared))
        return self.policy().ruling(effect, finding, note, by_patch=prepared.tool.by_patch)

    def for_path(self, prepared: PreparedCall, needed: PermissionNeeded) -> Ruling:
        """May the call use a path that its tool has met?"""
        named = None
        if self.rules is not None and needed.kind == "protected_path":
            for effect in dict.fromkeys(("read", prepared.entry.effect)):
                finding = self.rules.for_paths(effect, effect, [needed.path])
                if finding and (named is None or _STRICTNESS[finding.verdict] > _STRICTNESS[named.verdict]):
                    named = finding
        if named is not None and (named.verdict == "deny" or not protection(needed.path, writing=True)):
            return self.policy().ruling(prepared.entry.effect, named)
        return self.policy().for_path(needed.kind)

    def admitted(self, prepared: PreparedCall, context: ToolContext) -> ToolContext:
        """``context`` in which the call, which may run, can open the files that it names though rules ask about
        these; protected ones still need their own question."""
        effect, workspace = prepared.entry.effect, context.workspace
        if self.rules is not None and effect in {"read", "edit"}:
            for path in true_paths(workspace, prepared.locations):
                may_be_read = effect == "read" or self.rules.guard(path, False) is None
                if may_be_read and not protection(path, writing=True):
                    workspace = workspace.permitting(path, writing=effect == "edit")
        return replace(context, workspace=workspace)

    def _with_scripts(self, reading: Reading, workspace: Workspace) -> Command:
        """The command with the scripts that it would run and that were changed in this session."""
        from marvin_server.agent.scripts import scripts

        return replace(reading.command, scripts=scripts(reading.parsed, workspace, self.since))

    def _of_command(
        self, rules: "Rules", prepared: PreparedCall, parsed: "Parsed", workspace: Workspace
    ) -> "tuple[Finding | None, str | None]":
        from marvin_server.agent.command_rules import CommandRules

        judging = CommandRules(
            rules,
            prepared.entry.name,
            prepared.entry.effect,
            lambda target: _spot(workspace, target),
            edits_wait=self.policy().mode == "review",
        )
        finding = judging.finding(parsed)
        return finding, judging.uncovered(parsed) if finding is None else None


def covered(prepared: PreparedCall, command: Command | None, context: ToolContext) -> object:
    """All that a yes to the question about this call covers, as a value that equals only itself: the exact command
    with its shell, scripts, directory (by identity) and environment; the files of an edit with what its title says that
    it does with them, whatever the text; the host; else the call."""
    name, effect = prepared.entry.name, prepared.entry.effect
    if command is not None:
        directory = context.workspace.directory_fd()
        try:
            status = os.fstat(directory)
        finally:
            os.close(directory)
        shown = (command.display, command.shell, command.cwd, command.scripts, command.sandbox)
        variables = (tuple(sorted(command.env_changes.items())), tuple(sorted(context.environ.items())))
        return (name, shown, variables, (status.st_dev, status.st_ino), _arguments(prepared))
    if effect == "edit" and prepared.locations:
        return (effect, prepared.title, prepared.locations, tuple(true_paths(context.workspace, prepared.locations)))
    if effect == "network" and (reached := host(prepared)):
        return (effect, reached)
    return (name, _arguments(prepared))


def host(prepared: PreparedCall) -> str | None:
    """The host that a call reaches, by its parameter ``url``; None for a URL that cannot be read, too."""
    from marvin_server.tools.web import _target

    url: object = getattr(prepared.params, "url", None)
    try:
        return _target.read(url).host if isinstance(url, str) else None
    except ToolError:
        return None


def true_paths(workspace: Workspace, paths: Sequence[str]) -> list[str]:
    """Where ``paths`` truly are, relative to the root; without those that lead out, which their tool will refuse."""
    found = [_true_path(workspace, path) for path in paths]
    return [path for path in found if path is not None]


def _true_path(workspace: Workspace, path: str) -> str | None:
    """Where ``path`` truly is, of one that does not exist where it would be made; None outside of the root."""
    try:
        named = workspace.locate(path)
        root, missing = workspace.root, ""
        while named:
            try:
                return posixpath.normpath(posixpath.join(root.place(named), missing))
            except (FileNotFoundError, NotADirectoryError):
                if _is_link(root, named):
                    return None
                named, name = posixpath.split(named)
                missing = posixpath.join(name, missing) if missing else name
    except (OSError, ToolError):
        return None
    return missing


def _is_link(root: Root, path: str) -> bool:
    try:
        return root.link(path) is not None
    except (FileNotFoundError, NotADirectoryError):
        return False


def _spot(workspace: Workspace, target: str) -> "Spot":
    from marvin_server.agent.command_rules import Spot

    path = _true_path(workspace, target)
    return Spot(path, None if path is None else workspace.root.protection(path, writing=True))


def _as_call(prepared: PreparedCall, context: ToolContext) -> Command | None:
    """A call of a person's own tool, which does not say what it would run: the arguments, read by the tool's file."""
    if prepared.entry.toolset != index.USER_TOOLSET or prepared.entry.effect == "read":
        return None
    text = f"{prepared.entry.name} {_arguments(prepared)}"
    return Command(text, prepared.entry.module, str(context.workspace.directory), sandbox="off")


def _arguments(prepared: PreparedCall) -> str:
    return json.dumps(prepared.params.model_dump(mode="json"), sort_keys=True, ensure_ascii=False)
