"""The parts of the sandbox: which one is chosen, what is looked for and found, and the folder of a session."""

import fcntl
import os
import re
import socket
import sys
from contextlib import closing
from pathlib import Path

import pytest

from marvin_server.errors import ToolError
from marvin_server.workspace import seatbelt
from marvin_server.workspace.bubblewrap import Bubblewrap
from marvin_server.workspace.landlock import Landlock
from marvin_server.workspace.names import protection
from marvin_server.workspace.process import Processes
from marvin_server.workspace.sandbox import Confinement, best_sandbox
from marvin_server.workspace.sandbox_folder import PrivateFolder
from marvin_server.workspace.sandbox_places import secret_places, sockets
from marvin_server.workspace.sandbox_session import Access, SessionSandbox
from marvin_server.workspace.sandbox_survey import Survey, guarded, survey
from tests.patience import SECONDS

ENVIRON = {"PATH": os.environ["PATH"]}


def test_best_sandbox() -> None:
    """On Linux the whole suite must have run against bubblewrap and Landlock."""
    if sys.platform == "linux":
        strong, weak = best_sandbox(ENVIRON), best_sandbox({"PATH": ""})
        assert (type(strong.sandbox), strong.problems) == (Bubblewrap, ())
        assert (type(weak.sandbox), weak.problems) == (Landlock, ("bubblewrap is not installed",))


def test_a_bubblewrap_that_does_not_work_is_passed_over_with_its_own_words(tmp_path: Path) -> None:
    program = tmp_path / "bwrap"
    program.write_text("#!/bin/sh\necho 'bwrap: Creating new namespace failed: Operation not permitted' >&2; exit 1\n")
    program.chmod(0o755)
    search = best_sandbox({"PATH": str(tmp_path)})
    assert not isinstance(search.sandbox, Bubblewrap)
    assert search.problems[0] == (
        "bubblewrap does not work here: Creating new namespace failed: Operation not permitted"
    )


def test_the_state_is_told_in_a_few_words(tmp_path: Path) -> None:
    assert SessionSandbox(Access(lambda: tmp_path), ENVIRON, tmp_path).state == f"{_best()}, without network"
    assert SessionSandbox(Access(lambda: tmp_path, network=True), ENVIRON, tmp_path).state == f"{_best()}, with network"


async def test_a_missing_program_is_a_tool_error(tmp_path: Path) -> None:
    sandbox = SessionSandbox(Access(lambda: tmp_path), ENVIRON, tmp_path / "cache")
    with pytest.raises(ToolError, match="The command cannot be started: no-such: No such file or directory"):
        await Processes().run(["no-such"], cwd=tmp_path, environ=ENVIRON, timeout=SECONDS, sandbox=sandbox)


async def test_nothing_runs_where_the_private_folder_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("")
    sandbox = SessionSandbox(Access(lambda: tmp_path), ENVIRON, tmp_path / "cache" / "x")
    with pytest.raises(ToolError, match="no room for its files"):
        await Processes().run(["touch", "mark"], cwd=tmp_path, environ=ENVIRON, timeout=SECONDS, sandbox=sandbox)
    assert not (tmp_path / "mark").exists()


def test_the_private_folder_goes_with_the_session_whatever_is_in_it(tmp_path: Path) -> None:
    with closing(PrivateFolder(tmp_path)) as folder:
        stubborn = folder.path / "cache" / "go-mod" / "pkg"
        stubborn.mkdir(parents=True)
        (stubborn / "file").write_text("")
        (folder.path / "tmp" / "link").symlink_to("/")
        stubborn.chmod(0o555)
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_session_left_is_removed_and_a_living_ones_is_not(tmp_path: Path) -> None:
    dead = tmp_path / "session-dead"
    (dead / "cache").mkdir(parents=True)
    living = tmp_path / "session-living"
    living.mkdir()
    with (living / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with closing(PrivateFolder(tmp_path)) as folder:
            assert {path.name for path in tmp_path.iterdir()} == {"session-living", folder.path.name}


def test_env_files_are_found_where_git_does_not_look(tmp_path: Path) -> None:
    secrets = (".env", "a/.env.local", "ignored/node_modules/x/.ENV", ".hidden/.env", "folder/.env/key")
    plain = (".env.example", ".environment", "b/.env.sample", "venv/.env/pyvenv.cfg", "x.env")
    for name in (*secrets, *plain):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / ".gitignore").write_text("ignored\n.env\n")
    (tmp_path / "loop").symlink_to(".")
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / ".env").symlink_to("../b/real")
    (tmp_path / "b" / "real").write_text("")
    found = survey([str(tmp_path)], 5)
    expected = {name.removesuffix("/key") for name in secrets} | {"b/real"}
    assert found == Survey(frozenset(str(tmp_path / name) for name in expected), frozenset(), complete=True)


