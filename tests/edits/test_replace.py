import contextlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marvin_server.edits.hunks import keep
from marvin_server.edits.replace import Ambiguous, NotFound, replace
from marvin_server.errors import ToolError

SCENARIOS = sorted(patch.parent for patch in (Path(__file__).parent / "scenarios").glob("*/patch.json"))
LINES = st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n"), max_size=8), max_size=8)
PLAIN = st.text(st.characters(exclude_characters="\r"))


def read(path: Path) -> str:
    return path.read_bytes().decode()


def replace_once(text: str, old: str, new: str) -> str:
    change = replace("file", text, old, new)
    assert keep(change, {hunk.id for hunk in change.hunks}) == change
    return change.new or ""


@pytest.mark.parametrize("folder", SCENARIOS, ids=lambda folder: folder.name)
def test_a_scenario_folder_gives_its_expected_text_or_error(folder: Path) -> None:
    patch = json.loads(read(folder / "patch.json"))
    try:
        text = read(folder / "input")
        result = replace("file", text, patch["old_str"], patch["new_str"], everywhere=patch.get("all", False)).new
    except ToolError as error:
        result = f"{type(error).__name__}: {error}\n"
    assert result == read(folder / "expected")


@given(before=PLAIN, old=PLAIN.filter(bool), after=PLAIN, new=PLAIN)
def test_what_is_replaced_is_exactly_the_only_occurrence(before: str, old: str, after: str, new: str) -> None:
    text = before + old + after
    if text.find(old) == text.rfind(old):
        assert replace_once(text, old, new) == before + new + after
        assert replace("file", text, old, new, everywhere=True) == replace("file", text, old, new)
    else:
        with pytest.raises(Ambiguous):
            replace_once(text, old, new)


@given(head=LINES, old=LINES, tail=LINES, new=LINES)
def test_a_file_with_crlf_is_edited_like_the_same_file_with_lf(
    head: list[str], old: list[str], tail: list[str], new: list[str]
) -> None:
    text = "\n".join(["first", *head, "«", *old, "»", *tail, "last"])
    try:
        with_lf = replace_once(text, "\n".join(["«", *old, "»"]), "\n".join(new))
    except ToolError as error:
        with pytest.raises(type(error)):
            replace_once(text.replace("\n", "\r\n"), "\n".join(["«", *old, "»"]), "\n".join(new))
        return
    with_crlf = replace_once(text.replace("\n", "\r\n"), "\n".join(["«", *old, "»"]), "\n".join(new))
    assert with_crlf == with_lf.replace("\n", "\r\n")


@given(text=st.text("ab \r\n"), old=st.text("ab \r\n"), new=st.text("ab \r\n"))
def test_every_input_gives_a_text_or_a_tool_error(text: str, old: str, new: str) -> None:
    with contextlib.suppress(ToolError):
        replace_once(text, old, new)


@given(text=st.text("ab\r\n", min_size=1), old=st.text("ab\n", min_size=1))
def test_line_ends_outside_the_edit_are_kept(text: str, old: str) -> None:
    try:
        result = replace_once(text, old, "x")
    except ToolError:
        return
    head, tail = result.split("x")
    assert text.startswith(head)
    assert text.endswith(tail)
    assert text[len(head) : len(text) - len(tail)].replace("\r\n", "\n") in {old, old.removesuffix("\n")}


@pytest.mark.timeout(5)
def test_the_nearest_place_of_a_long_file_is_found_quickly() -> None:
    lines = [f"def step_{i}(value):\n    return value + {i}  # the same words on every line\n" for i in range(25_000)]
    old = "def step_24000(value):\n    return value - 24000  # the same words on every line\n"
    with pytest.raises(NotFound) as caught:
        replace_once("".join(lines), old, "")
    assert caught.value.line == 48_001


@given(text=st.text("ab\r\n"), old=st.text("ab\n", min_size=1), new=st.text("ab\n"))
def test_all_occurrences_are_replaced_as_python_replaces_them(text: str, old: str, new: str) -> None:
    plain = text.replace("\r", "")
    if old in plain:
        assert replace("file", plain, old, new, everywhere=True).new == plain.replace(old, new)
    else:
        with pytest.raises(NotFound):
            replace("file", plain, old, new, everywhere=True)
