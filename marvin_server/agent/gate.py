"""Lets a prepared call run once it may: by rule, or because a person has said yes to exactly what was shown."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import get_args

from msgspec.structs import replace

from marvin_server.agent.judge import Judge, Judged, true_paths
from marvin_server.agent.permissions import Answer, Permissions, Ruling
from marvin_server.errors import PermissionNeeded, ToolError
from marvin_server.events import Decision, Event, Notice, Permission, PermissionKind
from marvin_server.messages import Effect, new_id
from marvin_server.tools.base import Preview, ToolContext, ToolOutput
from marvin_server.tools.registry import PreparedCall, Registry
from marvin_server.workspace.names import printable

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

    async def run(
        self,
        prepared: PreparedCall,
        context: ToolContext,
        emit: Callable[[Event], None],
        begins: Callable[[], None] = lambda: None,
    ) -> ToolOutput:
        """Ask first where that is the rule, then run the call, which ``begins`` is told before; a path that turns out
        to need a yes asks once more, and the call begins anew."""
        if self.stop_asked:
            return ToolOutput("Not run: the person asked to stop.", "denied")
        try:
            admitted = await self._admitted(prepared, context, emit)
        except ToolError as error:
            return ToolOutput(f"Error: {error}", "error")
        if isinstance(admitted, ToolOutput):
            return admitted
        if not self._judge.is_quick(admitted):
            context = await asyncio.to_thread(self._judge.admitted, admitted, context)
        output = await self._run(admitted, context, emit, begins)
        if admitted is prepared:
            return output
        return replace(output, text=f"The person changed the call to: {admitted.title}\n{output.text}")

    async def _run(
        self,
        prepared: PreparedCall,
        context: ToolContext,
        emit: Callable[[Event], None],
        begins: Callable[[], None],
    ) -> ToolOutput:
        while True:
            begins()
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
        why none may. What has changed while the question was open is asked about again.

        A call that works on the disk is judged once Marvin's unsaved changes are there, which are a part of it.
        """
        told: set[str] = set()

        async def save() -> None:
            for line in await context.workspace.save() if prepared.entry.works_on_disk else ():
                if line not in told:
                    told.add(line)
                    emit(Notice("warning", line))

        now = await self._judged(prepared, context)
        if now.ruling.verdict != "deny" and prepared.entry.works_on_disk and context.workspace.editor:
            await save()
            now = await self._judged(prepared, context, now)
        while now.ruling.verdict == "ask":
            asked, preview = now, await self._registry.preview(prepared, context)
            is_of_files = prepared.entry.effect == "edit" and bool(prepared.locations) and asked.shown is None
            shown = asked.covers if is_of_files else (asked.covers, preview)
            answer = await self._permissions.put(_question(prepared, asked, preview), emit, shown)
            if answer.decision not in {*_ALLOWED, "allow_edited"}:
                return self._refused(answer)
            await save()
            if answer.decision == "allow_edited" and answer.command:
                return await self._edited(prepared, answer.command, context)
            now = await self._judged(prepared, context, asked)
            is_as_shown = (now.ruling, now.covers) == (asked.ruling, asked.covers)
            if is_as_shown and await self._registry.preview(prepared, context) == preview:
                return prepared
        return _refusal(now.ruling) if now.ruling.verdict == "deny" else prepared

    async def _judged(self, prepared: PreparedCall, context: ToolContext, earlier: Judged | None = None) -> Judged:
        command = prepared.command(context) if prepared.command else None
        if self._judge.is_quick(prepared):
            return self._judge.judged(prepared, command, context, earlier)
        return await asyncio.to_thread(self._judge.judged, prepared, command, context, earlier)

    async def _edited(self, prepared: PreparedCall, text: str, context: ToolContext) -> PreparedCall | ToolOutput:
        """The call with the command that the person wrote, which only a deny rule keeps from running."""
        values = prepared.params.model_dump(mode="json", exclude_unset=True)
        if prepared.command is None or not isinstance(values.get("command"), str):
            return ToolOutput("The person changed a command that this call does not have. Nothing was done.", "denied")
        changed = self._registry.prepare(replace(prepared.call, arguments=json.dumps({**values, "command": text})))
        if isinstance(changed, ToolOutput) or changed.command is None:
            return ToolOutput("The person changed the command to one that cannot be run. Nothing was done.", "denied")
        ruling = (await self._judged(changed, context)).ruling
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
        title, call_id = _use(prepared, printable(needed.path)), prepared.call.id
        files = await asyncio.to_thread(true_paths, context.workspace, prepared.locations)
        shown = (needed.kind, title, tuple(files))
        while True:
            preview = await self._registry.preview(prepared, context)
            question = Permission(new_id(), needed.kind, title, needed.reason, ruling.rule, call_id)
            question = _with_answers(_with_preview(question, preview))
            answer = await self._permissions.put(question, emit, shown)
            if answer.decision not in _ALLOWED:
                return self._refused(answer)
            ruling = (await self._judged(prepared, context)).ruling
            if ruling.verdict == "deny":
                return _refusal(ruling)
            if await self._registry.preview(prepared, context) == preview:
                return None

    def _refused(self, answer: Answer) -> ToolOutput:
        self.stop_asked = self.stop_asked or answer.decision == "deny_and_stop"
        said = "denied, and asked to stop" if answer.decision == "deny_and_stop" else "denied"
        note = f" They said: {answer.note}" if answer.note else ""
        return ToolOutput(f"The person {said}. Nothing was done.{note}", "denied")


def _refusal(ruling: Ruling) -> ToolOutput:
    return ToolOutput(f"Permission denied ({ruling.rule}). Nothing was done.", "denied")


def _use(prepared: PreparedCall, path: str) -> str:
    """What the call would do with ``path``; of an edit, also with the other files that it is about."""
    name, effect = prepared.entry.name, prepared.entry.effect
    if effect == "read":
        return f"Read {path} with {name}"
    title = prepared.title if prepared.title.startswith(name) else f"{name} {prepared.title}"
    return f"{'Edit' if effect == 'edit' else 'Use'} {path} with {title}"


def _question(prepared: PreparedCall, judged: Judged, preview: Preview | None) -> Permission:
    kind = _KINDS.get(prepared.entry.effect, "command")
    reason, call_id, shown = prepared.entry.description, prepared.call.id, judged.shown
    question = Permission(new_id(), kind, prepared.title, reason, judged.ruling.rule, call_id, shown)
    can_be_edited = shown is not None and isinstance(getattr(prepared.params, "command", None), str)
    return _with_answers(_with_preview(question, preview), can_be_edited=can_be_edited)


def _with_preview(question: Permission, preview: Preview | None) -> Permission:
    scripts = question.command.scripts if question.command else ()
    is_whole = all(script.digest for script in scripts) and (preview is None or preview.is_whole)
    return replace(question, diff=preview and preview.diff, is_whole=is_whole)


def _with_answers(question: Permission, *, can_be_edited: bool = False) -> Permission:
    without = {*(() if can_be_edited else ("allow_edited",)), *(() if question.is_whole else ("allow_session",))}
    return replace(question, options=tuple(each for each in get_args(Decision) if each not in without))
