"""Every folder in ``scenarios`` that has a ``patch.txt`` is a patch, the files before it and what it makes of them."""

from pathlib import Path

import pytest

from marvin_server.edits import formats
from marvin_server.edits.hunks import keep
from marvin_server.edits.verify import verify
from marvin_server.errors import ToolError

FOLDERS = sorted(patch.parent for patch in (Path(__file__).parent / "scenarios").glob("*/patch.txt"))
Files = dict[str, str]


def files(folder: Path) -> Files:
    """The text of every file beneath ``folder``; ``.gitkeep`` stands for nothing."""
    found = (path for path in folder.rglob("*") if path.is_file() and path.name != ".gitkeep")
    return {path.relative_to(folder).as_posix(): path.read_bytes().decode() for path in found}


def patched(before: Files, patch: str) -> Files:
    """``before`` as the whole ``patch`` makes it, which keeping all of its hunks must make of it as well."""
    after = dict(before)
    for change in verify(formats.parse(patch), before.get):
        assert keep(change, [hunk.id for hunk in change.hunks]) == change
        after.pop(change.path, None)
        if change.new is not None:
            after[change.move_to or change.path] = change.new
    return after


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_patch_makes_the_expected_files_or_says_what_is_wrong(folder: Path) -> None:
    before = files(folder / "input")
    patch = (folder / "patch.txt").read_bytes().decode()
    error = folder / "error.txt"
    if error.exists():
        with pytest.raises(ToolError) as caught:
            patched(before, patch)
        assert f"{caught.value}\n" == error.read_text()
    else:
        assert patched(before, patch) == files(folder / "expected")


def test_there_is_a_scenario_for_every_rule_of_every_format() -> None:
    families = [folder.name[0] for folder in FOLDERS]
    assert {family: families.count(family) >= 12 for family in "456"} == dict.fromkeys("456", True)
