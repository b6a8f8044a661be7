from pathlib import Path

import pytest

from marvin_server.tools.base import ToolOutput
from tests.tools.conftest import Call


@pytest.fixture(autouse=True)
def files(folder: Path) -> None:
    (folder / "src" / "deep").mkdir(parents=True)
    (folder / "src" / "a.py").write_text("import os\n\n\ndef main(argv):\n    return os.name\n")
    (folder / "src" / "deep" / "b.py").write_text("MAIN = 'main()'\n")
    (folder / "README.md").write_text("Call main().\n")


async def test_matches_come_with_path_and_line(call: Call) -> None:
    assert await call("code_grep", pattern=r"main\(") == ToolOutput(
        "README.md:1: Call main().\nsrc/a.py:4: def main(argv):\nsrc/deep/b.py:1: MAIN = 'main()'"
    )


async def test_a_search_can_be_narrowed(call: Call) -> None:
    assert (await call("code_grep", pattern="MAIN", path="src", glob="a.*", ignore_case=True)).text == (
        "src/a.py:4: def main(argv):"
    )
    assert (await call("code_grep", pattern="main()", literal=True, path="src")).text == (
        "src/deep/b.py:1: MAIN = 'main()'"
    )


async def test_lines_around_a_match_are_marked_apart(call: Call) -> None:
    assert (await call("code_grep", pattern="def", context=1)).text == (
        "src/a.py-3- \nsrc/a.py:4: def main(argv):\nsrc/a.py-5-     return os.name"
    )


async def test_matches_are_named_as_read_file_takes_them(call: Call) -> None:
    await call("set_working_dir", path="src/deep")
    found = (await call("code_grep", pattern=r"main\(", path="..")).text
    assert found == "../a.py:4: def main(argv):\nb.py:1: MAIN = 'main()'"
    assert (await call("read_file", path="../a.py", start_line=4, end_line=4)).text.endswith("def main(argv):")


async def test_no_match_says_what_was_searched(call: Call) -> None:
    assert await call("code_grep", pattern="xyzzy") == ToolOutput("[no match]")


async def test_many_matches_are_cut_with_advice(folder: Path, call: Call) -> None:
    (folder / "many.txt").write_text("word\n" * 1000)
    text = (await call("code_grep", pattern="word")).text
    assert text.splitlines()[199:] == [
        "many.txt:200: word",
        "[there are more matches; narrow the pattern, the path or the glob]",
    ]


async def test_long_matches_are_cut_at_30_000_characters(folder: Path, call: Call) -> None:
    (folder / "long.txt").write_text(("word " * 90 + "\n") * 150)
    text = (await call("code_grep", pattern="word")).text
    assert 29_000 < len(text) < 31_000
    assert text.endswith("\n[there are more matches; narrow the pattern, the path or the glob]")


async def test_a_wrong_pattern_is_explained(call: Call) -> None:
    output = await call("code_grep", pattern="main(")
    assert output.status == "error"
    assert "literal" in output.text


async def test_a_tree_shows_folders_first(call: Call) -> None:
    assert await call("tree") == ToolOutput("src/\n  deep/\n    b.py\n  a.py\nREADME.md")
    assert await call("tree", path="src", depth=1) == ToolOutput("deep/ (1 entry)\na.py")


async def test_a_folder_that_is_missing_has_no_tree(call: Call) -> None:
    output = await call("tree", path="sources")
    assert (output.status, output.text[: output.text.index(".")]) == ("error", "Error: File not found: 'sources'")


async def test_a_file_or_folder_that_is_missing_cannot_be_searched(call: Call) -> None:
    output = await call("code_grep", pattern="x", path="sources")
    assert (output.status, output.text[: output.text.index(".")]) == ("error", "Error: File not found: 'sources'")


async def test_a_link_that_leads_out_is_refused_with_the_place_and_a_listing(folder: Path, call: Call) -> None:
    (folder / "out").symlink_to("/")
    for name, arguments in (("tree", {}), ("code_grep", {"pattern": "x"})):
        output = await call(name, path="out", **arguments)
        assert output.status == "error"
        assert output.text.endswith(f"Working dir: {folder}. Directory contents:\n  src/\n  README.md\n  out")


@pytest.mark.parametrize("name", ["a\tb", "a\nb", "caf\udce9", "a\\tb"])
async def test_a_name_can_be_read_as_it_is_shown(folder: Path, call: Call, name: str) -> None:
    (folder / "odd").mkdir()
    (folder / "odd" / name).write_text("needle\n")
    shown = (await call("tree", path="odd")).text
    assert await call("read_file", path=f"odd/{shown}") == ToolOutput("needle\n")
    assert (await call("code_grep", pattern="needle")).text == f"odd/{shown}:1: needle"
