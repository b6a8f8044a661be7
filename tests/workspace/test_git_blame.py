"""Which commit a line comes from."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marvin_server.errors import PermissionNeeded, ToolError
from marvin_server.sanitise import printable
from marvin_server.workspace.git_blame import BlamedLine, blame, parse
from tests.workspace.git_folder import GitFolder


@pytest.fixture
def folder(tmp_path: Path) -> GitFolder:
    folder = GitFolder(tmp_path)
    folder.environ |= {"GIT_AUTHOR_DATE": "2024-05-06T23:30:00-0700"}
    folder.commit("Third", {"a.txt": "one\ntwo\r\n\tthree \x07\n"})
    folder.write({"a.txt": "one\ntwo\r\n\tthree \x07\nmine\n"})
    return folder


async def test_every_line_has_its_commit_date_and_author(folder: GitFolder):
    first, third = (folder.git("rev-parse", name)[:8] for name in ("HEAD~2", "HEAD"))
    day = folder.git("log", "-1", "--format=%ad", "--date=short", "HEAD~2").strip()
    lines = await blame(await folder.opened(), "a.txt")
    assert lines[:3] == [
        BlamedLine(first, day, "Ann", 1, "one"),
        BlamedLine(third, "2024-05-06", "Ann", 2, "two"),
        BlamedLine(third, "2024-05-06", "Ann", 3, "\tthree ␇"),
    ]
    assert (lines[3].commit, lines[3].author, lines[3].text) == ("00000000", "Not Committed Yet", "mine")


async def test_a_range_and_a_revision_are_looked_at(folder: GitFolder):
    repository = await folder.opened()
    assert [line.number for line in await blame(repository, "a.txt", start=2, end=3)] == [2, 3]
    assert [line.text for line in await blame(repository, "a.txt", revision="feature")] == ["ONE"]
    with pytest.raises(ToolError, match="has only 4 lines"):
        await blame(repository, "a.txt", start=5)
    with pytest.raises(ToolError, match="git refused: "):
        await blame(repository, "gone.txt")


async def test_secrets_are_asked_for(folder: GitFolder):
    folder.commit("Secret", {".env": "KEY=1\n"})
    with pytest.raises(PermissionNeeded):
        await blame(await folder.opened(), ".env")
    folder.permitted.add(".env")
    assert [line.text for line in await blame(await folder.opened(), ".env")] == ["KEY=1"]


@given(st.text(max_size=200) | st.text(st.sampled_from("0 \n\tabcdef1author-tim"), max_size=200))
def test_any_text_can_be_parsed(text: str):
    parse(text)


@given(st.lists(st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]))))
def test_the_text_of_every_line_is_kept(texts: list[str]):
    about = "author Ann\nauthor-time 1715000000\nauthor-tz +0200\nfilename a\n"
    porcelain = "".join(
        f"{'a' * 40} {number} {number}\n{about if number == 1 else ''}\t{text}\n"
        for number, text in enumerate(texts, 1)
    )
    assert parse(porcelain) == [
        BlamedLine("a" * 8, "2024-05-06", "Ann", number, printable(text)) for number, text in enumerate(texts, 1)
    ]
