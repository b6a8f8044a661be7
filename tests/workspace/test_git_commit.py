"""What a commit holds, what it leaves out, and when there is none."""

import asyncio
import os
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from marvin_server.errors import PermissionNeeded, ToolError
from marvin_server.workspace.git_commit import commit
from tests.patience import SECONDS
from tests.workspace.git_folder import GitFolder

Commit = Callable[..., Awaitable[str]]


@pytest.fixture
def folder(tmp_path: Path) -> GitFolder:
    return GitFolder(tmp_path)


@pytest.fixture
def committed(folder: GitFolder) -> Commit:
    async def committed(message: str = "Words", *paths: str, everything: bool = False) -> str:
        return await commit(await folder.opened(), message, paths=paths, everything=everything)

    return committed


async def refused(commit: Awaitable[str], folder: GitFolder) -> str:
    """Why a commit was refused; nothing was changed by it."""
    before = folder.head(), folder.status()
    with pytest.raises(ToolError) as caught:
        await commit
    assert (folder.head(), folder.status()) == before
    return str(caught.value)


async def test_what_is_staged_is_committed(folder: GitFolder, committed: Commit):
    folder.write({"a.txt": "staged\n", "b.txt": "not staged\n"})
    folder.git("add", "a.txt")
    text = await committed("Say it\n\n# with a body\n")
    assert text == f"Committed on main: {folder.head()}\nM\ta.txt\n"
    assert folder.git("log", "-1", "--format=%an <%ae>%n%B") == "Ann <ann@example.org>\nSay it\n\n# with a body\n\n"
    assert folder.status() == " M b.txt\n"


async def test_named_paths_are_committed_with_new_and_deleted_files_and_the_rest_stays_staged(
    folder: GitFolder, committed: Commit
):
    folder.write({"a.txt": "staged\n", "sub/new.txt": "new\n", "other.txt": "other\n"})
    folder.git("add", "a.txt")
    (folder.root / "sub" / "c.txt").unlink()
    text = await committed("Some", "sub")
    assert text == f"Committed on main: {folder.head()}\nD\tsub/c.txt\nA\tsub/new.txt\n"
    assert folder.status() == "M  a.txt\n?? other.txt\n"


async def test_everything_means_all_changes_of_tracked_files(folder: GitFolder, committed: Commit):
    folder.write({"a.txt": "1\n", "new.txt": "new\n"})
    (folder.root / "b.txt").unlink()
    assert await committed("All", everything=True) == f"Committed on main: {folder.head()}\nM\ta.txt\nD\tb.txt\n"
    assert folder.status() == "?? new.txt\n"


async def test_secret_files_in_a_folder_are_left_out_and_named(folder: GitFolder, committed: Commit):
    folder.write({"sub/.env": "KEY=1\n", "sub/.env.example": "KEY=\n", "sub/c.txt": "3\n"})
    text = await committed("Folder", "sub")
    assert text == f"Committed on main: {folder.head()}\nA\tsub/.env.example\nM\tsub/c.txt\n[left out: sub/.env]\n"
    assert folder.status() == "?? sub/.env\n"
    folder.commit("With a secret", {})
    folder.write({"sub/.env": "KEY=2\n", "a.txt": "1\n"})
    text = await committed("All", everything=True)
    assert text == f"Committed on main: {folder.head()}\nM\ta.txt\n[left out: sub/.env]\n"
    assert folder.status() == " M sub/.env\n"
    assert "nothing" in (await refused(committed("All", everything=True), folder)).lower()


async def test_a_secret_file_that_is_named_is_asked_for(folder: GitFolder, committed: Commit):
    folder.write({"sub/.env": "KEY=1\n"})
    with pytest.raises(PermissionNeeded) as caught:
        await committed("Secret", "sub/.env")
    assert (caught.value.kind, caught.value.path) == ("protected_path", "sub/.env")
    folder.permitted.add("sub/.env")
    assert await committed("Secret", "sub/.env") == f"Committed on main: {folder.head()}\nA\tsub/.env\n"


@pytest.mark.parametrize("message", ["", " \n\t", "a\0b", "x" * 50_001])
async def test_a_message_that_says_nothing_or_too_much_is_refused(message: str, folder: GitFolder, committed: Commit):
    assert "message" in await refused(committed(message), folder)


