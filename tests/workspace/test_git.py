"""git's answers, and that a hostile repository runs nothing while they are found."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from marvin_server.errors import PermissionNeeded, ToolError
from marvin_server.workspace.git import Git
from marvin_server.workspace.process import Processes

IDENTITY = {
    "GIT_AUTHOR_NAME": "Ann",
    "GIT_AUTHOR_EMAIL": "ann@example.org",
    "GIT_AUTHOR_DATE": "2024-05-06T07:08:09Z",
    "GIT_COMMITTER_NAME": "Ann",
    "GIT_COMMITTER_EMAIL": "ann@example.org",
    "GIT_COMMITTER_DATE": "2024-05-06T07:08:09Z",
}


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    home = tmp_path / "home"
    home.mkdir()
    return {"PATH": os.environ["PATH"], "HOME": str(home)}


@pytest.fixture
def root(tmp_path: Path, environ: dict[str, str]) -> Path:
    """A repository with one commit of a.txt and b.txt."""
    root = tmp_path / "work"
    root.mkdir()
    (root / "a.txt").write_text("one\n")
    (root / "b.txt").write_text("two\n")
    git(root, environ, "init", "--quiet", "--initial-branch=main")
    commit(root, environ, "First")
    return root


def git(folder: Path, environ: dict[str, str], *arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=folder, env={**environ, **IDENTITY}, check=True, capture_output=True, text=True
    )
    return done.stdout


def commit(folder: Path, environ: dict[str, str], subject: str) -> None:
    git(folder, environ, "add", "--all")
    git(folder, environ, "commit", "--quiet", "--message", subject)


@pytest.fixture
def ask(root: Path, environ: dict[str, str]) -> Callable[..., Git]:
    def ask(directory: str = ".", **more: str) -> Git:
        return Git(Processes(), root, directory, {**environ, **more}, lambda path: False)

    return ask


async def test_status_names_the_branch_and_every_change(root: Path, ask: Callable[..., Git]):
    (root / "a.txt").write_text("ONE\n")
    (root / "b.txt").unlink()
    (root / "naïve name.txt").write_text("new\n")
    assert await ask().status() == '## main\n M a.txt\n D b.txt\n?? "naïve name.txt"\n'


async def test_diff_shows_the_working_tree_the_index_or_a_revision(
    root: Path, environ: dict[str, str], ask: Callable[..., Git]
):
    (root / "a.txt").write_text("staged\n")
    git(root, environ, "add", "a.txt")
    (root / "b.txt").write_text("changed\n")
    unstaged, staged, both = await ask().diff(), await ask().diff(staged=True), await ask().diff(revision="HEAD")
    assert [line for line in unstaged.splitlines() if line[0] in "+-"] == [
        "--- a/b.txt",
        "+++ b/b.txt",
        "-two",
        "+changed",
    ]
    assert "+staged" in staged
    assert "b.txt" not in staged
    assert both == staged + unstaged
    assert await ask().diff(revision="HEAD", path="b.txt") == unstaged


async def test_log_has_one_line_for_each_commit_newest_first(
    root: Path, environ: dict[str, str], ask: Callable[..., Git]
):
    (root / "c.txt").write_text("three\n")
    commit(root, environ, "Second")
    newest, oldest = git(root, environ, "log", "--format=%h").split()
    assert await ask().log() == (f"{newest} 2024-05-06 Ann: (HEAD -> main) Second\n{oldest} 2024-05-06 Ann: First\n")
    assert await ask().log(limit=1, path="a.txt") == f"{oldest} 2024-05-06 Ann: First\n"


async def test_a_folder_within_the_repository_will_do(root: Path, ask: Callable[..., Git]):
    (root / "sub").mkdir()
    (root / "sub" / "new").write_text("")
    assert await ask("sub").status() == "## main\n?? sub/\n"


async def test_a_path_is_taken_literally(root: Path, environ: dict[str, str], ask: Callable[..., Git]):
    for name in ("*.txt", "-n", ":(top)x"):
        (root / name).write_text("old\n")
    commit(root, environ, "Odd names")
    for name in ("*.txt", "-n", ":(top)x", "a.txt"):
        (root / name).write_text("new\n")
        assert (await ask().diff(path=name)).startswith(f"diff --git a/{name} b/{name}\n")


@pytest.mark.parametrize(
    "revision", ["--output=stolen", "-p", "", "no-such-branch", "HEAD:.env", "/etc/passwd", "a\0b"]
)
async def test_a_revision_can_be_no_option_and_no_file(revision: str, root: Path, ask: Callable[..., Git]):
    (root / "--").write_text("a trap for git diff's implicit --no-index\n")
    with pytest.raises(ToolError):
        await ask().diff(revision=revision)
    assert not (root / "stolen").exists()


async def test_a_path_outside_the_repository_is_refused(root: Path, environ: dict[str, str]):
    question = Git(Processes(), root.parent, "work", environ, lambda _: False).diff(path="home/x")
    with pytest.raises(ToolError, match=r"'home/x' is not in the git repository at 'work'"):
        await question


async def test_no_repository_is_said_so_and_none_above_the_root_is_used(root: Path, environ: dict[str, str]):
    inner = root / "inner"
    inner.mkdir()
    with pytest.raises(ToolError, match=r"^Not a git repository: '\.', nor any folder above it in the workspace"):
        await Git(Processes(), inner, ".", environ, lambda _: False).status()


async def test_a_repository_without_commits_gives_gits_own_reason(tmp_path: Path, environ: dict[str, str]):
    git(tmp_path, environ, "init", "--quiet", "--initial-branch=main")
    with pytest.raises(ToolError, match=r"^git refused: your current branch 'main' does not have any commits yet$"):
        await Git(Processes(), tmp_path, ".", environ, lambda _: False).log()


async def test_git_that_is_not_installed_is_a_tool_error(ask: Callable[..., Git]):
    with pytest.raises(ToolError, match=r"cannot be started: git: No such file"):
        await ask(PATH="/nowhere").status()


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    """A program that leaves the file ``ran`` beside itself, whatever it is called with."""
    program = tmp_path / "mark"
    program.write_text(f'#!/bin/sh\necho "$0 $*" >> {tmp_path}/ran\ncat\n')
    program.chmod(0o755)
    return program


HOSTILE = """
[core]
    fsmonitor = MARK fsmonitor
    pager = MARK pager
    editor = MARK editor
    hooksPath = HOOKS
    sshCommand = MARK ssh
    gitProxy = MARK proxy
    askPass = MARK
    alternateRefsCommand = MARK alternates
