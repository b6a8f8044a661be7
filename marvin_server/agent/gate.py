"""Lets a prepared call run once it may: by rule, or because a person has said yes to exactly what was shown."""

import json
from collections.abc import Awaitable, Callable

from msgspec.structs import replace

from marvin_server.agent.judge import Judge, covered, true_paths
from marvin_server.agent.permissions import Permissions, Ruling
from marvin_server.errors import PermissionNeeded, ToolError
from marvin_server.events import Command, Decision, Event, Permission, PermissionKind
from marvin_server.messages import Effect, new_id
from marvin_server.tools.base import ToolContext, ToolOutput
from marvin_server.tools.registry import PreparedCall, Registry

_KINDS: dict[Effect, PermissionKind] = {"edit": "edit", "network": "network", "message": "network"}
_ALLOWED: frozenset[Decision] = frozenset({"allow_once", "allow_session"})


Execute = Callable[[PreparedCall, ToolContext, Callable[[Event], None]], Awaitable[ToolOutput]]


class Gate:
    """Runs the calls of a registry with ``execute``, once they may run. ``stop_asked`` becomes true when a person
    answered "deny and stop"."""

    def __init__(self, registry: Registry, execute: Execute, judge: Judge, permissions: Permissions) -> None:
        self._registry = registry
        self._execute = execute
        self._judge = judge
        self._permissions = permissions
        self.stop_asked = False

    async def run(self, prepared: PreparedCall, context: ToolContext, emit: Callable[[Event], None]) -> ToolOutput:
        """Ask first where that is the rule, then run the call; a path that turns out to need a yes asks once more."""
        if self.stop_asked:
            return ToolOutput("Not run: the person asked to stop.", "denied")
        try:
            admitted = await self._admitted(prepared, context, emit)
        except ToolError as error:
            return ToolOutput(f"Error: {error}", "error")
        if isinstance(admitted, ToolOutput):
            return admitted
        output = await self._run(admitted, self._judge.admitted(admitted, context), emit)
        if admitted is prepared:
            return output
        return replace(output, text=f"The person changed the call to: {admitted.title}\n{output.text}")

    async def _run(self, prepared: PreparedCall, context: ToolContext, emit: Callable[[Event], None]) -> ToolOutput:
        while True:
            try:
                return await self._execute(prepared, context, emit)
            except PermissionNeeded as needed:
                ruling = self._judge.for_path(prepared, needed)
                try:
                    denied = await self._denied(prepared, ruling, needed, context, emit)
                except ToolError as error:
                    return ToolOutput(f"Error: {error}", "error")
                if denied:
                    return denied
                writing = prepared.entry.effect != "read"
                context = replace(context, workspace=context.workspace.permitting(needed.path, writing=writing))

    async def _admitted(
        self, prepared: PreparedCall, context: ToolContext, emit: Callable[[Event], None]
    ) -> PreparedCall | ToolOutput:
        """The call that may run: ``prepared``, or with the command that the person put in its place; an output says
        why none may. What has changed while the question was open is asked about again."""
        while True:
            command = prepared.command(context) if prepared.command else None
            ruling = self._judge.ruling(prepared, command, context.workspace)
            if ruling.verdict != "ask":
                return _refusal(ruling) if ruling.verdict == "deny" else prepared
            command = self._shown(command, context)
            diff = await self._registry.preview(prepared, context)
            shown = covered(prepared, command, context)
            answer = await self._permissions.put(_question(prepared, ruling, command, diff), emit, shown)
            if answer.decision == "allow_edited" and answer.command:
                return self._edited(prepared, answer.command, context)
            if answer.decision not in _ALLOWED:
                return self._refused(answer.decision)
            now = self._shown(prepared.command(context) if prepared.command else None, context)
            if covered(prepared, now, context) == shown and await self._registry.preview(prepared, context) == diff:
                return prepared

    def _shown(self, command: Command | None, context: ToolContext) -> Command | None:
        return self._judge.with_scripts(command, context.workspace) if command else None

    def _edited(self, prepared: PreparedCall, text: str, context: ToolContext) -> PreparedCall | ToolOutput:
        """The call with the command that the person wrote, which only a deny rule keeps from running."""
        values = prepared.params.model_dump(mode="json", exclude_unset=True)
        if prepared.command is None or not isinstance(values.get("command"), str):
            return ToolOutput("The person changed a command that this call does not have. Nothing was done.", "denied")
        changed = self._registry.prepare(replace(prepared.call, arguments=json.dumps({**values, "command": text})))
        if isinstance(changed, ToolOutput) or changed.command is None:
            return ToolOutput("The person changed the command to one that cannot be run. Nothing was done.", "denied")
        ruling = self._judge.ruling(changed, changed.command(context), context.workspace)
        return _refusal(ruling) if ruling.verdict == "deny" else changed

    async def _denied(
        self,
        prepared: PreparedCall,
        ruling: Ruling,
        needed: PermissionNeeded,
        context: ToolContext,
        emit: Callable[[Event], None],
    ) -> ToolOutput | None:
        """None when the call may use the path that its tool has met, else the answer that says why it may not."""
        if ruling.verdict != "ask":
            return _refusal(ruling) if ruling.verdict == "deny" else None
        title, call_id = _use(prepared, needed.path), prepared.call.id
        shown = (needed.kind, title, tuple(true_paths(context.workspace, prepared.locations)))
        while True:
            diff = await self._registry.preview(prepared, context)
            question = Permission(new_id(), needed.kind, title, needed.reason, ruling.rule, call_id, diff=diff)
            answer = await self._permissions.put(question, emit, shown)
            if answer.decision not in _ALLOWED:
                return self._refused(answer.decision)
            if await self._registry.preview(prepared, context) == diff:
                return None

    def _refused(self, decision: Decision) -> ToolOutput:
        self.stop_asked = self.stop_asked or decision == "deny_and_stop"
        said = "denied, and asked to stop" if decision == "deny_and_stop" else "denied"
        return ToolOutput(f"The person {said}. Nothing was done.", "denied")


def _refusal(ruling: Ruling) -> ToolOutput:
    return ToolOutput(f"Permission denied ({ruling.rule}). Nothing was done.", "denied")


def _use(prepared: PreparedCall, path: str) -> str:
    """What the call would do with ``path``; of an edit, also with the other files that it is about."""
    name, effect = prepared.entry.name, prepared.entry.effect
    if effect == "read":
        return f"Read {path} with {name}"
    title = prepared.title if prepared.title.startswith(name) else f"{name} {prepared.title}"
    return f"{'Edit' if effect == 'edit' else 'Use'} {path} with {title}"


def _question(prepared: PreparedCall, ruling: Ruling, command: Command | None, diff: str | None) -> Permission:
    kind = _KINDS.get(prepared.entry.effect, "command")
    reason = prepared.entry.description
    return Permission(new_id(), kind, prepared.title, reason, ruling.rule, prepared.call.id, command, diff)
