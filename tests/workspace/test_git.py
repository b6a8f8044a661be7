"""git's answers, and that a hostile repository runs nothing while they are found."""

import os
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from marvin_server.errors import PermissionNeeded, ToolError
from marvin_server.workspace import git as questions
from marvin_server.workspace.git_repository import Repository, opened
from marvin_server.workspace.process import Processes

Ask = Callable[..., Awaitable[Repository]]
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
def ask(root: Path, environ: dict[str, str]) -> Ask:
    def ask(directory: str = ".", **more: str) -> Awaitable[Repository]:
        return opened(Processes(), root, directory, {**environ, **more}, lambda path: False)

    return ask


async def test_status_names_the_branch_and_every_change(root: Path, ask: Ask):
    (root / "a.txt").write_text("ONE\n")
    (root / "b.txt").unlink()
    (root / "naïve name.txt").write_text("new\n")
    assert await questions.status(await ask()) == '## main\n M a.txt\n D b.txt\n?? "naïve name.txt"\n'


async def test_diff_shows_the_working_tree_the_index_or_a_revision(root: Path, environ: dict[str, str], ask: Ask):
    (root / "a.txt").write_text("staged\n")
    git(root, environ, "add", "a.txt")
    (root / "b.txt").write_text("changed\n")
    unstaged, staged, both = (
        await questions.diff(await ask()),
        await questions.diff(await ask(), staged=True),
        await questions.diff(await ask(), revision="HEAD"),
    )
    assert [line for line in unstaged.splitlines() if line[0] in "+-"] == [
        "--- a/b.txt",
        "+++ b/b.txt",
        "-two",
        "+changed",
    ]
    assert "+staged" in staged
    assert "b.txt" not in staged
    assert both == staged + unstaged
    assert await questions.diff(await ask(), revision="HEAD", path="b.txt") == unstaged


async def test_log_has_one_line_for_each_commit_newest_first(root: Path, environ: dict[str, str], ask: Ask):
    (root / "c.txt").write_text("three\n")
    commit(root, environ, "Second")
    newest, oldest = git(root, environ, "log", "--format=%h").split()
    assert await questions.log(await ask()) == (
        f"{newest} 2024-05-06 Ann: (HEAD -> main) Second\n{oldest} 2024-05-06 Ann: First\n"
    )
    assert await questions.log(await ask(), limit=1, path="a.txt") == f"{oldest} 2024-05-06 Ann: First\n"


async def test_a_folder_within_the_repository_will_do(root: Path, ask: Ask):
    (root / "sub").mkdir()
    (root / "sub" / "new").write_text("")
    assert await questions.status(await ask("sub")) == "## main\n?? sub/\n"


async def test_a_path_is_taken_literally(root: Path, environ: dict[str, str], ask: Ask):
    for name in ("*.txt", "-n", ":(top)x"):
        (root / name).write_text("old\n")
    commit(root, environ, "Odd names")
    for name in ("*.txt", "-n", ":(top)x", "a.txt"):
        (root / name).write_text("new\n")
        assert (await questions.diff(await ask(), path=name)).startswith(f"diff --git a/{name} b/{name}\n")


@pytest.mark.parametrize(
    "revision", ["--output=stolen", "-p", "", "no-such-branch", "HEAD:.env", "/etc/passwd", "a\0b"]
)
async def test_a_revision_can_be_no_option_and_no_file(revision: str, root: Path, ask: Ask):
    (root / "--").write_text("a trap for git diff's implicit --no-index\n")
    with pytest.raises(ToolError):
        await questions.diff(await ask(), revision=revision)
    assert not (root / "stolen").exists()


async def test_a_path_outside_the_repository_is_refused(root: Path, environ: dict[str, str]):
    question = questions.diff(await opened(Processes(), root.parent, "work", environ, lambda _: False), path="home/x")
    with pytest.raises(ToolError, match=r"'home/x' is not in the git repository at 'work'"):
        await question


async def test_no_repository_is_said_so_and_none_above_the_root_is_used(root: Path, environ: dict[str, str]):
    inner = root / "inner"
    inner.mkdir()
    with pytest.raises(ToolError, match=r"^Not a git repository: '\.', nor any folder above it in the workspace"):
        await questions.status(await opened(Processes(), inner, ".", environ, lambda _: False))


async def test_a_repository_without_commits_gives_gits_own_reason(tmp_path: Path, environ: dict[str, str]):
    git(tmp_path, environ, "init", "--quiet", "--initial-branch=main")
    with pytest.raises(ToolError, match=r"^git refused: your current branch 'main' does not have any commits yet$"):
        await questions.log(await opened(Processes(), tmp_path, ".", environ, lambda _: False))


async def test_git_that_is_not_installed_is_a_tool_error(ask: Ask):
    with pytest.raises(ToolError, match=r"cannot be started: git: No such file"):
        await questions.status(await ask(PATH="/nowhere"))


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    """A program that leaves the file ``ran`` beside itself, whatever it is called with."""
    program = tmp_path / "mark"
    program.write_text(f'#!/bin/sh\necho "$0 $*" >> {tmp_path}/ran\ncat\n')
    program.chmod(0o755)
    return program