async def test_nothing_to_commit_is_said_so(folder: GitFolder, committed: Commit):
    folder.write({"a.txt": "1\n"})
    assert await refused(committed(), folder) == "Nothing to commit: nothing is staged. Name paths, or all."
    assert await refused(committed("x", "b.txt"), folder) == "Nothing to commit: no change there."


async def test_a_path_that_is_missing_or_ignored_is_named_and_new_files_beside_it_are_not_added(
    folder: GitFolder, committed: Commit
):
    folder.commit("Ignore", {".gitignore": "*.log\n"})
    folder.write({"x.log": "log\n", "new.txt": "new\n"})
    why = "is no file that git knows or may add: missing, or ignored."
    assert await refused(committed("x", "x.log", "new.txt"), folder) == f"'x.log' {why}"
    assert await refused(committed("x", "gone", "new.txt"), folder) == f"'gone' {why}"


@pytest.mark.parametrize(("then", "status"), [("exit 1", "?? new.txt\n"), ('exec "$GIT" "$@"', "")])
async def test_a_commit_that_is_cancelled_is_made_or_leaves_the_index_as_it_was(
    then: str, status: str, folder: GitFolder, committed: Commit, tmp_path: Path
):
    started, go = tmp_path / "started", tmp_path / "go"
    os.mkfifo(started)
    os.mkfifo(go)
    program = tmp_path / "bin" / "git"
    program.parent.mkdir()
    program.write_text(
        f"""#!/bin/sh
        GIT={shutil.which("git")}
        case " $* " in *" commit "*) echo > {started}; read -r _ < {go}; {then};; esac
        exec "$GIT" "$@"
        """
    )
    program.chmod(0o755)
    folder.environ["PATH"] = f"{program.parent}:{folder.environ['PATH']}"
    folder.write({"new.txt": "new\n"})
    with go.open("r+b", buffering=0) as gate:
        running = asyncio.ensure_future(committed("x", "new.txt"))
        async with asyncio.timeout(SECONDS):
            await asyncio.to_thread(started.read_bytes)
        running.cancel()
        gate.write(b"\n")
        with pytest.raises(asyncio.CancelledError):
            await running
    assert folder.status() == status


async def test_who_commits_must_be_known(folder: GitFolder, committed: Commit):
    folder.git("config", "--unset", "user.name")
    folder.git("config", "--unset", "user.email")
    folder.write({"new.txt": "new\n"})
    assert (await refused(committed("x", "new.txt"), folder)).startswith("git does not know who makes this commit.")


@pytest.mark.parametrize("value", ["true", "Yes", "on", "1"])
async def test_a_commit_that_should_be_signed_is_not_made_unsigned(value: str, folder: GitFolder, committed: Commit):
    folder.git("config", "commit.gpgSign", value)
    folder.write({"a.txt": "1\n"})
    assert "commit.gpgSign" in await refused(committed(everything=True), folder)


@pytest.mark.parametrize("value", ["false", "no", "off", "0"])
async def test_no_signature_is_asked_for_when_signing_is_off(value: str, folder: GitFolder, committed: Commit):
    folder.git("config", "commit.gpgSign", value)
    folder.write({"a.txt": "1\n"})
    assert await committed(everything=True)


async def test_hooks_that_did_not_run_are_named(folder: GitFolder, committed: Commit):
    hooks = folder.root / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("pre-commit", "commit-msg", "pre-push"):
        (hooks / name).write_text("#!/bin/sh\nexit 1\n")
        (hooks / name).chmod(0o755)
    folder.write({"a.txt": "1\n"})
    text = await committed("All", everything=True)
    note = f"[not run: the hooks pre-commit, commit-msg ({hooks}). If they matter, run them with run_command.]\n"
    assert text == f"Committed on main: {folder.head()}\nM\ta.txt\n{note}"


