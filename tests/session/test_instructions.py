"""What a person has written for the model in their own folders."""

import os
from pathlib import Path

import pytest

from marvin_server import paths
from marvin_server.session.instructions import OwnFiles, read


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path), "MARVIN_HOME": str(tmp_path / ".marvin")}


def put(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def own(environ: dict[str, str], directory: str) -> OwnFiles:
    return read(paths.find(environ), environ, Path(directory))


def test_without_files_there_is_nothing(environ: dict[str, str]) -> None:
    assert own(environ, "/home/ada/shop") == OwnFiles()


def test_convention_files_come_in_their_order_and_empty_ones_are_none(environ: dict[str, str], tmp_path: Path) -> None:
    for name, text in (("AGENTS.md", "a"), ("SOUL.md", "s"), ("USER.md", " \n"), ("OTHER.md", "o"), ("soul.txt", "x")):
        put(tmp_path / ".marvin/config" / name, text)
    found = own(environ, "/work")
    assert [(file.path, file.text) for file in found.conventions] == [
        ("~/.marvin/config/SOUL.md", "s"),
        ("~/.marvin/config/AGENTS.md", "a"),
    ]


def test_instructions_hold_in_a_folder_and_all_beneath_it_the_nearest_first(
    environ: dict[str, str], tmp_path: Path
) -> None:
    put(tmp_path / ".marvin/config/instructions/home/ada.md", "all work")
    put(tmp_path / ".marvin/instructions/home/ada/shop.md", "the ancestor's place")
    put(tmp_path / ".marvin/config/instructions/home/ada/shop.md", "the shop")
    put(tmp_path / ".marvin/config/instructions/home/ada/shop/api.md", "the api")
    assert [file.text for file in own(environ, "/home/ada/shop").instructions] == [
        *("the shop", "the ancestor's place", "all work")
    ]
    assert own(environ, "/home/ada/shop/api/v1").instructions[0].text == "the api"
    assert own(environ, "/workshop").instructions == ()


def test_a_long_file_keeps_its_head_and_its_tail(environ: dict[str, str], tmp_path: Path) -> None:
    put(tmp_path / ".marvin/config/MEMORY.md", "h" * 14_000 + "m" * 10_000 + "t" * 4_000)
    (file,) = own(environ, "/").conventions
    note = "\n[… 10,000 characters left out; a file has 20,000 at most]\n"
    assert file.text == "h" * 14_000 + note + "t" * 4_000


def test_a_file_that_cannot_be_read_is_named_and_tricks_are_shown(environ: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / ".marvin/config/TOOLS.md").mkdir(parents=True)
    put(tmp_path / ".marvin/config/SOUL.md", "be\u202ekind\x1b[2J")
    found = own(environ, "/work")
    assert found.problems == ("~/.marvin/config/TOOLS.md is left out: it is no file",)
    assert [file.text for file in found.conventions] == ["be⟨U+202E⟩kind␛[2J"]


def test_a_pipe_or_a_binary_file_is_named_and_nobody_waits_for_it(environ: dict[str, str], tmp_path: Path) -> None:
    put(tmp_path / ".marvin/config/USER.md", "nobody\0")
    os.mkfifo(tmp_path / ".marvin/config/SOUL.md")
    found = own(environ, "/work")
    assert [problem.partition(" is left out: ")[2] for problem in found.problems] == [
        "it is no file",
        "'~/.marvin/config/USER.md' is a binary file of 7 bytes; only text can be read here.",
    ]
    assert found.conventions == ()


def test_a_file_in_utf16_is_read_as_what_it_says(environ: dict[str, str], tmp_path: Path) -> None:
    put(tmp_path / ".marvin/config/SOUL.md", "")
    (tmp_path / ".marvin/config/SOUL.md").write_text("Be kind.\r\n", "utf-16", newline="")
    assert [file.text for file in own(environ, "/work").conventions] == ["Be kind.\n"]