async def test_variables_of_the_environment_run_nothing(root: Path, mark: Path, ask: Ask):
    (root / "a.txt").write_text("changed\n")
    names = ("GIT_EXTERNAL_DIFF", "GIT_PAGER", "GIT_EDITOR", "GIT_SSH_COMMAND", "GIT_ASKPASS", "GIT_PROXY_COMMAND")
    variables = dict.fromkeys(names, str(mark)) | {
        "GIT_DIR": "/nowhere",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.fsmonitor",
        "GIT_CONFIG_VALUE_0": str(mark),
    }
    assert await questions.status(await ask(**variables)) == "## main\n M a.txt\n"
    assert "+changed" in await questions.diff(await ask(**variables))
    assert not mark.with_name("ran").exists()


async def test_a_filter_that_cannot_be_switched_off_stops_git(root: Path, mark: Path, ask: Ask):
    with (root / ".git" / "config").open("a") as config:
        config.write(f'[filter "a=b"]\n clean = {mark}\n')
    with pytest.raises(ToolError, match="that cannot be switched off; git is not run"):
        await questions.status(await ask())


async def test_a_filter_whose_name_is_not_utf8_is_switched_off(
    root: Path, mark: Path, environ: dict[str, str], ask: Ask
):
    with (root / ".git" / "config").open("ab") as config:
        config.write(b'[filter "caf\xe9"]\n clean = %s\n' % os.fsencode(mark))
    (root / ".gitattributes").write_bytes(b"* filter=caf\xe9\n")
    (root / "a.txt").write_text("changed\n")
    assert "+changed" in await questions.diff(await ask())
    assert not mark.with_name("ran").exists()
    git(root, environ, "diff")
    assert mark.with_name("ran").exists()


async def test_a_bare_repository_in_a_subfolder_is_not_used(root: Path, mark: Path, environ: dict[str, str], ask: Ask):
    git(root, environ, "init", "--quiet", "--bare", "bare")
    git(root / "bare", environ, "config", "core.fsmonitor", str(mark))
    git(root / "bare", environ, "config", "core.worktree", str(root))
    git(root / "bare", environ, "config", "core.bare", "false")
    assert await questions.status(await ask("bare")) == "## main\n?? bare/\n"
    (root / "bare" / ".git").mkdir()
    with pytest.raises(ToolError, match="bare repository"):
        await questions.status(await ask("bare"))
    assert not mark.with_name("ran").exists()


