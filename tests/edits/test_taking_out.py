"""A hunk is taken back where its place is beyond doubt, and nowhere else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marvin_server.edits.hunks import whole
from marvin_server.edits.lines import split
from marvin_server.edits.taking_out import taken_out

OLD = "a\nb\nc\nd\ne\n"
MADE = "a\nB\nc\nd\ne\n"
[HUNK] = whole("x", OLD, MADE)


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        (MADE, OLD),
        ("0\n" + MADE + "f\n", "0\n" + OLD + "f\n"),
        ("a\nB\nnew\nc\nd\ne\n", "a\nb\nnew\nc\nd\ne\n"),
        (OLD, OLD),
        ("a\nBB\nc\nd\ne\n", None),
        ("a\nnew\nB\nnew\nc\nd\ne\n", None),
        ("a\nB\nB\nc\nd\ne\n", None),
    ],
)
def test_a_hunk_is_found_by_its_text_and_what_is_around_it(now: str, expected: str | None) -> None:
    assert taken_out(HUNK, MADE, now) == expected


def test_a_hunk_of_another_text_is_not_there() -> None:
    assert taken_out(HUNK, "something else\n", MADE) is None


SHORT = st.lists(st.sampled_from(["a", "b", "c", "", "}"]), max_size=8)


@given(SHORT, SHORT, st.lists(st.integers(0, 20), max_size=4))
def test_lines_that_were_added_since_stay(old: list[str], made: list[str], places: list[int]) -> None:
    before, after = ("".join(f"{line}\n" for line in lines) for lines in (old, made))
    now = split(after)
    for number, place in enumerate(places):
        now.insert(place % (len(now) + 1), f"typed {number}\n")
    for hunk in whole("x", before, after):
        without = taken_out(hunk, after, "".join(now))
        if without is not None:
            assert [line for line in split(without) if line.startswith("typed")] == [
                line for line in now if line.startswith("typed")
            ]
            assert len(split(without)) == len(now) - len(hunk.new_lines) + len(hunk.old_lines)
