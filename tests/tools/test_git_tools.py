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
