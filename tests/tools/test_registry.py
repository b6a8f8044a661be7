import json
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marvin_server.errors import PermissionNeeded
from marvin_server.messages import ToolCall
from marvin_server.tools import index
from marvin_server.tools.base import ToolContext, ToolEntry, ToolOutput
from marvin_server.tools.registry import PreparedCall, Registry

USER_TOOL = '''
import asyncio

from pydantic import BaseModel, Field

from marvin_server.errors import PermissionNeeded, ToolError
from marvin_server.tools.base import ToolContext, ToolOutput, tool

print("imported")


class Params(BaseModel):
    how: str = Field(examples=["well"])
    times: int | None = Field(None, ge=1, le=3)


@tool(effect="read")
async def behave(params: Params, context: ToolContext) -> str:
    """Behave
    somehow."""
    if params.how == "badly":
        raise RuntimeError("no")
    if params.how == "so-so":
        raise ToolError("Try 'well'.")
    if params.how == "exits":
        raise SystemExit(4)
    if params.how == "stops":
        raise GeneratorExit
    if params.how == "bytes":
        return b"x"
    if params.how == "nothing":
        return None
    if params.how == "details":
        return ToolOutput("x", details={"a": object()})
    if params.how == "surrogate":
        return "a\\udcff\\ud800"
    if params.how == "prints":
        print("noise")
        await asyncio.sleep(0)
        print("more noise")
        return "quiet"
    if params.how == "ask":
        raise PermissionNeeded("outside_path", "/x", "it is outside")
    return params.how
'''


@pytest.fixture
def user_tools(tmp_path: Path) -> Path:
    folder = tmp_path / "tools"
    folder.mkdir()
    (folder / "behave.py").write_text(USER_TOOL)
    return folder


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def prepare(registry: Registry, name: str, **arguments: object) -> PreparedCall:
    prepared = registry.prepare(ToolCall("1", name, json.dumps(arguments)))
    assert isinstance(prepared, PreparedCall)
    return prepared


def test_a_users_tool_is_indexed_with_a_schema_free_of_noise(user_tools: Path, cache: Path) -> None:
    registry = Registry.load(cache, user_tools)
    assert registry.warnings == ()
    assert registry.entries["behave"] == ToolEntry(
        "behave",
        "user",
        "read",
        "Behave somehow.",
        {
            "type": "object",
            "properties": {
                "how": {"type": "string", "examples": ["well"]},
                "times": {"type": "integer", "minimum": 1, "maximum": 3},
            },
            "required": ["how"],
        },
        str(user_tools / "behave.py"),
    )


def test_examples_are_not_sent_to_the_model(user_tools: Path, cache: Path) -> None:
    [spec] = Registry.load(cache, user_tools).specs(["user"])
    assert (spec.name, spec.parameters["properties"]["how"]) == ("behave", {"type": "string"})


def test_what_goes_without_saying_is_not_sent_either_and_all_else_is(user_tools: Path, cache: Path) -> None:
    registry = Registry.load(cache, user_tools)
    assert registry.specs(["user"])[0].parameters["properties"]["times"] == {"type": "integer", "maximum": 3}
    fields = {spec.name: spec.parameters["properties"] for spec in registry.specs(["search", "git"])}
    assert fields["tree"] == {"path": {"type": "string"}, "depth": {"default": 3, "maximum": 10, "type": "integer"}}
    assert fields["git_show"]["revision"]["default"] == "HEAD"
    assert fields["git_commit"]["all"] == {"type": "boolean"}


def test_a_changed_user_tool_is_indexed_again(user_tools: Path, cache: Path) -> None:
    Registry.load(cache, user_tools)
    (user_tools / "behave.py").write_text(USER_TOOL.replace("somehow", "better"))
    assert Registry.load(cache, user_tools).entries["behave"].description == "Behave better."
    (user_tools / "behave.py").unlink()
    assert "behave" not in Registry.load(cache, user_tools).entries


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        ("import no_such_package", "ModuleNotFoundError: No module named 'no_such_package'; its tools are left out"),
        ("def (", "SyntaxError: invalid syntax (broken.py, line 1); its tools are left out"),
        ("raise SystemExit(3)", "SystemExit: 3; its tools are left out"),
        (
            USER_TOOL.replace('"read"', '"banana"').replace("behave", "other"),
            (
                "ValueError: the effect 'banana' of other is none of read, edit, execute, network, message; "
                "its tools are left out"
            ),
        ),
        ("raise GeneratorExit", "GeneratorExit: ; its tools are left out"),
        ("pass", "there is no async function decorated with @tool in it"),
        (USER_TOOL.replace("behave", "read_file"), "there is another tool called read_file; this one is left out"),
    ],
)
def test_a_user_file_that_gives_no_tool_is_one_warning_each_time(
    user_tools: Path, cache: Path, text: str, warning: str
) -> None:
    (user_tools / "broken.py").write_text(text)
    for _ in range(2):
        registry = Registry.load(cache, user_tools)
        assert registry.warnings == (f"{user_tools / 'broken.py'}: {warning}",)
        assert registry.entries["read_file"].toolset == "files"
        assert "behave" in registry.entries


