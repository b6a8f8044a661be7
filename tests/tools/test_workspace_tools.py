from pathlib import Path

import pytest

from marvin_server.errors import PermissionNeeded
from marvin_server.tools.base import ToolContext, ToolOutput
from tests.tools.conftest import Call


async def test_the_working_directory_moves_within_the_root(folder: Path, call: Call) -> None:
    (folder / "src").mkdir()
    (folder / "src" / "a.txt").write_text("here")
    assert await call("set_working_dir", path="src") == ToolOutput(f"Relative paths now begin in src (root: {folder}).")
    assert await call("read_file", path="a.txt") == ToolOutput("here")
    assert await call("get_working_dir") == ToolOutput(f"Root: {folder}\nWorking directory, relative to it: src")


async def test_a_working_directory_outside_the_root_is_asked_for(folder: Path, call: Call) -> None:
    with pytest.raises(PermissionNeeded) as caught:
        await call("set_working_dir", path=str(folder.parent))
    assert caught.value.kind == "outside_path"


async def test_a_note_is_kept_beside_an_ignore_file(folder: Path, call: Call) -> None:
    assert await call("write_note", name="design", content="one\n") == ToolOutput(
        "Noted in .marvin/notes/design.md.",
        details={
            "diff": "--- a/.marvin/notes/design.md\n+++ b/.marvin/notes/design.md\n@@ -0,0 +1,1 @@\n+one\n",
            "added": 1,
            "removed": 0,
        },
    )
    assert (folder / ".marvin" / ".gitignore").read_text() == "*\n"
    assert await call("read_note", name="design") == ToolOutput("one\n")


async def test_a_note_is_replaced_or_added_to(folder: Path, call: Call) -> None:
    await call("write_note", name="a b/c.txt", content="one\n")
    await call("write_note", name="a b/c.txt", content="two\n")
    await call("write_note", name="a b/c.txt", content="three\n", append=True)
    assert (folder / ".marvin" / "notes" / "a b" / "c.txt").read_text() == "two\nthree\n"


async def test_an_ignore_file_of_the_persons_own_stays(folder: Path, call: Call) -> None:
    (folder / ".marvin").mkdir()
    (folder / ".marvin" / ".gitignore").write_text("logs/\n")
    await call("write_note", name="design", content="one\n")
    assert (folder / ".marvin" / ".gitignore").read_text() == "logs/\n"


async def test_notes_stay_at_the_root_wherever_the_working_directory_is(folder: Path, call: Call) -> None:
    (folder / "src").mkdir()
    await call("set_working_dir", path="src")
    await call("write_note", name="design", content="one\n")
    assert (folder / ".marvin" / "notes" / "design.md").is_file()


@pytest.mark.parametrize("name", ["../a", "a/../../../b", "/etc/passwd", "", ".hidden", "a\nb", "~/a"])
async def test_a_name_that_leads_elsewhere_is_no_note(folder: Path, call: Call, name: str) -> None:
    for output in (await call("write_note", name=name, content="x"), await call("read_note", name=name)):
        assert output.text == (
            f"Error: {name!r} is no name for a note: use letters, digits, spaces and - _ . such as 'design'."
        )
    assert list(folder.iterdir()) == []


async def test_a_missing_note_names_those_that_exist(call: Call) -> None:
    await call("write_note", name="design", content="one\n")
    output = await call("read_note", name="plan")
    assert output.status == "error"
    assert "design.md" in output.text


async def test_the_session_answers_for_usage_and_tools(context: ToolContext, call: Call) -> None:
    assert await call("get_usage") == ToolOutput("12 tokens")
    assert await call("find_tools", query="weather") == ToolOutput("tools for weather")


async def test_a_long_note_is_cut_and_says_how_to_read_on(folder: Path, call: Call) -> None:
    await call("write_note", name="long", content="0123456789\n" * 2000)
    text = (await call("read_note", name="long")).text
    assert text.endswith(
        "\n[cut: these are 10,229 of 22,000 characters; for the rest: "
        'read_file({"path": ".marvin/notes/long.md", "start_line": 931})]'
    )
    assert (await call("read_file", path=".marvin/notes/long.md", start_line=931)).text.startswith("[lines 931-2000 ")