def test_what_is_to_stay_is_found_at_every_depth(tmp_path: Path) -> None:
    fixed = (".git/config", ".git/hooks/x", ".git/worktrees/w/gitdir", "sub/.git/config", ".claude/settings.json")
    fixed += (".marvin/config.yaml", "sub/.github/copilot-instructions.md", "tree/.git", "CLAUDE/.mcp.json")
    for name in (*fixed, ".git/index", ".github/workflows/ci.yml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    tops = (".git/config", ".git/hooks", ".git/worktrees", "sub/.git/config", ".claude", ".marvin")
    tops += ("sub/.github/copilot-instructions.md", "tree/.git", "CLAUDE/.mcp.json")
    assert survey([str(tmp_path)], 5).fixed == {str(tmp_path / name) for name in tops}


def test_a_survey_that_runs_out_of_time_says_so(tmp_path: Path) -> None:
    assert survey([str(tmp_path)], 0) == Survey(complete=False)


def test_a_guarded_file_is_seen_to_come_change_and_go(tmp_path: Path) -> None:
    hooks = tmp_path / ".git" / "hooks"
    hooks.mkdir(parents=True)
    before = guarded([str(tmp_path)], [])
    (hooks / "pre-commit").write_text("")
    (tmp_path / ".git" / "index").write_text("")
    after = guarded([str(tmp_path)], [])
    assert {path for path in after if after[path] != before.get(path)} == {str(hooks)}


def test_keys_are_found_in_the_home_that_is_named(tmp_path: Path) -> None:
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".netrc").symlink_to("real")
    (tmp_path / "real").write_text("")
    found = {Path(place).name for place in secret_places({"HOME": str(tmp_path)}) if place.startswith(str(tmp_path))}
    assert found == {".ssh", "real"}


def test_variables_that_name_sockets_are_found(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path := str(tmp_path / "s"))
        environ = {
            "A": path,
            "B": f"unix:path={path},guid=1",
            "C": f"{path},12,0",
            "D": str(tmp_path),
            "E": "/\0",
            "F": "",
        }
        assert sockets(environ) == {"A": path, "B": path, "C": path}


CONFINEMENT = Confinement(
    roots=('/Users/me/"work"',),
    private="/Users/me/Library/Caches/marvin/s",
    hidden=("/Users/me/.ssh", '/Users/me/"work"/.env'),
    fixed=('/Users/me/"work"/.git/hooks',),
)


def test_the_profile_of_macos_denies_first_and_allows_the_roots() -> None:
    """Only the text is checked here; what macOS makes of it is not tried."""
    lines = seatbelt.profile(CONFINEMENT).splitlines()
    assert lines[:2] == ["(version 1)", "(allow default)"]
    assert "(deny network*)" in lines
    assert '(deny file-read* file-write* network-outbound (subpath "/Users/me/.ssh"))' in lines
    allow = next(index for index, line in enumerate(lines) if r"\"work\"" in line and line.startswith("(allow"))
    assert (
        lines.index("(deny file-write*)")
        < allow
        < lines.index(r'(deny file-write* (subpath "/Users/me/\"work\"/.git/hooks"))')
    )
    assert lines[-1] == r'(deny file-read* file-write* network-outbound (subpath "/Users/me/\"work\"/.env"))'
    assert all(line.count("(") == line.count(")") for line in lines if "regex" not in line)


@pytest.mark.parametrize(
    "path",
    [
        *(
            ".claude/x",
            ".CLAUDE.json",
            ".cursor",
            ".cursorrules",
            ".mcp.json",
            ".codex/x",
            ".gemini",
            ".aider.conf.yml",
        ),
        *(
            ".opencode/x",
            ".roo/x",
            ".windsurf",
            ".cline",
            ".clinerules",
            ".continue/c",
            ".marvin/config.yaml",
            ".agents/x",
        ),
        *(
            ".kiro/x",
            ".junie/x",
            ".qwen/x",
            ".trae/x",
            ".crush",
            ".goosehints",
            ".augment/x",
            ".amazonq/x",
            ".kilocode/x",
        ),
        *(".github/copilot-instructions.md", ".config/marvin/x", ".config/opencode/x", ".vscode/mcp.json"),
        *(".vscode/settings.json", "sub/.vscode/tasks.json", "shop.code-workspace"),
        *(".nvim.lua", ".exrc", "sub/.nvimrc", ".dir-locals.el", ".dir-locals-2.el", ".devcontainer/x", ".idea/y"),
        *(".marvin-instructions", ".git/config", ".git/hooks/pre-commit", "sub/.git/hooks/x", ".git"),
    ],
)
def test_the_profile_of_macos_knows_every_protected_name(path: str) -> None:
    assert protection(path, writing=True)
    fixed = [line for line in seatbelt.profile(CONFINEMENT).splitlines() if line.startswith("(deny file-write* (regex")]
    assert any(re.search(pattern, f"/w/{path}") for line in fixed for pattern in re.findall(r'#"([^"]*)"', line))


@pytest.mark.parametrize(
    ("path", "readable"),
    [(".env", False), ("a/.ENV.local", False), (".envrc", False), (".env.example", True), (".environment", True)],
)
def test_the_profile_of_macos_hides_env_files(path: str, readable: bool) -> None:
    verdict = True
    for line in seatbelt.profile(CONFINEMENT).splitlines():
        patterns = re.findall(r'#"([^"]*)"', line)
        if "file-read*" in line and any(re.search(pattern, f"/w/{path}") for pattern in patterns):
            verdict = line.startswith("(allow")
    assert verdict is readable
    assert (protection(path, writing=False) is None) is readable


def _best() -> str:
    sandbox = best_sandbox(ENVIRON).sandbox
    assert sandbox is not None
    return sandbox.name
