"""Listing, making, renaming and deleting branches."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marvin_server.errors import ToolError
from marvin_server.workspace import git_branches
from marvin_server.workspace.git_branches import checked_name
from tests.workspace.git_folder import GitFolder


@pytest.fixture
def folder(tmp_path: Path) -> GitFolder:
    return GitFolder(tmp_path)


def hashes(folder: GitFolder, *names: str) -> list[str]:
    return [folder.git("rev-parse", "--short", name).strip() for name in names]


async def test_the_list_has_local_branches_then_those_of_remotes(folder: GitFolder):
    folder.git("update-ref", "refs/remotes/origin/main", "main~1")
    folder.git("config", "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*")
    folder.git("config", "remote.origin.url", "/nowhere")
    folder.git("branch", "--quiet", "--set-upstream-to=origin/main", "main")
    main, feature, first = hashes(folder, "main", "feature", "main~1")
    day = folder.git("log", "-1", "--format=%cs").strip()
    assert await git_branches.listing(await folder.opened()) == (
        f"  feature {feature} {day} Feature\n"
        f"* main {main} {day} [origin/main ahead 1] Second\n"
        f"  origin/main {first} {day} First\n"
    )


async def test_the_list_tells_a_detached_head_and_a_branch_without_commits(folder: GitFolder):
    folder.git("checkout", "--quiet", "--detach")
    at = folder.git("rev-parse", "HEAD")[:12]
    assert (await git_branches.listing(await folder.opened())).startswith(f"* (HEAD is detached at {at})\n  feature ")
    folder.git("checkout", "--quiet", "--orphan", "fresh")
    assert (await git_branches.listing(await folder.opened())).endswith("\n[the first commit will make fresh]\n")


async def test_a_branch_is_made_renamed_and_deleted(folder: GitFolder):
    repository = await folder.opened()
    first = folder.git("rev-parse", "HEAD~1")[:12]
    said = [
        await git_branches.create(repository, "topic", "HEAD~1"),
        await git_branches.rename(repository, "topic", "better"),
        await git_branches.delete(repository, "better"),
    ]
    assert said == [
        f"Created branch topic at {first}.\n",
        "Renamed branch topic to better.\n",
        f"Deleted branch better (it was at {first}).\n",
    ]
    assert folder.git("branch", "--format=%(refname:short)") == "feature\nmain\n"


async def test_what_would_lose_something_is_refused(folder: GitFolder):
    repository = await folder.opened()
    at = folder.git("rev-parse", "feature")[:12]
    with pytest.raises(ToolError, match=rf"^Branch 'feature' \(at {at}\) has commits that are merged nowhere else"):
        await git_branches.delete(repository, "feature")
    with pytest.raises(ToolError, match="git refused: Cannot delete branch 'main'"):
        await git_branches.delete(repository, "main")
    with pytest.raises(ToolError, match=r"git refused: .*branch named 'feature' already exists"):
        await git_branches.rename(repository, "main", "feature")
    with pytest.raises(ToolError, match=r"git refused: .*branch named 'feature' already exists"):
        await git_branches.create(repository, "feature")
    with pytest.raises(ToolError, match="There is no branch 'none'"):
        await git_branches.delete(repository, "none")
    assert folder.git("branch", "--format=%(refname:short)") == "feature\nmain\n"


@given(
    st.text(st.sampled_from("ab/.-@{}~^:?*[\\ \x7f\x01éHEAD") | st.characters(exclude_categories=["Cs"]), max_size=8)
)
def test_a_name_that_is_let_through_is_one_that_git_takes(name: str):
    try:
        checked_name(name)
    except ToolError:
        return
    # git check-ref-format --branch would also expand what stands for another branch; nothing of that is let through.
    done = subprocess.run(["git", "check-ref-format", "--branch", name], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, f"{name}\n")
