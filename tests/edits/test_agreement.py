"""What we write, we read back; and Git and GNU patch, the real programs, read it the same way as we do."""

import random
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marvin_server.edits import formats
from marvin_server.edits.hunks import FileChange, Hunk, compared, keep, matched, whole
from marvin_server.edits.lines import bare, ended, split
from marvin_server.edits.patch import Misfit
from marvin_server.edits.unified import shown
from marvin_server.edits.verify import verify
from marvin_server.errors import ToolError

LINE = st.sampled_from(
    ["a", "b", "c", "", " a", "é", "«–»", "\x0c", "-- x", "++ y", "@@ -1 +1 @@", "*** End Patch", "x\r"]
)
END = st.sampled_from(["\n", "\n", "\n", "\r\n"])
TEXT = st.builds(
    str.removesuffix, st.lists(st.builds(str.__add__, LINE, END), max_size=14).map("".join), st.sampled_from(["", "\n"])
)
NAME = st.sampled_from(["f", "a/b", "a file", "grün", 'quo"te', "back\\slash", "tab\tname"])
FEW = settings(max_examples=40, deadline=None)


def applied(patch: str, files: dict[str, str]) -> dict[str, str]:
    after = dict(files)
    for change in verify(formats.parse(patch), files.get):
        after.pop(change.path, None)
        if change.new is not None:
            after[change.move_to or change.path] = change.new
    return after


def change_of(path: str, old: str | None, new: str | None) -> FileChange:
    return FileChange(path, old, new, whole(path, old, new))


@given(path=NAME, old=TEXT, new=TEXT)
def test_a_unified_diff_applied_is_the_new_text(path: str, old: str, new: str) -> None:
    if diff := shown(change_of(path, old, new)).diff:
        assert applied(diff, {path: old}) == {path: new}


@given(path=NAME, text=TEXT)
def test_a_diff_of_a_file_that_is_made_or_deleted_does_that(path: str, text: str) -> None:
    assert applied(shown(change_of(path, None, text)).diff, {}) == {path: text}
    assert applied(shown(change_of(path, text, None)).diff, {path: text}) == {}


@given(old=TEXT, new=TEXT)
def test_a_begin_patch_applied_is_the_new_text(old: str, new: str) -> None:
    """The format cannot tell line ends or the end of the last line, so those are left out of what is compared."""
    before, after = ("".join(f"{bare(line)}\n" for line in split(text.replace("\r", ""))) for text in (old, new))
    if before and before != after:
        lines = matched(before.split("\n")[:-1], after.split("\n")[:-1])
        patch = "\n".join(["*** Begin Patch", "*** Update File: f", "@@", *lines, "*** End of File", "*** End Patch"])
        assert applied(patch, {"f": before}) == {"f": after}


@given(old=TEXT, new=TEXT)
def test_a_search_replace_block_applied_is_the_new_text(old: str, new: str) -> None:
    before, after = ("".join(f"{bare(line)}\n" for line in split(text.replace("\r", ""))) for text in (old, new))
    if before and before != after:
        patch = f"f\n<<<<<<< SEARCH\n{before}=======\n{after}>>>>>>> REPLACE\n"
        assert applied(patch, {"f": before}) == {"f": after}


@given(old=TEXT, new=TEXT, part=st.data())
def test_kept_hunks_are_the_only_difference_that_is_left(old: str, new: str, part: st.DataObject) -> None:
    change = change_of("f", old, new)
    ids = [hunk.id for hunk in change.hunks]
    assert len(set(ids)) == len(ids)
    kept = part.draw(st.sets(st.sampled_from(ids)) if ids else st.just(set[str]()))
    some = keep(change, kept)
    lines = (some.new or "") if some else old
    assert keep(change, ids) == change
    assert [hunk.id for hunk in some.hunks] == [one for one in ids if one in kept] if some else not kept
    rest = split(lines)
    assert "".join(rest) == lines


