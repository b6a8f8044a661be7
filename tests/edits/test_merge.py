import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import settings as checking
from hypothesis import strategies as st

from marvin_server.edits.merge import Conflict, Merged, merge

BASE = "one\ntwo\nthree\nfour\nfive\n"
NUMBERED = [f"{number}\n" for number in range(12)]


def test_changes_apart_from_each_other_are_brought_together() -> None:
    assert merge(BASE, BASE.replace("one", "1"), BASE.replace("five", "5")) == Merged("1\ntwo\nthree\nfour\n5\n")


def test_the_same_change_on_both_sides_counts_once() -> None:
    changed = BASE.replace("three", "3")
    assert merge(BASE, changed, changed) == Merged(changed)


def test_changes_of_the_same_or_of_touching_lines_conflict_and_ours_stays() -> None:
    ours = BASE.replace("two", "zwei")
    for theirs in (BASE.replace("two", "2"), BASE.replace("three", "3"), BASE.replace("one\n", "")):
        merged = merge(BASE, ours, theirs)
        assert merged.text == ours
        assert len(merged.conflicts) == 1
    assert merge(BASE, ours, BASE.replace("two", "2")).conflicts == (Conflict(2, ("zwei\n",), ("2\n",)),)


def test_an_insertion_between_equal_lines_conflicts_with_another_among_them() -> None:
    assert merge("x\nx\nx\n", "x\nx\na\nx\n", "x\nx\nx\nx\n").conflicts


def test_line_ends_and_a_missing_last_one_are_part_of_their_lines() -> None:
    assert merge("a\r\nb\nc\nd", "A\r\nb\nc\nd", "a\r\nb\nc\nd\n") == Merged("A\r\nb\nc\nd\n")


def test_changes_far_apart_in_a_long_file_do_not_meet() -> None:
    lines = [f"line {number}\n" for number in range(50_000)]
    ours, theirs, both = (list(lines) for _ in range(3))
    ours[25_000] = both[25_000] = "mine\n"
    for place in (10, 49_000):
        theirs[place] = both[place] = "theirs\n"
    assert merge("".join(lines), "".join(ours), "".join(theirs)) == Merged("".join(both))


TEXTS = st.lists(st.sampled_from("abcdef"), max_size=12).map(lambda letters: "".join(f"{each}\n" for each in letters))


@given(TEXTS, TEXTS)
def test_a_side_that_changed_nothing_gives_the_other(base: str, changed: str) -> None:
    assert merge(base, base, changed) == Merged(changed)
    assert merge(base, changed, base) == Merged(changed)
    assert merge(base, changed, changed) == Merged(changed)


@example("a\nb\na\n", "b\na\n", "b\nb\n")
@given(TEXTS, TEXTS, TEXTS)
def test_the_sides_may_be_exchanged(base: str, ours: str, theirs: str) -> None:
    one, other = merge(base, ours, theirs), merge(base, theirs, ours)
    assert bool(one.conflicts) == bool(other.conflicts)
    if not one.conflicts:
        assert one.text == other.text


@st.composite
def changed(draw: st.DrawFn) -> str:
    """Twelve lines, all different, some of them changed, deleted, doubled, or with a new one before them."""
    lines: list[str] = []
    for line in NUMBERED:
        match draw(st.sampled_from("========cdnd")):
            case "=":
                lines.append(line)
            case "c":
                lines.append(draw(st.sampled_from("xyz")) + line)
            case "n":
                lines += [draw(st.sampled_from("xyz")) + "\n", line]
            case _:
                pass
    text = "".join(lines)
    return text.removesuffix("\n") if draw(st.booleans()) and draw(st.booleans()) else text


@given(ours=changed(), theirs=changed())
@checking(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_git_merges_cleanly_to_the_same_text_or_we_conflict(tmp_path: Path, ours: str, theirs: str) -> None:
    base = "".join(NUMBERED)
    for name, text in (("base", base), ("ours", ours), ("theirs", theirs)):
        (tmp_path / name).write_text(text)
    git = subprocess.run(
        ["git", "merge-file", "-p", "-q", "ours", "base", "theirs"], cwd=tmp_path, capture_output=True, check=False
    )
    merged = merge(base, ours, theirs)
    if not merged.conflicts:
        assert (git.returncode, git.stdout.decode()) == (0, merged.text)


@pytest.mark.parametrize("text", ["", "\n", "no end", "\r\n", "\x0c\n\x0b"])
def test_odd_texts_merge_with_themselves(text: str) -> None:
    assert merge(text, text, text) == Merged(text)
