import json
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from marvin_server.edits.hunks import FileChange
from marvin_server.messages import ToolCall
from marvin_server.tools.base import Applied, ToolContext, ToolOutput
from marvin_server.tools.registry import Registry
from marvin_server.workspace.changes import Change
from marvin_server.workspace.confine import Root
from marvin_server.workspace.documents import Document
from marvin_server.workspace.process import Processes
from marvin_server.workspace.workspace import Workspace

Call = Callable[..., Awaitable[ToolOutput]]


@dataclass
class Toolbox:
    """A session that says what it was asked."""

    queries: list[str] = field(default_factory=list[str])

    def find_tools(self, query: str) -> str:
        self.queries.append(query)
        return f"tools for {query}"

    def usage(self) -> str:
        return "12 tokens"

    def skill(self, name: str, file: str | None) -> str:
        return f"skill {name} {file}"

    def compact(self, focus: str) -> str:
        return f"shorter, but for {focus}"

    def search_history(self, query: str) -> list[str]:
        return [f"session 1: {query}"]


class Unreviewed:
    """Makes every patch as it comes."""

    async def apply(
        self, workspace: Workspace, changes: Sequence[FileChange], documents: Mapping[str, Document]
    ) -> Applied:
        wanted = [Change(c.path, documents.get(c.path), c.new, c.move_to, c.executable) for c in changes]
        await workspace.change("Marvin", wanted)
        return Applied(tuple(changes))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The workspace's root."""
    root = tmp_path / "root"
    root.mkdir()
    return root


@pytest.fixture
def shown() -> list[str]:
    """The text that running tools have emitted."""
    return []


@pytest.fixture
def context(folder: Path, shown: list[str]) -> ToolContext:
    environ = {"PATH": os.environ["PATH"], "HOME": str(folder.parent), "LC_ALL": "C.UTF-8"}
    return ToolContext(Workspace(Root(folder)), Processes(), Toolbox(), environ, shown.append, Unreviewed)


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    return Registry.load(tmp_path / "cache", tmp_path / "no-tools")


@pytest.fixture
def call(registry: Registry, context: ToolContext) -> Call:
    """Call a built-in tool by its name, as a model does."""

    async def run(name: str, /, **arguments: object) -> ToolOutput:
        prepared = registry.prepare(ToolCall("1", name, json.dumps(arguments)))
        return prepared if isinstance(prepared, ToolOutput) else await registry.execute(prepared, context)

    return run
