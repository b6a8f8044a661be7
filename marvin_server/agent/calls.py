"""Runs the tool calls of one round: reads side by side, everything else one after the other, in order."""

import asyncio
import itertools
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from marvin_server.agent.gate import Gate
from marvin_server.agent.repeats import Repeats
from marvin_server.errors import ToolError
from marvin_server.events import Event, MessageFinished, ToolFinished, ToolStarted
from marvin_server.events import ToolOutput as ToolOutputEvent
from marvin_server.messages import Message, ToolCall, ToolResult
from marvin_server.tools.base import ToolContext, ToolOutput
from marvin_server.tools.registry import PreparedCall, Registry

_MOST_CALLS = 128
_QUICK = 10_000  # characters of arguments
_FEW = 20
_NOT_BEGUN = "Cancelled before it began; nothing was done."
_NOT_FINISHED = "Cancelled before it finished; its effect is unknown."


class _Job(Struct, frozen=True):
    call: ToolCall
    prepared: PreparedCall | ToolOutput

    @property
    def is_read(self) -> bool:
        return isinstance(self.prepared, ToolOutput) or self.prepared.entry.effect == "read"


class CallRunner:
    """Runs the calls of one turn through ``gate``, which asks where that is the rule.

    ``redact`` blots the person's secrets out of what tools say; ``admit`` gives what of it the conversation has room
    for.
    """

    def __init__(
        self,
        registry: Registry,
        context: ToolContext,
        gate: Gate,
        redact: Callable[[str], str],
        admit: Callable[[ToolCall, ToolOutput], Awaitable[ToolOutput]],
    ) -> None:
        self._registry = registry
        self._context = context
        self._gate = gate
        self._redact = redact
        self._admit = admit
        self._repeats = Repeats()

    @property
    def stop_asked(self) -> bool:
        """Whether a person answered "deny and stop"."""
        return self._gate.stop_asked

    async def run_all(self, calls: Sequence[ToolCall]) -> AsyncGenerator[Event]:
        """Yield the events of all ``calls``, then one ``MessageFinished`` with a tool message that answers each.

        Cancelled, it ends what runs, and still yields the rest: what had not finished is answered as cancelled.
        """
        results: dict[str, ToolResult] = {}
        events: asyncio.Queue[Event | None] = asyncio.Queue()
        work = asyncio.create_task(self._work(calls[:_MOST_CALLS], events.put_nowait, results))
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
            yield MessageFinished(_answers(calls, results, _NOT_BEGUN))
            raise
        finally:
            await _end(work)
        yield MessageFinished(_answers(calls, results, f"Not run: a message may ask for {_MOST_CALLS} calls at most."))

    async def _work(
        self, calls: Sequence[ToolCall], emit: Callable[[Event], None], results: dict[str, ToolResult]
    ) -> None:
        jobs = [await self._job(call) for call in calls]
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

    async def _job(self, call: ToolCall) -> _Job:
        if len(call.arguments) <= _QUICK:
            return _Job(call, self._registry.prepare(call))
        return _Job(call, await asyncio.to_thread(self._registry.prepare, call))

    async def _run(self, job: _Job, emit: Callable[[Event], None], results: dict[str, ToolResult]) -> None:
        started = time.monotonic()
        call, prepared = job.call, job.prepared
        repeated = self._repeats.stopped(call)
        if isinstance(prepared, ToolOutput):
            emit(ToolStarted(call.id, call.name, call.name, "read", {}))
            output = prepared
        else:
            values = prepared.params.model_dump(mode="json", exclude_unset=True)
            is_few = len(prepared.locations) <= _FEW
            where = (
                self._located(prepared.locations)
                if is_few
                else await asyncio.to_thread(self._located, prepared.locations)
            )
            emit(ToolStarted(call.id, call.name, prepared.title, prepared.entry.effect, values, where))
            output = ToolOutput(_NOT_BEGUN, "cancelled")

        def begins() -> None:
            nonlocal output, started
            output, started = ToolOutput(_NOT_FINISHED, "cancelled"), time.monotonic()

        made: ToolOutput | None = None
        try:
            made = output = await self._output(prepared, call, emit, begins) if repeated is None else repeated
            output = await self._admit(call, replace(made, text=self._redact(made.text)))
        finally:
            text = self._redact(output.text)
            details = {k: self._redact(v) if isinstance(v, str) else v for k, v in output.details.items()}
            results[call.id] = ToolResult(call.id, call.name, text, output.status, output.images)
            duration = round((time.monotonic() - started) * 1000)
            emit(ToolFinished(call.id, call.name, output.status, duration, text, output.exit_code, details))
        if repeated is None:
            self._repeats.add(call, made)

    def _located(self, paths: Sequence[str]) -> tuple[str, ...]:
        """``paths`` relative to the root; without those that lead out of it, which the tool itself will refuse."""
        located: list[str] = []
        for path in paths:
            with suppress(ToolError):
                located.append(self._context.workspace.locate(path))
        return tuple(located)

    async def _output(
        self,
        prepared: PreparedCall | ToolOutput,
        call: ToolCall,
        emit: Callable[[Event], None],
        begins: Callable[[], None],
    ) -> ToolOutput:
        if isinstance(prepared, ToolOutput):
            return prepared

        def show(text: str) -> None:
            emit(ToolOutputEvent(call.id, self._redact(text)))

        return await self._gate.run(prepared, replace(self._context, emit=show), emit, begins)


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