[pager]
    status = MARK status
    diff = MARK diff
    log = MARK log
[diff]
    external = MARK external
    submodule = diff
[diff "evil"]
    command = MARK command
    textconv = MARK textconv
[filter "evil"]
    clean = MARK clean
    smudge = MARK smudge
    required = true
[filter "evil.Process"]
    process = MARK process
[alias]
    status = !MARK alias
    diff = !MARK alias
    log = !MARK alias
[log]
    showSignature = true
[gpg]
    program = MARK
[gpg "ssh"]
    program = MARK
[credential]
    helper = !MARK credential
[interactive]
    diffFilter = MARK filter
[status]
    submoduleSummary = true
[include]
    path = included
"""
INCLUDED = """
[filter "included"]
    clean = MARK included
[diff "included"]
    textconv = MARK included
"""
ATTRIBUTES = """
a.txt diff=evil filter=evil
b.txt filter=evil.Process
c.txt diff=included filter=included
"""


@pytest.fixture
def hostile(root: Path, environ: dict[str, str], mark: Path) -> Path:
    """A repository whose every setting would run ``mark``, with each kind of file changed, and signed commits."""
    (root / "c.txt").write_text("six\n")
    (root / "d.txt").write_text("ten\n")
    commit(root, environ, "Files")
    signed = git(root, environ, "cat-file", "commit", "HEAD").replace(
        "\n\n", "\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n AAAA\n -----END PGP SIGNATURE-----\n\n", 1
    )
    (root / "signed").write_text(signed)
    git(root, environ, "reset", "--quiet", git(root, environ, "hash-object", "-t", "commit", "-w", "signed").strip())
    hooks = root / ".git" / "evil-hooks"
    hooks.mkdir()
    for name in ("post-index-change", "post-checkout", "pre-commit", "fsmonitor-watchman"):
        (hooks / name).symlink_to(mark)
    config = (root / ".git" / "config").open("a")
    with config:
        config.write(HOSTILE.replace("MARK", str(mark)).replace("HOOKS", str(hooks)))
    (root / ".git" / "included").write_text(INCLUDED.replace("MARK", str(mark)))
    (root / ".gitattributes").write_text(ATTRIBUTES)
    for name in ("a.txt", "b.txt", "c.txt", "d.txt"):
        (root / name).write_text("XXX\n")
    return root


async def test_a_hostile_configuration_runs_nothing(hostile: Path, mark: Path, ask: Callable[..., Git]):
    status = await ask().status()
    diffs = [await ask().diff(), await ask().diff(staged=True), await ask().diff(revision="HEAD~1")]
    log = await ask().log()
    ran = mark.with_name("ran")
    assert not ran.exists(), ran.read_text()
    assert status == "## main\n M a.txt\n M b.txt\n M c.txt\n M d.txt\n?? .gitattributes\n?? signed\n"
    assert diffs[0].count("+XXX") == 4
    assert log.count("\n") == 2


def test_the_hostile_configuration_would_run_programs(hostile: Path, mark: Path, environ: dict[str, str]):
    subprocess.run(["git", "status"], cwd=hostile, env=environ, check=False, capture_output=True)
    subprocess.run(["git", "diff"], cwd=hostile, env=environ, check=False, capture_output=True)
    subprocess.run(["git", "log"], cwd=hostile, env=environ, check=False, capture_output=True)
    ran = mark.with_name("ran").read_text()
    for program in ("fsmonitor", "clean", "process", "included", "external", "--verify"):
        assert program in ran


async def test_variables_of_the_environment_run_nothing(root: Path, mark: Path, ask: Callable[..., Git]):
    (root / "a.txt").write_text("changed\n")
    names = ("GIT_EXTERNAL_DIFF", "GIT_PAGER", "GIT_EDITOR", "GIT_SSH_COMMAND", "GIT_ASKPASS", "GIT_PROXY_COMMAND")
    variables = dict.fromkeys(names, str(mark)) | {
        "GIT_DIR": "/nowhere",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.fsmonitor",
        "GIT_CONFIG_VALUE_0": str(mark),
    }
    assert await ask(**variables).status() == "## main\n M a.txt\n"
    assert "+changed" in await ask(**variables).diff()
    assert not mark.with_name("ran").exists()


@pytest.mark.parametrize("name", ["a=b", "caf\udce9"], ids=["equals sign", "not UTF-8"])
async def test_a_filter_that_cannot_be_switched_off_stops_git(
    name: str, root: Path, mark: Path, ask: Callable[..., Git]
):
    with (root / ".git" / "config").open("ab") as config:
        config.write(f'[filter "{name}"]\n clean = {mark}\n'.encode("utf-8", "surrogateescape"))
    with pytest.raises(ToolError, match="filters that cannot be switched off"):
        await ask().status()


async def test_a_bare_repository_in_a_subfolder_is_not_used(
    root: Path, mark: Path, environ: dict[str, str], ask: Callable[..., Git]
):
    git(root, environ, "init", "--quiet", "--bare", "bare")
    git(root / "bare", environ, "config", "core.fsmonitor", str(mark))
    git(root / "bare", environ, "config", "core.worktree", str(root))
    git(root / "bare", environ, "config", "core.bare", "false")
    assert await ask("bare").status() == "## main\n?? bare/\n"
    (root / "bare" / ".git").mkdir()
    with pytest.raises(ToolError, match="bare repository"):
        await ask("bare").status()
    assert not mark.with_name("ran").exists()


async def test_a_submodule_and_its_configuration_are_left_alone(
    root: Path, mark: Path, environ: dict[str, str], ask: Callable[..., Git]
):
    inner = root / "inner"
    inner.mkdir()
    git(inner, environ, "init", "--quiet")
    (inner / "x.txt").write_text("x\n")
    commit(inner, environ, "Inner")
    commit(root, environ, "With an inner repository")
    (inner / ".gitattributes").write_text("* filter=evil diff=evil\n")
    (inner / "x.txt").write_text("y\n")
    for key in ("core.fsmonitor", "filter.evil.clean", "diff.evil.textconv", "diff.external"):
        git(inner, environ, "config", key, str(mark))
    assert await ask().status() == "## main\n"
    assert await ask().diff() == ""
    assert not mark.with_name("ran").exists()


async def test_a_missing_object_is_not_fetched_by_a_hostile_transport(
    root: Path, mark: Path, environ: dict[str, str], ask: Callable[..., Git]
):
    blob = git(root, environ, "rev-parse", "HEAD:a.txt").strip()
    (root / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    (root / "a.txt").write_text("changed\n")
    with (root / ".git" / "config").open("a") as config:
        config.write(
            "[core]\n repositoryFormatVersion = 1\n[extensions]\n partialClone = evil\n"
            f'[remote "evil"]\n url = "ext::{mark} transport"\n promisor = true\n'
            '[protocol]\n allow = always\n[protocol "ext"]\n allow = always\n'
        )
    with pytest.raises(ToolError):
        await ask().diff()
    assert not mark.with_name("ran").exists()


async def test_the_files_are_those_around_the_git_folder(root: Path, tmp_path: Path, ask: Callable[..., Git]):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.txt").write_text("a secret\n")
    with (root / ".git" / "config").open("a") as config:
        config.write(f"[core]\n worktree = {outside}\n")
    assert (await ask().status(), await ask().diff()) == ("## main\n", "")


async def test_status_writes_nothing_to_the_repository(root: Path, ask: Callable[..., Git]):
    os.utime(root / "a.txt", (1, 1))
    before = (root / ".git" / "index").stat().st_mtime_ns
    await ask().status()
    assert (root / ".git" / "index").stat().st_mtime_ns == before


async def test_a_diff_names_the_secret_files_that_it_leaves_out_and_shows_their_examples(
    root: Path, environ: dict[str, str], ask: Callable[..., Git]
):
    (root / "sub").mkdir()
    for name in (".env", ".env.example", "sub/.ENV.local"):
        (root / name).write_text("KEY=old\n")
    commit(root, environ, "Settings")
    for name in (".env", ".env.example", "sub/.ENV.local"):
        (root / name).write_text("KEY=new\n")
    diff = await ask().diff()
    assert [line for line in diff.splitlines() if line[0] in "+-["] == [
        "--- a/.env.example",
        "+++ b/.env.example",
        "-KEY=old",
        "+KEY=new",
        "[left out: .env, sub/.ENV.local]",
    ]
    assert await ask().diff(path=".env") == "[left out: .env]\n"


async def test_a_path_that_never_existed_has_no_diff(root: Path, environ: dict[str, str], ask: Callable[..., Git]):
    with pytest.raises(ToolError, match=r"^File not found: 'gone\.txt', neither in the folder nor in the history\.$"):
        await ask().diff(path="gone.txt")
    git(root, environ, "rm", "--quiet", "a.txt")
    assert await ask().diff(path="a.txt") == ""


async def test_names_in_the_history_are_read_as_utf8_whatever_the_configuration_says(
    root: Path, environ: dict[str, str], ask: Callable[..., Git]
):
    git(root, environ, "config", "i18n.logOutputEncoding", "ISO-8859-1")
    (root / "a.txt").write_text("grün\n")
    commit(root, environ, "Grün")
    assert "Grün" in await ask().log(limit=1)


@pytest.mark.parametrize("kind", ["worktree", "link", "commondir"])
async def test_a_history_outside_the_workspace_is_asked_for(
    kind: str, root: Path, tmp_path: Path, environ: dict[str, str]
):
    place = tmp_path / "elsewhere"
    if kind == "worktree":
        git(root, environ, "worktree", "add", "--quiet", str(place))
        outside = {root / ".git", root / ".git/worktrees/elsewhere"}
    else:
        place.mkdir()
        outside = {root / ".git"}
        if kind == "link":
            (place / ".git").symlink_to(root / ".git")
        else:
            git(place, environ, "init", "--quiet", "--initial-branch=main")
            (place / ".git/commondir").write_text(f"{root}/.git\n")
    permitted: set[str] = set()
    for _ in outside:
        with pytest.raises(PermissionNeeded) as caught:
            await Git(Processes(), place, ".", environ, permitted.__contains__).log()
        assert caught.value.kind == "outside_path"
        permitted.add(caught.value.path)
    assert permitted == set(map(str, outside))
    assert "First" in await Git(Processes(), place, ".", environ, permitted.__contains__).log()
