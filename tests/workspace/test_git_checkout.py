"""Switching branches and restoring files: what changes, what is never lost, what is refused."""

from pathlib import Path

import pytest

from marvin_server.errors import PermissionNeeded, ToolError
from marvin_server.workspace import git_checkout
from marvin_server.workspace.git_checkout import Checkout
from tests.workspace.git_folder import GitFolder


@pytest.fixture
def folder(tmp_path: Path) -> GitFolder:
    return GitFolder(tmp_path)


async def switch(folder: GitFolder, branch: str) -> Checkout:
    return await git_checkout.switch(await folder.opened(), branch)


async def restore(folder: GitFolder, *paths: str, revision: str | None = None) -> Checkout:
    return await git_checkout.restore(await folder.opened(), paths, revision)


def branch(folder: GitFolder) -> str:
    return folder.git("branch", "--show-current").strip()


async def test_a_switch_names_the_files_that_changed_and_keeps_other_changes(folder: GitFolder):
    folder.write({"sub/c.txt": "mine\n", "untracked.txt": "mine\n"})
    folder.git("add", "sub/c.txt")
    done = await switch(folder, "feature")
    assert done == Checkout("Switched to branch feature. 3 files changed.\n", ("a.txt", "b.txt", "new.txt"))
    assert folder.read("a.txt", "b.txt", "new.txt") == ["ONE\n", "two\n", "new\n"]
    assert (branch(folder), folder.status()) == ("feature", "M  sub/c.txt\n?? untracked.txt\n")


@pytest.mark.parametrize(("name", "kind"), [("a.txt", "Local changes"), ("new.txt", "Untracked files")])
async def test_a_switch_overwrites_nothing(name: str, kind: str, folder: GitFolder):
    folder.write({name: "mine\n"})
    with pytest.raises(ToolError, match=rf"^{kind} would be overwritten by [0-9a-f]+: {name}\. Nothing was changed\. "):
        await switch(folder, "feature")
    assert (branch(folder), folder.read(name, "b.txt")) == ("main", ["mine\n", "2\n"])


@pytest.mark.parametrize(
    ("ignored", "tracked"),
    [("local.cfg", "local.cfg"), ("local.cfg/mine", "local.cfg"), ("local.cfg", "local.cfg/theirs")],
)
@pytest.mark.parametrize("how", ["switch", "create", "detach"])
async def test_a_file_that_git_ignores_is_not_overwritten_either(
    how: str, ignored: str, tracked: str, folder: GitFolder
):
    folder.git("switch", "--quiet", "feature")
    folder.commit("Theirs", {tracked: "theirs\n"})
    folder.git("switch", "--quiet", "main")
    folder.commit("Ignore", {".gitignore": "local.cfg\n"})
    folder.write({ignored: "mine\n"})
    repository = await folder.opened()
    calls = {
        "switch": lambda: git_checkout.switch(repository, "feature"),
        "create": lambda: git_checkout.create(repository, "topic", "feature"),
        "detach": lambda: git_checkout.detach(repository, "feature"),
    }
    with pytest.raises(ToolError, match=r"^Untracked files would be overwritten by [0-9a-f]+: local\.cfg"):
        await calls[how]()
    assert (branch(folder), folder.read(ignored)) == ("main", ["mine\n"])


async def test_a_branch_that_only_one_remote_has_is_made(folder: GitFolder):
    folder.git("update-ref", "refs/remotes/origin/far", "feature")
    folder.git("config", "remote.origin.url", "/nowhere")
    folder.git("config", "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*")
    done = await switch(folder, "far")
    assert done.text.startswith("Switched to a new branch far that follows refs/remotes/origin/far. 3 files")
    assert folder.git("rev-parse", "--abbrev-ref", "far@{upstream}") == "origin/far\n"
    folder.git("update-ref", "refs/remotes/other/both", "feature")
    folder.git("update-ref", "refs/remotes/origin/both", "feature")
    with pytest.raises(
        ToolError, match="Several remotes have 'both': refs/remotes/origin/both, refs/remotes/other/both"
    ):
        await switch(folder, "both")
    with pytest.raises(ToolError, match="There is no branch 'none'"):
        await switch(folder, "none")


async def test_a_branch_is_made_at_head_or_at_a_commit(folder: GitFolder):
    folder.write({"a.txt": "mine\n"})
    repository = await folder.opened()
    assert await git_checkout.create(repository, "topic") == Checkout("Switched to a new branch topic.\n")
    done = await git_checkout.create(repository, "old/one", "HEAD~1")
    assert done == Checkout("Switched to a new branch old/one. 1 file changed.\n", ("b.txt",))
    assert (branch(folder), folder.read("a.txt", "b.txt")) == ("old/one", ["mine\n", "two\n"])
    with pytest.raises(ToolError, match="a branch named 'topic' already exists"):
        await git_checkout.create(repository, "topic")