@given(old=TEXT, new=TEXT)
def test_hunks_say_where_their_lines_are_on_both_sides(old: str, new: str) -> None:
    def at(lines: list[str], start: int, count: int) -> tuple[str, ...]:
        return tuple(lines[start - 1 : start - 1 + count])

    before, after = split(old), split(new)
    for hunk in change_of("f", old, new).hunks:
        assert hunk == Hunk(
            hunk.id,
            hunk.old_start,
            at(before, hunk.old_start, len(hunk.old_lines)),
            hunk.new_start,
            at(after, hunk.new_start, len(hunk.new_lines)),
        )


@pytest.mark.parametrize("command", ["git apply --whitespace=nowarn -", "patch --binary -p1 -s -t"])
@FEW
@given(old=TEXT, new=TEXT)
def test_the_real_programs_read_our_diffs_as_we_do(command: str, old: str, new: str) -> None:
    diff = shown(change_of("f", old, new)).diff
    if diff:
        assert run(command.split(), {"f": old}, diff) == {"f": new}


@FEW
@given(old=TEXT, new=TEXT, context=st.integers(1, 4))
def test_we_read_the_diffs_of_git_as_git_does(old: str, new: str, context: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("old", old), ("new", new)):
            (Path(folder) / name).mkdir()
            (Path(folder) / name / "f").write_bytes(text.encode())
        argv = ["git", "diff", "--no-index", f"-U{context}", "old/f", "new/f"]
        diff = subprocess.run(argv, cwd=folder, capture_output=True, check=False).stdout.decode()
    if diff:
        diff = diff.replace("a/old/f", "a/f").replace("b/new/f", "b/f")
        assert applied(diff, {"f": old}) == {"f": new}


@FEW
@given(seed=st.integers(0, 1 << 32), moved=st.integers(0, 5))
def test_a_diff_fits_a_file_with_lines_in_front_as_it_does_for_git(seed: int, moved: int) -> None:
    """Or we say that it fits in more than one place, where Git takes the nearest."""
    chance = random.Random(seed)
    lines = [f"{chance.choice('abcdefgh')}{chance.randrange(30)}\n" for _ in range(40)]
    new = list(lines)
    for _ in range(3):
        new[chance.randrange(4, 36)] = f"new {chance.randrange(100)}\n"
    front = "".join(f"front {i}\n" for i in range(moved))
    diff = shown(change_of("f", "".join(lines), "".join(new))).diff
    theirs = run(["git", "apply", "-"], {"f": front + "".join(lines)}, diff)
    assert theirs == {"f": front + "".join(new)}
    try:
        ours = applied(diff, {"f": front + "".join(lines)})
    except Misfit as misfit:
        reasons = {problem.message[:23] for problem in misfit.problems}
        ours = theirs if reasons == {"it fits more than once,"} else {"": str(misfit)}
    assert ours == theirs


@given(text=TEXT, patch=st.text("+- @*ab\n<>=\\ SEARCHREPLACE/1,") | TEXT)
def test_any_text_is_a_patch_or_refused(text: str, patch: str) -> None:
    for form in (patch, f"*** Begin Patch\n*** Update File: f\n{patch}\n*** End Patch", f"--- f\n+++ f\n{patch}"):
        try:
            changes = verify(formats.parse(form, "f"), {"f": text}.get)
        except ToolError:
            continue
        assert all(keep(change, [hunk.id for hunk in change.hunks]) == change for change in changes)


@given(old=TEXT, new=TEXT)
def test_compared_lines_that_end_differently_are_different(old: str, new: str) -> None:
    lines = split(old)
    assert all(ended(line) for line in lines[:-1])
    assert (compared(lines, split(new)) == []) == (old == new)


def run(argv: list[str], files: dict[str, str], diff: str) -> dict[str, str]:
    """What the real program makes of ``files``."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            (Path(folder) / name).write_bytes(text.encode())
        environ = {"PATH": "/usr/bin:/bin", "HOME": folder}
        done = subprocess.run(argv, cwd=folder, input=diff.encode(), capture_output=True, env=environ, check=False)
        assert done.returncode == 0, done.stderr.decode() + diff
        found = {path.name: path.read_bytes().decode() for path in Path(folder).iterdir()}
        return found if "f" in found else {**found, "f": ""}
