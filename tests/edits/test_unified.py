import subprocess
import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from marvin_server.edits.unified import Difference, difference

TEXT = st.lists(st.sampled_from(["a", "b", "c", "é\x0c", "\r"]), max_size=12).map("\n".join)


def test_a_change_is_shown_with_three_lines_around_it() -> None:
    before = "".join(f"{i}\n" for i in range(1, 11))
    assert difference("x/y.txt", before, before.replace("5\n", "five\nand a half\n")) == Difference(
        "--- a/x/y.txt\n+++ b/x/y.txt\n@@ -2,7 +2,8 @@\n 2\n 3\n 4\n-5\n+five\n+and a half\n 6\n 7\n 8\n", 2, 1
    )


def test_a_missing_final_newline_is_marked() -> None:
    assert difference("f", "a", "a\n") == Difference(
        "--- a/f\n+++ b/f\n@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+a\n", 1, 1
    )


def test_a_new_file_has_an_empty_old_side() -> None:
    assert difference("f", "", "a\n") == Difference("--- a/f\n+++ b/f\n@@ -0,0 +1,1 @@\n+a\n", 1, 0)


def test_equal_texts_have_no_diff() -> None:
    assert difference("f", "a\n", "a\n") == Difference("", 0, 0)


@given(before=TEXT, after=TEXT)
def test_git_can_apply_every_diff(before: str, after: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "f"
        file.write_bytes(before.encode())
        change = difference("f", before, after)
        if change.diff:
            argv = ["git", "-C", folder, "apply", "--unidiff-zero", "--whitespace=nowarn", "-"]
            subprocess.run(argv, input=change.diff.encode(), check=True, env={"PATH": "/usr/bin:/bin", "HOME": folder})
        assert file.read_bytes() == after.encode()
