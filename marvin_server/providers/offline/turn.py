"""A turn as a plan: straight-line code that asks for tool calls, resumed from nothing but the history.

A plan is a generator. It yields batches of calls, is sent their outcomes, and returns the answer. It is run anew for
every model request: the results that the history holds are fed to it first, so nothing is kept between requests.
"""

import json
from collections.abc import Collection, Generator, Mapping, Sequence
from typing import Literal

from msgspec import Struct

from marvin_server.messages import Message, ToolResult


class Call(Struct, frozen=True):
    """A tool call that a plan asks for."""

    name: str
    arguments: Mapping[str, object] = {}

    @property
    def json(self) -> str:
        return json.dumps(self.arguments, ensure_ascii=False)


class Outcome(Struct, frozen=True):
    """What became of a call; ``missing`` means that this session does not offer the tool."""

    call: Call
    status: Literal["ok", "error", "denied", "cancelled", "missing"]
    text: str

    @property
    def ok(self) -> bool:
        return self.status == "ok"

    def but_failed(self, reason: str) -> "Outcome":
        """The same call with an error of the plan's own: what it answered cannot be used."""
        return Outcome(self.call, "error", reason)


Plan = Generator[Sequence[Call], Sequence[Outcome], str]
Step = Generator[Sequence[Call], Sequence[Outcome], Outcome]


class Turn(Struct, frozen=True):
    """The prompt that is being answered, the prompt before it, and the results of this turn's rounds so far."""

    prompt: str
    earlier_prompt: str
    rounds: tuple[Mapping[tuple[str, str], ToolResult], ...]


def read_turn(history: Sequence[Message]) -> Turn:
    """The running turn, as the history tells it: everything after the last user message belongs to it."""
    prompts = [index for index, message in enumerate(history) if message.role == "user"]
    last = prompts[-1] if prompts else len(history)
    rounds: list[Mapping[tuple[str, str], ToolResult]] = []
    calls: dict[str, tuple[str, str]] = {}
    for message in history[last:]:
        if message.role == "assistant":
            calls = {call.id: (call.name, call.arguments) for call in message.tool_calls}
        elif message.role == "tool":
            results = [part for part in message.parts if isinstance(part, ToolResult)]
            rounds.append({calls[result.call_id]: result for result in results if result.call_id in calls})
    return Turn(
        prompt=history[last].text if prompts else "",
        earlier_prompt=history[prompts[-2]].text if len(prompts) > 1 else "",
        rounds=tuple(rounds),
    )


def advance(plan: Plan, turn: Turn, offered: Collection[str]) -> Sequence[Call] | str:
    """Run ``plan`` through the results of ``turn``: the calls that it needs next, or its answer.

    A call to a tool outside ``offered`` is never made; the plan hears that the tool is missing.
    """
    rounds = iter(turn.rounds)
    results = next(rounds, None)
    try:
        batch = next(plan)
        while True:
            known = results or {}
            if any((call.name, call.json) in known for call in batch):
                results = next(rounds, None)
            elif results is None and any(call.name in offered for call in batch):
                return [call for call in batch if call.name in offered]
            batch = plan.send([_outcome(call, known.get((call.name, call.json))) for call in batch])
    except StopIteration as finished:
        return finished.value
    finally:
        plan.close()


def ask(name: str, /, **arguments: object) -> Step:
    """One call in a plan: ``outcome = yield from ask("tree", depth=2)``. Arguments that are None are left out."""
    given = {key: value for key, value in arguments.items() if value is not None}
    (outcome,) = yield [Call(name, given)]
    return outcome


def _outcome(call: Call, result: ToolResult | None) -> Outcome:
    if result is None:
        return Outcome(call, "missing", f"The tool `{call.name}` is not available here.")
    return Outcome(call, result.status, result.text)
