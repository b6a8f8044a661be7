"""Runs the tool calls of one round: reads side by side, everything else one after the other, in order."""

import asyncio
import itertools
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from marvin_server.agent.permissions import Permissions, Policy, Ruling
from marvin_server.errors import PermissionNeeded, ToolError
from marvin_server.events import (
    Decision,
    Event,
    MessageFinished,
    Permission,
    PermissionKind,
    ToolFinished,
    ToolStarted,
)
from marvin_server.events import ToolOutput as ToolOutputEvent
from marvin_server.messages import Effect, Message, ToolCall, ToolResult, new_id
from marvin_server.tools.base import ToolContext, ToolOutput
from marvin_server.tools.registry import PreparedCall, Registry

_KINDS: Mapping[Effect, PermissionKind] = {"edit": "edit", "network": "network", "message": "network"}
_MOST_CALLS = 128
_DENIED: Mapping[Decision, str] = {"deny": "denied", "deny_and_stop": "denied, and asked to stop"}


class _Job(Struct, frozen=True):
    call: ToolCall
    prepared: PreparedCall | ToolOutput

    @property
    def is_read(self) -> bool:
        return isinstance(self.prepared, ToolOutput) or self.prepared.entry.effect == "read"


class CallRunner:
    """Runs calls against a registry, asking where the policy says so.

    ``redact`` blots the person's secrets out of what tools say. ``stop_asked`` becomes true when a person answered
    "deny and stop".
    """

    def __init__(
        self,
        registry: Registry,
        context: ToolContext,
        policy: Policy,
        permissions: Permissions,
        redact: Callable[[str], str],
    ) -> None:
        self._registry = registry
        self._context = context
        self._policy = policy
        self._permissions = permissions
        self._redact = redact
        self.stop_asked = False

    async def run_all(self, calls: Sequence[ToolCall]) -> AsyncGenerator[Event]:
        """Yield the events of all ``calls``, then one ``MessageFinished`` with a tool message that answers each.

        Cancelled, it ends what runs, and still yields the rest: what had not finished is answered as cancelled.
        """
        jobs = [_Job(call, self._registry.prepare(call)) for call in calls[:_MOST_CALLS]]
        results: dict[str, ToolResult] = {}
        events: asyncio.Queue[Event | None] = asyncio.Queue()
        work = asyncio.create_task(self._work(jobs, events.put_nowait, results))
        work.add_done_callback(lambda _: events.put_nowait(None))
        try:
            while (event := await events.get()) is not None:
                yield event
            await work
        except asyncio.CancelledError:
            await _end(work)
            while not events.empty():
                if (event := events.get_nowait()) is not None:
                    yield event
            yield MessageFinished(_answers(calls, results, "Cancelled before it began; nothing was done."))
            raise
        finally:
            await _end(work)
        yield MessageFinished(_answers(calls, results, f"Not run: a message may ask for {_MOST_CALLS} calls at most."))

    async def _work(self, jobs: list[_Job], emit: Callable[[Event], None], results: dict[str, ToolResult]) -> None:
        for is_read, group in itertools.groupby(jobs, key=lambda job: job.is_read):
            if is_read:
                tasks = [asyncio.create_task(self._run(job, emit, results)) for job in group]
                try:
                    await asyncio.gather(*tasks)
                finally:
                    for task in tasks:
                        await _end(task)
            else:
                for job in group:
                    await self._run(job, emit, results)

    async def _run(self, job: _Job, emit: Callable[[Event], None], results: dict[str, ToolResult]) -> None:
        started = time.monotonic()
        call, prepared = job.call, job.prepared
        if isinstance(prepared, ToolOutput):
            emit(ToolStarted(call.id, call.name, call.name, "read", {}))
            output = prepared
        else:
            values = prepared.params.model_dump(mode="json", exclude_unset=True)
            where = self._located(prepared.locations)
            emit(ToolStarted(call.id, call.name, prepared.title, prepared.entry.effect, values, where))
            output = ToolOutput("Cancelled before it finished; its effect is unknown.", "cancelled")
        try:
            if not isinstance(prepared, ToolOutput):
                output = await self._permitted(call, prepared, emit)
        finally:
            text = self._redact(output.text)
            details = {k: self._redact(v) if isinstance(v, str) else v for k, v in output.details.items()}
            results[call.id] = ToolResult(call.id, call.name, text, output.status, output.images)
            duration = round((time.monotonic() - started) * 1000)
            emit(ToolFinished(call.id, call.name, output.status, duration, text, output.exit_code, details))

    def _located(self, paths: Sequence[str]) -> tuple[str, ...]:
        """``paths`` relative to the root; without those that lead out of it, which the tool itself will refuse."""
        located: list[str] = []
        for path in paths:
            with suppress(ToolError):
                located.append(self._context.workspace.locate(path))
        return tuple(located)

    async def _permitted(self, call: ToolCall, prepared: PreparedCall, emit: Callable[[Event], None]) -> ToolOutput:
        """Ask first where that is the rule, then run the call; a path that turns out to need a yes asks once more."""

        def show(text: str) -> None:
            emit(ToolOutputEvent(call.id, self._redact(text)))

        context = replace(self._context, emit=show)
        if self.stop_asked:
            return ToolOutput("Not run: the person asked to stop.", "denied")
        ruling = self._policy.for_effect(prepared.entry.effect)
        denied = await self._denied(ruling, lambda: _question(call, prepared, ruling, context), emit)
        while denied is None:
            try:
                return await self._registry.execute(prepared, context)
            except PermissionNeeded as needed:
                ruling = self._policy.for_path(needed.kind)
                question = Permission(new_id(), needed.kind, str(needed), needed.reason, ruling.rule, call.id)
                denied = await self._denied(ruling, lambda question=question: question, emit)
                context = replace(context, workspace=context.workspace.permitting(needed.path))
        return denied

    async def _denied(
        self, ruling: Ruling, question: Callable[[], Permission], emit: Callable[[Event], None]
    ) -> ToolOutput | None:
        """None when the call may go on, else the answer that says why it may not."""
        if ruling.verdict == "allow":
            return None
        if ruling.verdict == "deny":
            return ToolOutput(f"Permission denied ({ruling.rule}). Nothing was done.", "denied")
        decision = await self._permissions.ask(question(), emit)
        if decision in ("allow_once", "allow_session"):
            return None
        self.stop_asked = self.stop_asked or decision == "deny_and_stop"
        return ToolOutput(f"The person {_DENIED[decision]}. Nothing was done.", "denied")


def _question(call: ToolCall, prepared: PreparedCall, ruling: Ruling, context: ToolContext) -> Permission:
    kind = _KINDS.get(prepared.entry.effect, "command")
    command = prepared.command(context) if prepared.command else None
    return Permission(new_id(), kind, prepared.title, prepared.entry.description, ruling.rule, call.id, command)


def unanswered(calls: Sequence[ToolCall], why: str) -> Message:
    """The tool message that answers every call with ``why`` it did not run."""
    return Message("tool", tuple(ToolResult(call.id, call.name, why, "cancelled") for call in calls))


def _answers(calls: Sequence[ToolCall], results: Mapping[str, ToolResult], otherwise: str) -> Message:
    """The tool message that answers every call with its result, or with why there is none."""
    return Message(
        "tool",
        tuple(results.get(call.id) or ToolResult(call.id, call.name, otherwise, "cancelled") for call in calls),
    )


async def _end(task: "asyncio.Task[Any]") -> None:
    """Cancel ``task`` and wait until it is gone, whatever it ended with."""
    task.cancel()
    while not task.done():
        # Whoever waits here is being cancelled already: a second time must not leave the task behind.
        with suppress(asyncio.CancelledError):
            await asyncio.wait([task])
