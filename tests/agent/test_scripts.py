"""Which scripts of a session a command is shown with."""

import os
import time
from pathlib import Path

import pytest

from marvin_server.agent.scripts import scripts
from marvin_server.agent.shell.running import parse
from marvin_server.events import Script
from marvin_server.workspace.confine import Root
from marvin_server.workspace.workspace import Workspace


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    for name in ("x.sh", "x.py", "sub/y.py", "pkg/__init__.py", "pkg/tool.py", "Makefile", "web/package.json", "a.awk"):
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"in {name}\n")
    (folder / "package.json").write_text("in package.json\n")
    (folder / "link.sh").symlink_to("x.sh")
    (tmp_path / "outside.sh").write_text("outside\n")
    return folder


@pytest.mark.parametrize(
    ("command", "paths"),
    [
        ("bash x.sh", ["x.sh"]),
        ("bash -e x.sh a b", ["x.sh"]),
        ("./x.sh", ["x.sh"]),
        ("sub/../x.sh", ["x.sh"]),
        ("bash link.sh", ["x.sh"]),
        ("env A=1 timeout 5 bash x.sh", ["x.sh"]),
        ("sh -c './x.sh'", ["x.sh"]),
        ("true && bash x.sh | cat", ["x.sh"]),
        ("a $(bash x.sh)", ["x.sh"]),
        ("bash < x.sh", ["x.sh"]),
        (". ./x.sh", ["x.sh"]),
        ("source x.sh", ["x.sh"]),
        ("python3 x.py", ["x.py"]),
        ("python3 -u x.py x.sh", ["x.py", "x.sh"]),
        ("python3 -m pkg.tool", ["pkg/tool.py"]),
        ("python3.11 sub/y.py", ["sub/y.py"]),
        ("cd sub && python3 y.py", ["sub/y.py"]),
        ("cd pkg && cd ../sub && python3 y.py", ["sub/y.py"]),
        ("cd -- sub && python3 y.py", ["sub/y.py"]),
        ("env -C sub python3 y.py", ["sub/y.py"]),
        ("env --chdir=sub python3 y.py", ["sub/y.py"]),
        ("python3 -mpkg.tool", ["pkg/tool.py"]),
        ("python3 -Bm pkg.tool", ["pkg/tool.py"]),
        ("make -j$(nproc)", ["Makefile"]),
        ("make all", ["Makefile"]),
        ("make -f x.sh", ["Makefile", "x.sh"]),
        ("npm run build", ["package.json"]),
        ("npm --prefix web run build", ["package.json", "web/package.json"]),
        ("awk -f a.awk x.sh", ["a.awk"]),
        ("find . -exec bash x.sh \\;", ["x.sh"]),
        ("cat x.sh", []),
        ("bash ../outside.sh", []),
        ("bash missing.sh", []),
        ("ls", []),
    ],
)
def test_a_command_is_shown_with_the_scripts_that_it_runs(project: Path, command: str, paths: list[str]) -> None:
    found = scripts(parse(command), Workspace(Root(project)), since=time.time() - 60)
    assert [(script.path, script.text) for script in found] == [(path, f"in {path}\n") for path in paths]


def test_a_script_that_was_there_before_the_session_is_not_shown(project: Path) -> None:
    assert scripts(parse("bash x.sh"), Workspace(Root(project)), since=time.time() + 60) == ()


def test_no_program_can_make_a_change_look_old(project: Path) -> None:
    since = time.time() - 60
    os.utime(project / "x.sh", (0, 0))
    assert [script.path for script in scripts(parse("bash x.sh"), Workspace(Root(project)), since)] == ["x.sh"]


def test_a_long_script_is_shown_whole(project: Path) -> None:
    (project / "x.sh").write_text("x" * 300_000 + "end")
    (script,) = scripts(parse("bash x.sh"), Workspace(Root(project)), time.time() - 60)
    assert script.text == "x" * 300_000 + "end"


def changed_at(file: Path) -> str:
    """When the content or the name of ``file`` was changed, in seconds since the epoch."""
    nanoseconds = str(file.stat().st_ctime_ns)
    return f"{nanoseconds[:-9]}.{nanoseconds[-9:]}"


def test_a_program_and_a_huge_script_are_named(project: Path) -> None:
    (project / "x.sh").write_bytes(b"\x7fELF\0\0")
    (project / "x.py").write_bytes(b"#" * 1_000_001)
    found = scripts(parse("./x.sh; python3 x.py"), Workspace(Root(project)), since=time.time() - 60)
    program, huge = found
    assert (program.text, len(program.digest)) == ("[a program of 6 bytes]", 64)
    assert huge == Script("x.py", f"[too long to show: 1,000,001 bytes, changed at {changed_at(project / 'x.py')}]", "")


@pytest.mark.parametrize(
    "command", ["sh x.s[h]", 'sh "$PWD/x.sh"', "cd $d && sh x.sh", "./x.* a", "make -f $x", "sh < $x", "ls | xargs sh"]
)
def test_a_script_that_only_bash_can_tell_is_said_to_be_unknown(project: Path, command: str) -> None:
    found = scripts(parse(command), Workspace(Root(project)), since=time.time() - 60)
    assert [(script.path, script.digest) for script in found if not script.digest] == [("?", "")]