def test_files_that_begin_with_an_underscore_or_a_dot_are_no_tools(user_tools: Path, cache: Path) -> None:
    for name in ("_shared.py", ".behave.py"):
        (user_tools / name).write_text("raise RuntimeError")
    assert Registry.load(cache, user_tools).warnings == ()


def test_a_broken_cache_is_made_anew(user_tools: Path, cache: Path) -> None:
    Registry.load(cache, user_tools)
    for file in cache.iterdir():
        file.write_bytes(b'{"fingerprint": ')
    assert "behave" in Registry.load(cache, user_tools).entries


def test_a_cache_that_cannot_be_written_stops_nothing(user_tools: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "behave" in Registry.load(tmp_path / "file" / "cache", user_tools).entries


def test_loading_imports_no_tool_and_no_pydantic(user_tools: Path, cache: Path) -> None:
    Registry.load(cache, user_tools)
    program = (
        "import sys, pathlib\n"
        "from marvin_server.tools.registry import Registry\n"
        "registry = Registry.load(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))\n"
        "registry.specs(registry.select(['all']))\n"
        "print('behave' in registry.entries, *sorted(name for name in sys.modules if name.startswith("
        "('pydantic', 'marvin_user_tools', 'marvin_server.tools', 'marvin_server.workspace'))))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(cache), str(user_tools)], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [
        "True",
        "marvin_server.tools",
        "marvin_server.tools.arguments",
        "marvin_server.tools.base",
        "marvin_server.tools.index",
        "marvin_server.tools.registry",
    ]


def test_the_index_and_the_reference_that_are_checked_in_are_fresh() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "marvin_server.tools.index", "--check"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_built_in_index_needs_no_cache(cache: Path) -> None:
    assert index.built_in(cache) == index.build()
    assert not cache.exists()


def test_the_schemas_of_the_core_tools_are_small(cache: Path) -> None:
    registry = Registry.load(cache, cache)
    functions = [
        {"type": "function", "function": {"name": s.name, "description": s.description, "parameters": s.parameters}}
        for s in registry.specs(registry.select(["core"]))
    ]
    assert len(json.dumps(functions, separators=(",", ":"))) <= 10_600


def test_specs_keep_the_order_of_the_toolsets_that_are_asked_for(cache: Path) -> None:
    registry = Registry.load(cache, cache)
    before = registry.specs(["search", "files"])
    assert [spec.name for spec in before] == [
        "code_grep", "repo_map", "tree", "append_file", "apply_patch", "create_file", "read_file",
    ]  # fmt: skip
    assert registry.specs(["search", "files", "git"])[: len(before)] == before


def test_a_readonly_session_is_offered_nothing_that_changes_anything(cache: Path) -> None:
    registry = Registry.load(cache, cache)
    offered = {spec.name for spec in registry.specs(registry.select(["all"]), readonly=True)}
    assert "git_list_branches" in offered
    assert set(registry.entries) - offered == {
        "append_file", "apply_patch", "create_file", "diagnostics", "file_apply_patch", "git_branch", "git_checkout",
        "git_commit", "install_packages", "notes_mkdir", "run_command", "write_note",
    }  # fmt: skip


def test_toolsets_are_selected_by_the_setting(cache: Path) -> None:
    registry = Registry.load(cache, cache)
    core = ("files", "search", "shell", "git", "web", "notes", "workspace", "session")
    assert registry.select(["core"]) == core
    assert registry.select([]) == core
    assert registry.select(["git", "nonsense"]) == core
    assert set(registry.select(["all"])) == set(registry.toolsets())


def test_every_toolset_has_a_line(cache: Path) -> None:
    assert all(line.endswith(".") for line in Registry.load(cache, cache).toolsets().values())


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("grep_code", "Did you mean code_grep (toolset search)"),
        ("ReadFile", "Did you mean read_file (toolset files)"),
        ("git_diffs", "Did you mean git_diff (toolset git)"),
        ("xyzzy", "The tools are: append_file, "),
    ],
)
def test_an_unknown_tool_gets_the_nearest_names(cache: Path, name: str, hint: str) -> None:
    output = Registry.load(cache, cache).prepare(ToolCall("1", name, "{}"))
    assert isinstance(output, ToolOutput)
    assert output.status == "error"
    assert f"Error: There is no tool called {name!r}. {hint}" in output.text