async def test_a_submodule_and_its_configuration_are_left_alone(
    root: Path, mark: Path, environ: dict[str, str], ask: Ask
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
    assert await questions.status(await ask()) == "## main\n"
    assert await questions.diff(await ask()) == ""
    assert not mark.with_name("ran").exists()


async def test_a_missing_object_is_not_fetched_by_a_hostile_transport(
    root: Path, mark: Path, environ: dict[str, str], ask: Ask
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
        await questions.diff(await ask())
    assert not mark.with_name("ran").exists()


async def test_the_files_are_those_around_the_git_folder(root: Path, tmp_path: Path, ask: Ask):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.txt").write_text("a secret\n")
    with (root / ".git" / "config").open("a") as config:
        config.write(f"[core]\n worktree = {outside}\n")
    assert (await questions.status(await ask()), await questions.diff(await ask())) == ("## main\n", "")


async def test_status_writes_nothing_to_the_repository(root: Path, ask: Ask):
    os.utime(root / "a.txt", (1, 1))
    before = (root / ".git" / "index").stat().st_mtime_ns
    await questions.status(await ask())
    assert (root / ".git" / "index").stat().st_mtime_ns == before


async def test_a_diff_names_the_secret_files_that_it_leaves_out_and_shows_their_examples(
    root: Path, environ: dict[str, str], ask: Ask
):
    (root / "sub").mkdir()
    for name in (".env", ".env.example", "sub/.ENV.local"):
        (root / name).write_text("KEY=old\n")
    commit(root, environ, "Settings")
    for name in (".env", ".env.example", "sub/.ENV.local"):
        (root / name).write_text("KEY=new\n")
    diff = await questions.diff(await ask())
    assert [line for line in diff.splitlines() if line[0] in "+-["] == [
        "--- a/.env.example",
        "+++ b/.env.example",
        "-KEY=old",
        "+KEY=new",
        "[left out: .env, sub/.ENV.local]",
    ]
    assert await questions.diff(await ask(), path=".env") == "[left out: .env]\n"


async def test_a_path_that_never_existed_has_no_diff(root: Path, environ: dict[str, str], ask: Ask):
    with pytest.raises(ToolError, match=r"^File not found: 'gone\.txt', neither in the folder nor in the history\.$"):
        await questions.diff(await ask(), path="gone.txt")
    git(root, environ, "rm", "--quiet", "a.txt")
    assert await questions.diff(await ask(), path="a.txt") == ""


async def test_names_in_the_history_are_read_as_utf8_whatever_the_configuration_says(
    root: Path, environ: dict[str, str], ask: Ask
):
    git(root, environ, "config", "i18n.logOutputEncoding", "ISO-8859-1")
    (root / "a.txt").write_text("grün\n")
    commit(root, environ, "Grün")
    assert "Grün" in await questions.log(await ask(), limit=1)


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
            await questions.log(await opened(Processes(), place, ".", environ, permitted.__contains__))
        assert caught.value.kind == "outside_path"
        permitted.add(caught.value.path)
    assert permitted == set(map(str, outside))
    assert "First" in await questions.log(await opened(Processes(), place, ".", environ, permitted.__contains__))


async def test_a_commit_is_shown_with_its_message_and_its_changes(root: Path, environ: dict[str, str], ask: Ask):
    (root / "a.txt").write_text("ONE\n")
    (root / ".env").write_text("KEY=secret\n")
    commit(root, environ, "Second")
    second, first = git(root, environ, "log", "--format=%H").split()
    head = f"commit {second}\nparents {first[:7]}\nauthor Ann <ann@example.org>\ndate 2024-05-06\n\nSecond\n\n"
    blobs = [git(root, environ, "rev-parse", "--short", f"{commit}:a.txt").strip() for commit in (first, second)]
    patch = f"index {blobs[0]}..{blobs[1]} 100644\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+ONE\n"
    shown = await questions.show(await ask(), "HEAD")
    assert shown == f"{head}diff --git a/a.txt b/a.txt\n{patch}[left out: .env]\n"
    summary = " a.txt | 2 +-\n 1 file changed, 1 insertion(+), 1 deletion(-)\n"
    assert await questions.show(await ask(), "HEAD", summary=True, path="a.txt") == head + summary
    assert "+one" in await questions.show(await ask(), "HEAD~1")


@pytest.mark.parametrize("revision", ["HEAD:.env", "HEAD^{tree}", "-p", "HEAD~1..HEAD", ""])
async def test_only_a_commit_is_shown(revision: str, root: Path, environ: dict[str, str], ask: Ask):
    (root / ".env").write_text("KEY=secret\n")
    commit(root, environ, "Secret")
    with pytest.raises(ToolError, match="is no commit here"):
        await questions.show(await ask(), revision)


async def test_a_log_goes_from_a_branch_or_over_a_range(root: Path, environ: dict[str, str], ask: Ask):
    git(root, environ, "switch", "--quiet", "--create", "side")
    (root / "c.txt").write_text("three\n")
    commit(root, environ, "Aside")
    git(root, environ, "switch", "--quiet", "main")
    aside = git(root, environ, "rev-parse", "--short", "side").strip()
    line = f"{aside} 2024-05-06 Ann: (side) Aside\n"
    assert await questions.log(await ask(), revision="main..side") == line
    assert await questions.log(await ask(), revision="side", limit=1) == line


async def test_a_diff_is_summed_up(root: Path, ask: Ask):
    (root / "a.txt").write_text("one\nmore\n")
    summary = " a.txt | 1 +\n 1 file changed, 1 insertion(+)\n"
    assert await questions.diff(await ask(), summary=True) == summary


async def test_the_status_names_an_operation_that_was_begun(root: Path, environ: dict[str, str], ask: Ask):
    git(root, environ, "switch", "--quiet", "--create", "side")
    (root / "a.txt").write_text("side\n")
    commit(root, environ, "Aside")
    git(root, environ, "switch", "--quiet", "main")
    (root / "a.txt").write_text("main\n")
    commit(root, environ, "Main")
    with pytest.raises(subprocess.CalledProcessError):
        git(root, environ, "merge", "side")
    assert await questions.status(await ask()) == "## main\nUU a.txt\n[a merge is in progress]\n"


async def test_control_characters_of_the_history_are_made_visible(root: Path, environ: dict[str, str], ask: Ask):
    (root / "a.txt").write_text("x\n")
    commit(root, environ, "Red \x1b[31m\u202eword")
    assert "\x1b" not in await questions.log(await ask(), limit=1)
    about = (await questions.show(await ask(), "HEAD")).partition("diff --git")[0]
    assert ("Red" in about, "\x1b" in about, "\u202e" in about) == (True, False, False)


async def test_files_that_a_rule_guards_are_left_out_of_a_diff(root: Path, environ: dict[str, str]):
    for name in ("a.txt", "b.txt"):
        (root / name).write_text("changed\n")
    guarded = await opened(
        Processes(), root, ".", environ, lambda _: False, guard=lambda path, _: "a rule" if path == "a.txt" else None
    )
    diff = await questions.diff(guarded)
    assert [line for line in diff.splitlines() if line[0] in "+-["] == [
        *("--- a/b.txt", "+++ b/b.txt", "-two", "+changed", "[left out: a.txt]")
    ]
