"""The person's checks after an edit and on demand, and packages for the workspace's own environment."""

import json
import os
import shutil
import sys
import zipfile
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import pytest
from msgspec.structs import replace

from marvin_server.messages import ToolCall
from marvin_server.tools.base import ToolContext, ToolOutput
from marvin_server.tools.registry import PreparedCall, Registry
from tests.tools.conftest import Call

Checking = Callable[..., Awaitable[ToolOutput]]
NO_TABS = "! grep -Hn bad {file}"


@pytest.fixture
def checking(registry: Registry, context: ToolContext) -> Checking:
    """Call a tool in a session with these checks."""

    async def run(checks: Mapping[str, str], name: str, /, **arguments: object) -> ToolOutput:
        prepared = registry.prepare(ToolCall("1", name, json.dumps(arguments)))
        assert isinstance(prepared, PreparedCall), prepared
        return await registry.execute(prepared, replace(context, checks=checks))

    return run


async def test_what_a_check_finds_is_told_with_the_edit(checking: Checking, folder: Path, shown: list[str]) -> None:
    output = await checking({"*.py": NO_TABS}, "create_file", path="src/a.py", content="bad\n")
    assert output.text == (
        "Created src/a.py: +1 lines.\n[check: ! grep -Hn bad ./src/a.py]\n./src/a.py:1:bad\n[exit code 1]"
    )
    assert (output.status, shown) == ("ok", [])
    assert (folder / "src/a.py").read_text() == "bad\n"


async def test_a_check_that_passes_and_one_for_other_files_say_nothing(checking: Checking) -> None:
    checks = {"*.py": NO_TABS, "*.js": "echo never; false"}
    assert (await checking(checks, "create_file", path="a.py", content="fine\n")).text == "Created a.py: +1 lines."


async def test_a_failed_edit_is_not_checked(checking: Checking, folder: Path) -> None:
    output = await checking({"*": "touch ran"}, "append_file", path="missing.py", content="x")
    assert output.status == "error"
    assert not (folder / "ran").exists()


async def test_a_check_that_cannot_run_leaves_the_edit_done_and_says_why(checking: Checking, folder: Path) -> None:
    output = await checking({"*.{py": "true"}, "create_file", path="a.py", content="x\n")
    assert (output.status, (folder / "a.py").read_text()) == ("ok", "x\n")
    assert "[the checks did not run: Bad glob" in output.text
    output = await checking({"*.py": "no-such-checker {file}"}, "create_file", path="b.py", content="x\n")
    assert "[exit code 127]" in output.text


@pytest.mark.parametrize("name", ["-rf.py", "$(touch ran).py", "a b;touch ran.py", "'q'.py"])
async def test_a_file_name_is_only_ever_a_name(checking: Checking, folder: Path, name: str) -> None:
    output = await checking({"*.py": "cat {file}; false"}, "create_file", path=name, content="content of it\n")
    assert "\ncontent of it\n" in output.text
    assert not (folder / "ran").exists()


@pytest.mark.parametrize("check", ['cat "{file}"', "cat {file}.orig", "cat <<E\n{file}\nE", 'cat <<E\n"{file}"\nE'])
async def test_wherever_a_check_puts_a_name_nothing_in_it_runs(checking: Checking, folder: Path, check: str) -> None:
    await checking({"*.py": check}, "create_file", path="$(touch ran).py", content="x\n")
    assert not (folder / "ran").exists()


async def test_a_question_shows_how_a_check_gets_its_names(registry: Registry, context: ToolContext) -> None:
    (context.workspace.directory / "a b.py").touch()
    prepared = registry.prepare(ToolCall("1", "diagnostics", json.dumps({"path": "a b.py"})))
    assert isinstance(prepared, PreparedCall)
    assert prepared.command is not None
    command = prepared.command(replace(context, checks={"*.py": "ruff check {file}"}))
    assert command.display == f"{command.shell} -c 'ruff check \"$@\"' sh './a b.py'"


async def test_diagnostics_check_a_file_or_a_folder_on_demand(checking: Checking, folder: Path) -> None:
    (folder / "src").mkdir()
    (folder / "src/a.py").write_text("bad\n")
    checks = {"*.py": "! grep -rn bad {file}", "*.js": "true {file}"}
    assert (await checking(checks, "diagnostics", path="src/a.py")).text == (
        "[check: ! grep -rn bad ./src/a.py]\n1:bad\n[exit code 1]"
    )
    assert (await checking(checks, "diagnostics")).text == (
        "[check: ! grep -rn bad .]\n./src/a.py:1:bad\n[exit code 1]\n[nothing found by: true .]"
    )


async def test_without_a_fitting_check_diagnostics_say_how_to_add_one(checking: Checking, folder: Path) -> None:
    (folder / "a.rs").touch()
    assert (
        'checks: {"*.py": "ruff check {file}"}' in (await checking({"*.py": "true"}, "diagnostics", path="a.rs")).text
    )


