"""The tool ``repo_map``, called as a model calls it."""

import json
from pathlib import Path

from msgspec.structs import replace

from marvin_server.messages import ToolCall
from marvin_server.tools.base import ToolContext
from marvin_server.tools.registry import PreparedCall, Registry
from marvin_server.workspace.repo_map.repo_map import RepoMap
from tests.tools.conftest import Call


async def test_a_call_gives_files_with_lines_by_paths_from_the_working_directory(
    context: ToolContext, folder: Path, tmp_path: Path, registry: Registry
) -> None:
    (folder / "src").mkdir()
    (folder / "src" / "boats.py").write_text("class Kayak:\n    def paddle(self): ...\n")
    (folder / "notes.md").write_text("A kayak is a boat.\n")
    mapped = replace(context, repo_map=lambda: RepoMap(context.workspace, tmp_path / "maps"))

    async def answer(**arguments: object) -> str:
        prepared = registry.prepare(ToolCall("1", "repo_map", json.dumps(arguments)))
        assert isinstance(prepared, PreparedCall)
        return (await registry.execute(prepared, mapped)).text

    boats = "boats.py\n     1: class Kayak\n     2:   def paddle(self): ..."
    assert await answer(query="who paddles the kayak?") == f"src/{boats}\nnotes.md"
    assert await answer(query="submarine", max_tokens=100) == "[no file matters for that]"
    context.workspace.set_working_dir("src")
    assert await answer(query="who paddles the kayak?") == f"{boats}\n../notes.md"


async def test_without_a_map_the_answer_says_what_to_do(call: Call) -> None:
    assert "code_grep" in (await call("repo_map", query="kayak")).text
