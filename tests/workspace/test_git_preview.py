"""What is foreseen of a commit, a checkout and the end of a branch is what then happens."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from marvin_server.errors import PermissionNeeded, ToolError
from marvin_server.workspace.git_commit import commit
from marvin_server.workspace.git_preview import Foreseen, of_commit, of_deletion, of_restore, of_switch
from tests.workspace.git_folder import GitFolder


@pytest.fixture
def folder(tmp_path: Path) -> GitFolder:
    return GitFolder(tmp_path)


async def foreseen(folder: GitFolder, *paths: str, everything: bool = False) -> Foreseen:
    return await of_commit(await folder.opened(), "Words", paths=paths, everything=everything)


def contents(folder: GitFolder) -> Mapping[str, bytes]:
    """All that is in the repository and its folder."""
    files = (path for path in folder.root.rglob("*") if path.is_file())
    return {str(path.relative_to(folder.root)): path.read_bytes() for path in files}


def make_changes(folder: GitFolder) -> None:
    folder.write({".gitignore": "*.log\n", ".gitattributes": "*.crlf text eol=crlf\n"})
    folder.git("add", "--all")
    folder.write({"a.txt": "staged\n", "forced.log": "forced\n", "gone.txt": "gone\n"})
    folder.git("add", "--force", "a.txt", "forced.log", "gone.txt")
    folder.write(
        {"a.txt": "staged, then changed\n", "b.txt": "changed\n", "new/x.crlf": "one\r\n", "new/y.log": "no\n"}
    )
    folder.write({"announced.txt": "announced\n", "new/[a]*.txt": "odd\n"})
    folder.git("add", "--intent-to-add", "announced.txt")
    folder.git("rm", "--quiet", "--cached", "sub/c.txt")
    (folder.root / "gone.txt").unlink()
    (folder.root / "b.txt").chmod(0o755)


@pytest.mark.parametrize(
    ("paths", "everything"),
    [((), False), ((), True), (("new",), False), (("a.txt", "sub", "new"), False), ((".",), False)],
    ids=str,
)
async def test_the_foreseen_tree_is_that_of_the_commit_and_nothing_is_changed_before(
    folder: GitFolder, paths: tuple[str, ...], everything: bool
) -> None:
    make_changes(folder)
    before = contents(folder)
    found = await foreseen(folder, *paths, everything=everything)
    assert contents(folder) == before
    parent = folder.git("rev-parse", "HEAD").strip()
    await commit(await folder.opened(), "Words", paths=paths, everything=everything)
    assert found.state == f"main {parent} {folder.git('rev-parse', 'HEAD^{tree}').strip()}"


async def test_the_first_commit_is_foreseen_too(tmp_path: Path, folder: GitFolder) -> None:
    folder.git("switch", "--quiet", "--orphan", "fresh")
    folder.write({"a.txt": "one\n"})
    found = await foreseen(folder, "a.txt")
    assert found.text == (
        "Commits on fresh, as the first commit:\n a.txt | 1 +\n 1 file changed, 1 insertion(+)\n\n"
        "diff --git a/a.txt b/a.txt\nnew file mode 100644\nindex 0000000..5626abf\n--- /dev/null\n+++ b/a.txt\n"
        "@@ -0,0 +1 @@\n+one\n"
    )
    await commit(await folder.opened(), "Words", paths=["a.txt"])
    assert found.state == f"fresh None {folder.git('rev-parse', 'HEAD^{tree}').strip()}"


async def test_secrets_are_named_and_not_shown(folder: GitFolder) -> None:
    folder.write({".env": "KEY=hidden\n", "a.txt": "two\n"})
    folder.git("add", "--force", "--all")
    found = await foreseen(folder)
    assert "[committed too, but not shown: .env]\n" in found.text
    assert "+two\n" in found.text
    assert "hidden" not in found.text
    folder.git("reset", "--quiet")
    folder.write({"sub/.env": "KEY=hidden\n", "sub/c.txt": "3\n"})
    left_out = await foreseen(folder, "sub")
    assert "[stays out: sub/.env]\n" in left_out.text
    assert "hidden" not in left_out.text


async def test_a_long_diff_says_how_much_is_left_out_and_its_state_is_of_all_of_it(folder: GitFolder) -> None:
    found: list[Foreseen] = []
    for word in ("left", "right"):
        folder.write({"a.txt": "x" * 40_000 + f"\n{word}\n" + "y\n" * 40_000})
        folder.git("add", "a.txt")
        found.append(await foreseen(folder))
    assert all("bytes omitted …]" in one.text and len(one.text) < 60_000 for one in found)
    assert found[0].state != found[1].state


async def test_an_empty_commit_is_not_asked_about(folder: GitFolder) -> None:
    with pytest.raises(ToolError, match="Nothing to commit: nothing is staged"):
        await foreseen(folder)
    with pytest.raises(ToolError, match="Nothing to commit: no change there"):
        await foreseen(folder, "sub")


async def test_a_restore_shows_the_lines_that_are_lost(folder: GitFolder) -> None:
    folder.write({"a.txt": "mine\n", "new.txt": "stays\n"})
    (folder.root / "sub" / "c.txt").unlink()
    found = await of_restore(await folder.opened(), ["."], None)
    assert found.text == (
        "Restores from the index 2 files:\n"
        "diff --git a/a.txt b/a.txt\nindex 351be5b..5626abf 100644\n--- a/a.txt\n+++ b/a.txt\n"
        "@@ -1 +1 @@\n-mine\n+one\n"
        "diff --git a/sub/c.txt b/sub/c.txt\nnew file mode 100644\nindex 0000000..2bdf67a\n--- /dev/null\n"
        "+++ b/sub/c.txt\n@@ -0,0 +1 @@\n+three\n"
    )


async def test_the_state_of_a_restore_is_that_of_the_files_that_would_be_lost(folder: GitFolder) -> None:
    folder.write({"a.txt": "mine\n", "b.txt": "mine\n"})
    first = await of_restore(await folder.opened(), ["a.txt"], None)
    folder.write({"b.txt": "other\n"})
    assert await of_restore(await folder.opened(), ["a.txt"], None) == first
    folder.write({"a.txt": "more\n"})
    assert (await of_restore(await folder.opened(), ["a.txt"], None)).state != first.state


async def test_a_restore_of_a_protected_file_is_not_foreseen_without_a_yes(folder: GitFolder) -> None:
    with pytest.raises(PermissionNeeded):
        await of_restore(await folder.opened(), [".env"], None)


async def test_a_switch_says_where_it_leads_and_what_changes(folder: GitFolder) -> None:
    main, feature = (folder.git("rev-parse", "--short=12", name).strip() for name in ("main", "feature"))
    changes = " a.txt   | 2 +-\n b.txt   | 2 +-\n new.txt | 1 +\n 3 files changed, 3 insertions(+), 2 deletions(-)\n"
    repository = await folder.opened()
    texts = [
        (await of_switch(repository, branch, create, revision)).text
        for branch, create, revision in (("feature", False, None), ("n", True, None), (None, False, "feature"))
    ]
    assert texts == [
        f"Switches from main ({main}) to feature ({feature}).\n{changes}",
        f"Makes the branch n. Switches from main ({main}) to n ({main}).\n",
        f"Switches from main ({main}) to no branch ({feature}).\n{changes}",
    ]


async def test_the_end_of_a_branch_names_the_commits_that_only_it_has(folder: GitFolder) -> None:
    folder.git("branch", "same")
    repository = await folder.opened()
    feature = folder.git("rev-parse", "--short", "feature").strip()
    assert (await of_deletion(repository, "feature")).text == (
        f"Deletes the branch feature, which is at {feature} Feature\n"
        f"Commits that would be on no branch:\n{feature} Feature\n"
    )
    assert (await of_deletion(repository, "same")).text.endswith("All its commits are on other branches too.\n")
    with pytest.raises(ToolError, match="There is no branch 'none'"):
        await of_deletion(repository, "none")
