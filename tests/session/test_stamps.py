"""Whether a file is still as it was: files of the system, which nobody writes, and new ones."""

import os
import sys
from pathlib import Path

from marvin_server.session import skills
from marvin_server.session.stamps import stamp


def test_a_file_that_nobody_writes_has_one_stamp() -> None:
    one, other = Path(sys.executable), Path(os.__file__)
    assert stamp(one.stat()) == stamp(one.stat())
    assert stamp(one.stat()) != stamp(other.stat())


def test_a_file_that_was_just_written_never_counts_as_the_same(tmp_path: Path) -> None:
    file = tmp_path / "new"
    file.touch()
    assert stamp(file.stat()) != stamp(file.stat())


def test_a_skill_that_changes_within_a_tick_of_the_clock_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "tea" / "SKILL.md"
    file.parent.mkdir()
    for text in ("Brew it green.", "Brew it black."):
        file.write_text(f"---\nname: tea\ndescription: Make tea.\n---\n{text}")
        assert skills.of_person(tmp_path)[0]["tea"].text == text