def test_a_wrong_type_is_explained_with_a_correct_call(user_tools: Path, cache: Path) -> None:
    output = Registry.load(cache, user_tools).prepare(ToolCall("1", "behave", '{"how": [1], "times": "many"}'))
    assert output == ToolOutput(
        "Error: Wrong arguments for behave. Field 'how' must be text, not [1]. "
        "Field 'times' must be a whole number from 1 to 3, not \"many\".\n"
        "Fields: how (text), times (a whole number from 1 to 3, optional).\n"
        'A correct call: behave({"how": "well"})',
        "error",
    )


def test_a_number_in_quotes_is_a_number(user_tools: Path, cache: Path) -> None:
    prepared = prepare(Registry.load(cache, user_tools), "behave", how="well", times="2")
    assert prepared.params.model_dump() == {"how": "well", "times": 2}


def test_a_prepared_call_says_what_it_is_about(cache: Path) -> None:
    prepared = prepare(Registry.load(cache, cache), "create_file", path="a/b.txt", content="")
    assert (prepared.title, prepared.locations, prepared.command) == ("create_file a/b.txt", ("a/b.txt",), None)


def test_a_tool_whose_file_went_away_is_an_error_result(user_tools: Path, cache: Path) -> None:
    registry = Registry.load(cache, user_tools)
    (user_tools / "behave.py").unlink()
    output = registry.prepare(ToolCall("1", "behave", '{"how": "well"}'))
    assert isinstance(output, ToolOutput)
    assert output.text.startswith("Error executing 'behave': FileNotFoundError: ")


async def run(registry: Registry, context: ToolContext, how: str) -> ToolOutput:
    return await registry.execute(prepare(registry, "behave", how=how), context)


async def test_text_and_tool_errors_become_results(user_tools: Path, cache: Path, context: ToolContext) -> None:
    registry = Registry.load(cache, user_tools)
    assert await run(registry, context, "well") == ToolOutput("well")
    assert await run(registry, context, "so-so") == ToolOutput("Error: Try 'well'.", "error")


async def test_a_crash_becomes_a_result_and_a_logged_traceback(
    user_tools: Path, cache: Path, context: ToolContext, caplog: pytest.LogCaptureFixture
) -> None:
    output = await run(Registry.load(cache, user_tools), context, "badly")
    assert output == ToolOutput("Error executing 'behave': RuntimeError: no", "error")
    [record] = caplog.records
    assert (record.name, record.exc_info is not None) == ("marvin.tools", True)


@pytest.mark.parametrize(
    ("how", "problem"),
    [
        ("exits", "SystemExit: 4"),
        ("stops", "GeneratorExit: "),
        ("bytes", "TypeError: it returned bytes, not text"),
        ("nothing", "TypeError: it returned NoneType, not text"),
        ("details", "TypeError: Encoding objects of type object is unsupported"),
    ],
)
async def test_whatever_a_tool_does_wrong_becomes_a_result(
    user_tools: Path, cache: Path, context: ToolContext, how: str, problem: str
) -> None:
    output = await run(Registry.load(cache, user_tools), context, how)
    assert output == ToolOutput(f"Error executing 'behave': {problem}", "error")


async def test_halves_of_characters_in_a_result_are_escaped(
    user_tools: Path, cache: Path, context: ToolContext
) -> None:
    assert await run(Registry.load(cache, user_tools), context, "surrogate") == ToolOutput("a\\xff\ufffd")


async def test_what_a_users_tool_prints_goes_to_standard_error(
    user_tools: Path, cache: Path, context: ToolContext, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await run(Registry.load(cache, user_tools), context, "prints") == ToolOutput("quiet")
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", "imported\nimported\nnoise\nmore noise\n")


async def test_a_question_for_the_person_passes_through(user_tools: Path, cache: Path, context: ToolContext) -> None:
    with pytest.raises(PermissionNeeded):
        await run(Registry.load(cache, user_tools), context, "ask")


@given(name=st.text() | st.sampled_from(["read_file", "run_command", "git_log"]), text=st.text())
def test_no_call_that_a_model_can_write_raises(name: str, text: str) -> None:
    with tempfile.TemporaryDirectory() as empty:
        prepared = Registry.load(Path(empty), Path(empty)).prepare(ToolCall("1", name, text))
    assert isinstance(prepared, PreparedCall) or prepared.status == "error"