async def test_head_is_detached_at_a_commit(folder: GitFolder):
    first = folder.git("rev-parse", "HEAD~1")[:12]
    done = await git_checkout.detach(await folder.opened(), "HEAD~1")
    text = f"HEAD is detached at {first}: commits made here belong to no branch. 1 file changed.\n"
    assert (done, branch(folder)) == (Checkout(text, ("b.txt",)), "")


async def test_a_branch_is_left_before_its_first_commit(folder: GitFolder):
    folder.git("switch", "--quiet", "--orphan", "fresh")
    done = await switch(folder, "main")
    assert done == Checkout("Switched to branch main. 3 files changed.\n", ("a.txt", "b.txt", "sub/c.txt"))


async def test_a_merge_in_progress_is_not_left(folder: GitFolder):
    folder.commit("Third", {"a.txt": "eins\n"})
    folder.git("merge", "feature", check=False)
    with pytest.raises(ToolError, match=r"git refused: "):
        await switch(folder, "feature")
    assert branch(folder) == "main"


async def test_a_switch_that_writes_protected_files_is_asked_for_once_for_each_folder(folder: GitFolder):
    folder.git("switch", "--quiet", "feature")
    folder.commit("Agents", {".claude/a.json": "{}\n", ".claude/b.json": "{}\n", "sub/.env": "K=1\n"})
    folder.git("switch", "--quiet", "main")
    asked: list[str] = []
    for _ in range(2):
        with pytest.raises(PermissionNeeded) as caught:
            await switch(folder, "feature")
        asked.append(caught.value.path)
        folder.permitted.add(caught.value.path)
    assert asked == [".claude", "sub/.env"]
    assert branch(folder) == "main"
    assert len((await switch(folder, "feature")).paths) == 6


async def test_files_are_restored_from_the_index(folder: GitFolder):
    folder.write({"a.txt": "staged\n"})
    folder.git("add", "a.txt")
    folder.write({"a.txt": "later\n", "b.txt": "mine\n", "sub/c.txt": "mine\n"})
    (folder.root / "b.txt").unlink()
    done = await restore(folder, "a.txt", "b.txt")
    assert done == Checkout("Restored from the index: a.txt, b.txt.\n", ("a.txt", "b.txt"))
    assert folder.read("a.txt", "b.txt", "sub/c.txt") == ["staged\n", "2\n", "mine\n"]
    assert await restore(folder, "a.txt") == Checkout("Nothing differs from the index.\n")


async def test_files_are_restored_from_a_commit_and_the_index_stays(folder: GitFolder):
    folder.write({"b.txt": "staged\n", "fresh.txt": "fresh\n"})
    folder.git("add", "b.txt", "fresh.txt")
    first = folder.git("rev-parse", "HEAD~1")[:12]
    done = await restore(folder, ".", revision="HEAD~1")
    assert done == Checkout(f"Restored from {first}: b.txt.\n", ("b.txt",))
    assert folder.read("b.txt", "fresh.txt") == ["two\n", "fresh\n"]
    assert folder.git("show", ":b.txt") == "staged\n"


async def test_protected_files_are_left_out_of_a_folder_and_asked_for_by_name(folder: GitFolder):
    folder.commit("Secret", {"sub/.env": "K=1\n"})
    folder.write({"sub/.env": "K=2\n", "sub/c.txt": "mine\n"})
    done = await restore(folder, "sub")
    assert done == Checkout("Restored from the index: sub/c.txt.\n[left out, as protected: sub/.env]\n", ("sub/c.txt",))
    with pytest.raises(PermissionNeeded):
        await restore(folder, "sub/.env")
    assert folder.read("sub/.env") == ["K=2\n"]
    folder.permitted.add("sub/.env")
    assert (await restore(folder, "sub/.env")).paths == ("sub/.env",)


async def test_a_path_that_the_source_does_not_have_is_refused(folder: GitFolder):
    folder.write({"a.txt": "mine\n", "untracked.txt": "mine\n"})
    for name in ("gone.txt", "untracked.txt"):
        with pytest.raises(ToolError, match=f"'{name}' is no file that git knows"):
            await restore(folder, "a.txt", name)
    assert folder.read("a.txt", "untracked.txt") == ["mine\n", "mine\n"]