async def test_long_findings_are_cut_in_their_middle(checking: Checking) -> None:
    output = await checking({"*": "seq 1 20000; false"}, "create_file", path="a", content="x\n")
    assert len(output.text) < 9_000
    assert "[… cut …]" in output.text
    assert output.text.endswith("20000\n[exit code 1]")


def shown_command(registry: Registry, context: ToolContext, **arguments: object) -> str:
    prepared = registry.prepare(ToolCall("1", "install_packages", json.dumps(arguments)))
    assert isinstance(prepared, PreparedCall), prepared
    assert prepared.command is not None
    return prepared.command(context).display


@pytest.fixture
def with_uv(context: ToolContext, tmp_path: Path) -> ToolContext:
    """A machine on which there is a program called uv."""
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "uv").write_text("#!/bin/sh\n")
    (programs / "uv").chmod(0o755)
    return replace(context, environ={**context.environ, "PATH": f"{programs}:/usr/bin:/bin"})


@pytest.fixture
def without_uv(context: ToolContext) -> ToolContext:
    return replace(context, environ={**context.environ, "PATH": "/nowhere"})


def test_a_project_gets_packages_by_uv_add(registry: Registry, with_uv: ToolContext, folder: Path) -> None:
    (folder / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    words = {"packages": ["requests", "pytest>=8,<9", "httpx[http2, socks]"]}
    quoted = "requests 'pytest>=8,<9' 'httpx[http2, socks]'"
    assert shown_command(registry, with_uv, **words) == f"uv add {quoted}"
    assert shown_command(registry, with_uv, dev=True, **words) == f"uv add --dev {quoted}"


def test_a_folder_without_a_project_gets_an_environment_of_its_own(
    registry: Registry, with_uv: ToolContext, without_uv: ToolContext, folder: Path
) -> None:
    (folder / "pyproject.toml").write_text("[tool.ruff]\n")
    (folder / "src").mkdir()
    with_uv.workspace.set_working_dir("src")
    assert [shown_command(registry, one, packages=["six"]) for one in (with_uv, without_uv)] == [
        "uv venv ../.venv && uv pip install --python ../.venv/bin/python six",
        "python3 -m venv ../.venv && ../.venv/bin/python -m pip install six",
    ]
    (folder / ".venv").mkdir()
    assert [shown_command(registry, one, packages=["six"]) for one in (with_uv, without_uv)] == [
        "uv pip install --python ../.venv/bin/python six",
        "../.venv/bin/python -m pip install six",
    ]


@pytest.mark.parametrize(
    "package",
    [
        *("--index-url=https://evil.example", "-r", "-e .", "https://evil.example/x.whl", "git+https://evil.example/x"),
        *(
            "./local",
            "/abs",
            "..",
            "x @ https://evil.example/x.whl",
            "x; rm -rf .",
            "x\ny",
            "$(id)",
            "",
            " ",
            "x --pre",
        ),
        *("x==1 --extra-index-url=y", "file:x", "x>=", "é", "x#egg", "name @ file:///x", "x;python_version<'4'", "a\0"),
    ],
)
async def test_an_option_a_url_or_a_path_is_no_package(call: Call, folder: Path, package: str) -> None:
    output = await call("install_packages", packages=["requests", package])
    assert output.status == "error"
    assert "is no package name such as 'requests'" in output.text
    assert list(folder.iterdir()) == []


async def test_an_environment_that_lies_elsewhere_is_refused(call: Call, folder: Path) -> None:
    (folder.parent / "elsewhere").mkdir()
    (folder / ".venv").symlink_to("../elsewhere")
    output = await call("install_packages", packages=["six"])
    assert "'.venv' leads out of the workspace" in output.text


async def test_pip_really_installs_into_the_environment_of_the_workspace(
    registry: Registry, context: ToolContext, folder: Path, tmp_path: Path
) -> None:
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    with zipfile.ZipFile(shelf / "tiny_marvin-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("tiny_marvin.py", "ANSWER = 42\n")
        wheel.writestr("tiny_marvin-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny-marvin\nVersion: 1.0\n")
        wheel.writestr(
            "tiny_marvin-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr("tiny_marvin-1.0.dist-info/RECORD", "tiny_marvin.py,,\n")
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "python3").symlink_to(Path(sys.base_prefix, "bin/python3"))
    environ = {
        **context.environ,
        "PATH": f"{programs}:/usr/bin:/bin",
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(shelf),
    }
    assert shutil.which("uv", path=environ["PATH"]) is None
    prepared = registry.prepare(ToolCall("1", "install_packages", '{"packages": ["tiny-marvin==1.0"]}'))
    assert isinstance(prepared, PreparedCall)
    output = await registry.execute(prepared, replace(context, environ=environ))
    assert output.exit_code == 0, output.text
    installed = list(folder.glob(".venv/lib/python3*/site-packages/tiny_marvin.py"))
    assert [os.fspath(path.name) for path in installed] == ["tiny_marvin.py"]
