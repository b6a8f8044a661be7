import json
from pathlib import Path

from marvin_server.events import Command
from marvin_server.messages import ToolCall
from marvin_server.tools.base import ToolContext, ToolOutput
from marvin_server.tools.registry import PreparedCall, Registry
from marvin_server.workspace.process import shell_argv
from tests.tools.conftest import Call


async def test_output_comes_with_the_exit_code_and_is_shown_while_it_runs(call: Call, shown: list[str]) -> None:
    output = await call("run_command", command="echo out; echo err >&2; exit 3")
    assert output == ToolOutput("out\nerr\n[exit code 3]", exit_code=3)
    assert "".join(shown) == "out\nerr\n"


async def test_silence_is_just_the_exit_code(call: Call) -> None:
    assert await call("run_command", command="true") == ToolOutput("[exit code 0]", exit_code=0)


async def test_a_command_that_a_signal_ends_says_so(call: Call) -> None:
    assert await call("run_command", command="kill -KILL $$") == ToolOutput("[ended by signal 9]", exit_code=-9)


async def test_the_exit_code_has_a_line_of_its_own(call: Call) -> None:
    assert (await call("run_command", command="printf x")).text == "x\n[exit code 0]"


async def test_a_command_runs_in_the_working_directory(folder: Path, call: Call) -> None:
    (folder / "src").mkdir()
    await call("set_working_dir", path="src")
    assert (await call("run_command", command="pwd")).text == f"{folder / 'src'}\n[exit code 0]"


async def test_a_timed_out_command_says_what_it_had_printed(call: Call) -> None:
    assert await call("run_command", command="echo early; exec sleep 30", timeout=1) == ToolOutput(
        "early\nError: Command timed out after 1s. "
        "Break it into smaller steps, or give a longer timeout (600 at most).",
        "error",
    )


async def test_what_will_run_is_shown_exactly(registry: Registry, context: ToolContext, folder: Path) -> None:
    command = "cat <<'X'\n$HOME\nX"
    prepared = registry.prepare(ToolCall("1", "run_command", json.dumps({"command": command})))
    assert isinstance(prepared, PreparedCall)
    assert prepared.command is not None
    shell = shell_argv(command, context.environ)[0]
    assert prepared.command(context) == Command(command, shell, str(folder), sandbox="off")
    assert prepared.title == command