async def test_files_with_a_content_filter_are_not_written_whichever_side_has_the_attribute(folder: GitFolder):
    folder.git("switch", "--quiet", "feature")
    folder.commit("Large files", {".gitattributes": "*.bin filter=lfs\n", "big.bin": "pointer\n"})
    folder.git("switch", "--quiet", "main")
    with pytest.raises(ToolError, match=r"big\.bin \(lfs\)"):
        await switch(folder, "feature")
    with pytest.raises(ToolError, match=r"big\.bin \(lfs\)"):
        await restore(folder, ".", revision="feature")
    assert (branch(folder), folder.status()) == ("main", "")
    folder.git("switch", "--quiet", "feature")
    with pytest.raises(ToolError, match=r"big\.bin \(lfs\)"):
        await switch(folder, "main")
    assert (branch(folder), folder.status()) == ("feature", "")


async def test_line_endings_are_written_as_the_settings_say(folder: GitFolder):
    folder.git("config", "core.autocrlf", "true")
    (folder.root / "a.txt").unlink()
    await restore(folder, "a.txt")
    assert (folder.root / "a.txt").read_bytes() == b"one\r\n"


@pytest.mark.parametrize(
    ("gone", "mine"),
    [("a.txt", "a.txt/work"), ("a.txt", "a.txt/deep/.hidden"), ("sub/c.txt", "sub"), ("sub/c.txt", "sub/c.txt/work")],
)
@pytest.mark.parametrize("exclude", ["", "*"], ids=["untracked", "ignored"])
async def test_what_git_does_not_know_is_not_removed_to_make_place(
    gone: str, mine: str, exclude: str, folder: GitFolder
):
    (folder.root / ".git" / "info" / "exclude").write_text(exclude)
    (folder.root / gone).unlink()
    if mine == "sub":
        (folder.root / "sub").rmdir()
    folder.write({mine: "hours\n", "b.txt": "changed\n"})
    with pytest.raises(ToolError) as caught:
        await restore(folder, ".")
    assert str(caught.value) == (
        f"Not in git, and would be lost by restoring from the index: {mine}. Nothing was changed. "
        "Move them away first, or name fewer paths."
    )
    assert folder.read(mine, "b.txt") == ["hours\n", "changed\n"]


@pytest.mark.parametrize("exclude", ["", "*"], ids=["untracked", "ignored"])
async def test_a_file_that_git_does_not_know_is_not_overwritten_from_a_commit(exclude: str, folder: GitFolder):
    folder.git("rm", "--quiet", "b.txt")
    folder.commit("Remove", {})
    (folder.root / ".git" / "info" / "exclude").write_text(exclude)
    folder.write({"b.txt": "mine\n", "a.txt": "changed\n"})
    with pytest.raises(ToolError, match=r"would be lost by restoring from [0-9a-f]{12}: b\.txt\. Nothing was changed"):
        await restore(folder, ".", revision="HEAD~1")
    assert folder.read("b.txt", "a.txt") == ["mine\n", "changed\n"]
    assert (await restore(folder, "a.txt", revision="HEAD~1")).paths == ("a.txt",)


async def test_a_submodule_does_not_make_place_for_a_file(folder: GitFolder):
    folder.git("init", "--quiet", "a.txt.d")
    folder.write({"a.txt.d/x.txt": "x\n"})
    folder.git("-C", "a.txt.d", "add", "x.txt")
    folder.git("-C", "a.txt.d", "-c", "user.name=A", "-c", "user.email=a@b", "commit", "--quiet", "-m", "x")
    folder.git("rm", "--quiet", "a.txt")
    (folder.root / "a.txt.d").rename(folder.root / "a.txt")
    folder.commit("Submodule", {})
    with pytest.raises(ToolError, match=r"would be lost by restoring from [0-9a-f]{12}: a\.txt/"):
        await restore(folder, "a.txt", revision="HEAD~1")
    assert folder.read("a.txt/x.txt") == ["x\n"]


async def test_a_folder_of_files_that_the_index_has_makes_place(folder: GitFolder):
    folder.git("rm", "--quiet", "a.txt")
    folder.commit("Folder", {"a.txt/work": "kept\n"})
    assert (await restore(folder, "a.txt", revision="HEAD~1")).paths == ("a.txt",)
    assert folder.read("a.txt") == ["one\n"]


async def test_a_symbolic_link_in_place_of_a_folder_is_neither_written_through_nor_removed(
    folder: GitFolder, tmp_path: Path
):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "c.txt").write_text("mine\n")
    (folder.root / "sub" / "c.txt").unlink()
    (folder.root / "sub").rmdir()
    (folder.root / "sub").symlink_to(outside)
    with pytest.raises(ToolError, match="would be lost by restoring from the index: sub"):
        await restore(folder, "sub/c.txt")
    assert ((outside / "c.txt").read_text(), (folder.root / "sub").readlink()) == ("mine\n", outside)