async def test_a_file_with_a_content_filter_is_refused_and_others_are_not(folder: GitFolder, committed: Commit):
    folder.commit("Attributes", {".gitattributes": "*.bin filter=lfs diff=lfs -text\n"})
    folder.write({"big.bin": "big\n", "a.txt": "1\n"})
    assert "big.bin (lfs)" in await refused(committed("x", "big.bin"), folder)
    assert "big.bin (lfs)" in await refused(committed("x", "."), folder)
    assert await committed("x", everything=True) == f"Committed on main: {folder.head()}\nM\ta.txt\n"


async def test_line_endings_and_encodings_are_stored_as_the_settings_say(folder: GitFolder, committed: Commit):
    attributes = "wide.txt text working-tree-encoding=UTF-16LE eol=crlf\n"
    folder.commit("Attributes", {".gitattributes": attributes})
    folder.git("config", "core.autocrlf", "true")
    (folder.root / "dos.txt").write_bytes(b"one\r\ntwo\r\n")
    (folder.root / "wide.txt").write_bytes("grün\r\n".encode("utf-16-le"))
    await committed("Texts", "dos.txt", "wide.txt")
    assert [folder.git("show", f"HEAD:{name}") for name in ("dos.txt", "wide.txt")] == ["one\ntwo\n", "grün\n"]
    assert folder.status() == ""


async def test_a_setting_that_forbids_mixed_line_endings_is_obeyed(folder: GitFolder, committed: Commit):
    folder.git("config", "core.autocrlf", "input")
    folder.git("config", "core.safecrlf", "true")
    (folder.root / "dos.txt").write_bytes(b"one\r\n")
    assert "CRLF would be replaced by LF in dos.txt" in await refused(committed("x", "dos.txt"), folder)


async def test_a_conflict_is_refused_and_a_resolved_merge_is_committed_as_a_whole(folder: GitFolder, committed: Commit):
    folder.commit("Third", {"a.txt": "eins\n"})
    folder.git("merge", "feature", check=False)
    assert (await refused(committed(everything=True), folder)).startswith("These files are in conflict: a.txt. Resolve")
    folder.write({"a.txt": "ONE eins\n"})
    folder.git("add", "a.txt")
    assert "A merge is in progress" in await refused(committed("x", "a.txt"), folder)
    assert await committed("Merged") == f"Committed on main: {folder.head()}\nM\ta.txt\nA\tnew.txt\n"
    assert len(folder.git("log", "-1", "--format=%p").split()) == 2


async def test_a_rebase_in_progress_makes_its_own_commits(folder: GitFolder, committed: Commit):
    folder.commit("Third", {"a.txt": "eins\n"})
    folder.git("rebase", "feature", check=False)
    assert (await refused(committed(everything=True), folder)).startswith("A rebase is in progress")


async def test_a_locked_index_is_said_so(folder: GitFolder, committed: Commit):
    folder.write({"new.txt": "new\n"})
    lock = folder.root / ".git" / "index.lock"
    lock.write_text("")
    text = await refused(committed("x", "new.txt"), folder)
    assert text.startswith(f"'{lock}' has been there for ")
    assert lock.exists()


async def test_the_first_commit_and_one_on_no_branch_are_made(tmp_path: Path, folder: GitFolder, committed: Commit):
    folder.git("checkout", "--quiet", "--detach")
    folder.write({"a.txt": "1\n"})
    where = "on no branch (HEAD is detached; git_branch can make one)"
    assert await committed(everything=True) == f"Committed {where}: {folder.head()}\nM\ta.txt\n"
    folder.git("checkout", "--quiet", "--orphan", "fresh")
    folder.git("rm", "--quiet", "-r", "--cached", ".")
    assert await committed("Begin", "a.txt") == f"Committed on fresh: {folder.head()}\nA\ta.txt\n"


async def test_a_repository_within_a_folder_is_left_out(folder: GitFolder, committed: Commit):
    folder.git("init", "--quiet", "sub/inner")
    folder.write({"sub/inner/x.txt": "x\n", "sub/c.txt": "3\n"})
    folder.git("-C", "sub/inner", "add", "x.txt")
    folder.git("-C", "sub/inner", "-c", "user.name=A", "-c", "user.email=a@b", "commit", "--quiet", "-m", "x")
    text = await committed("Folder", "sub")
    assert text == f"Committed on main: {folder.head()}\nM\tsub/c.txt\n[left out: sub/inner/]\n"
