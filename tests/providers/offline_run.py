"""Runs the offline provider against the real tools in a real folder, as a turn does."""

import json
import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from marvin_server.events import MessageDelta, MessageFinished
from marvin_server.messages import Message, ToolCall, ToolResult, ToolSpec, user_message
from marvin_server.providers.base import ModelRequest
from marvin_server.providers.offline import Offline
from marvin_server.tools.base import ToolContext, ToolOutput
from marvin_server.tools.registry import CORE, Registry
from marvin_server.workspace.confine import Root
from marvin_server.workspace.process import Processes
from marvin_server.workspace.workspace import Workspace
from tests.tools.conftest import Unreviewed


class _Toolbox:
    def find_tools(self, query: str) -> str:
        return f"nothing for {query}"

    def usage(self) -> str:
        return "0 tokens"

    def skill(self, name: str, file: str | None) -> str:
        return f"no skill {name}"

    def compact(self, focus: str) -> str:
        return f"shorter, but for {focus}"

    def search_history(self, query: str) -> list[str]:
        return [f"nothing for {query}"]


@dataclass(frozen=True)
class Run:
    """A finished turn: its answer, the tool calls of each round, and the whole history."""

    answer: str
    rounds: list[list[tuple[str, dict[str, Any]]]]
    history: list[Message]

    @property
    def names(self) -> list[str]:
        return [name for calls in self.rounds for name, _ in calls]


class Desk:
    """A workspace with the core tools. Calls to ``denied`` tools are denied; ``offered`` limits the tools."""

    def __init__(self, root: Path, *, denied: Collection[str] = (), offered: Collection[str] | None = None) -> None:
        self._registry = Registry.load(root.parent / "cache", root.parent / "no-tools")
        environ = {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], "LC_ALL": "C.UTF-8"}
        self._context = ToolContext(Workspace(Root(root)), Processes(), _Toolbox(), environ, lambda _: None, Unreviewed)
        self._denied = denied
        specs = self._registry.specs(CORE)
        self.tools = tuple(spec for spec in specs if offered is None or spec.name in offered)

    async def ask(self, prompt: str, earlier: Sequence[Message] = (), limit: int = 50) -> Run:
        """Answer ``prompt`` in at most ``limit`` rounds with tools, after which one follows without."""
        history = [*earlier, user_message(prompt)]
        rounds: list[list[tuple[str, dict[str, Any]]]] = []
        while True:
            message = await respond(history, self.tools if len(rounds) < limit else ())
            history.append(message)
            if not message.tool_calls:
                return Run(message.text, rounds, history)
            rounds.append([(call.name, json.loads(call.arguments)) for call in message.tool_calls])
            history.append(Message("tool", tuple([await self._run(call) for call in message.tool_calls])))

    async def _run(self, call: ToolCall) -> ToolResult:
        if call.name in self._denied:
            return ToolResult(call.id, call.name, "The person denied. Nothing was done.", "denied")
        prepared = self._registry.prepare(call)
        output = prepared if isinstance(prepared, ToolOutput) else await self._registry.execute(prepared, self._context)
        return ToolResult(call.id, call.name, output.text, output.status)


async def respond(history: Sequence[Message], tools: Sequence[ToolSpec]) -> Message:
    """One message of the provider; its deltas must be its text, and it must be its last event."""
    events = [event async for event in Offline().stream(ModelRequest("", history, tools))]
    *deltas, finished = events
    assert isinstance(finished, MessageFinished)
    texts = [event.text for event in deltas if isinstance(event, MessageDelta)]
    assert len(texts) == len(deltas)
    assert "".join(texts) == finished.message.text
    return finished.message
