import subprocess
from pathlib import Path

import pytest

from tests.tools.conftest import Call


@pytest.fixture(autouse=True)
def repository(folder: Path) -> None:
    def git(*arguments: str) -> None:
        subprocess.run(["git", "-C", folder, *arguments], check=True, capture_output=True)

    git("init", "-b", "main")
    git("config", "user.name", "A")
    git("config", "user.email", "a@example.org")
    (folder / "src").mkdir()
    (folder / "src" / "a.txt").write_text("one\n")
    git("add", ".")
    git("commit", "-m", "First words")
    (folder / "src" / "a.txt").write_text("two\n")


async def test_git_says_what_changed(call: Call) -> None:
    status = await call("git_status")
    assert (status.status, "src/a.txt" in status.text, "main" in status.text) == ("ok", True, True)


async def test_git_shows_the_changes(call: Call) -> None:
    diff = await call("git_diff", path="src")
    assert "-one\n+two" in diff.text
    assert "-one" not in (await call("git_diff", staged=True)).text
    assert "-one\n+two" in (await call("git_diff", revision="HEAD")).text


async def test_git_shows_the_history(call: Call) -> None:
    assert "First words" in (await call("git_log", limit=1, path="src/a.txt")).text


async def test_git_works_from_the_working_directory(call: Call) -> None:
    await call("set_working_dir", path="src")
    assert "-one\n+two" in (await call("git_diff", path="a.txt")).text


async def test_a_revision_that_is_an_option_is_refused(call: Call) -> None:
    assert (await call("git_diff", revision="--output=x")).status == "error"


async def test_a_commit_is_made_and_shown(call: Call, folder: Path) -> None:
    (folder / "src" / "new.txt").write_text("new\n")
    done = await call("git_commit", message="Second words", paths=["src"])
    assert done.text.partition(": ")[0] == "Committed on main"
    assert done.text.endswith(" Second words\nM\tsrc/a.txt\nA\tsrc/new.txt\n")
    assert "-one\n+two" in (await call("git_show")).text
    assert (
        await call("git_commit", message="x", all=True, paths=["src"])
    ).text == "Error: Give paths or all, not both."


async def test_paths_are_named_from_the_working_directory(call: Call) -> None:
    await call("set_working_dir", path="src")
    restored = await call("git_checkout", paths=["a.txt"])
    assert (restored.text, restored.details) == ("Restored from the index: src/a.txt.\n", {"paths": ["src/a.txt"]})


async def test_branches_are_made_listed_and_left(call: Call) -> None:
    assert (await call("git_branch", action="create", name="topic")).text.startswith("Created branch topic at ")
    assert (await call("git_checkout", branch="topic")).text == "Switched to branch topic.\n"
    listed = (await call("git_list_branches")).text.splitlines()
    assert [line[:7] for line in listed] == ["  main ", "* topic"]
    assert (await call("git_branch", action="rename", name="topic")).text == "Error: Give new_name to rename a branch."


@pytest.mark.parametrize(
    "arguments",
    [{}, {"create": True}, {"branch": "x", "paths": ["src"]}, {"branch": "x", "revision": "HEAD"}],
    ids=str,
)
async def test_a_checkout_says_what_it_needs(call: Call, arguments: dict[str, object]) -> None:
    done = await call("git_checkout", **arguments)
    assert (done.status, done.text[:13]) == ("error", "Error: Give a")


async def test_blame_shows_a_line_of_text_for_each_line(call: Call) -> None:
    blame = (await call("git_blame", path="src/a.txt", start_line=1, end_line=1)).text
    assert blame.startswith("00000000 ")
    assert blame.endswith(" Not Committed Yet 1: two")
    assert (await call("git_blame", path="src/a.txt", start_line=2, end_line=1)).text == (
        "Error: end_line 1 is before start_line 2."
    )


async def test_a_long_file_is_blamed_in_parts(call: Call, folder: Path) -> None:
    (folder / "long.txt").write_text("".join(f"{number}\n" for number in range(1, 1501)))
    await call("git_commit", message="Long", paths=["long.txt"])
    first = (await call("git_blame", path="long.txt")).text.splitlines()
    rest = (await call("git_blame", path="long.txt", start_line=1001)).text.splitlines()
    assert (len(first), first[-1]) == (1001, "[cut here; go on with start_line 1001]")
    assert (len(rest), rest[-1].endswith(" A 1500: 1500")) == (500, True)
