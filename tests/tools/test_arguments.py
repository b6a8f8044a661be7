import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marvin_server.errors import ToolError
from marvin_server.tools import arguments
from marvin_server.tools.base import ToolEntry

READ = ToolEntry(
    name="read_file",
    toolset="files",
    effect="read",
    description="",
    parameters={
        "type": "object",
        "properties": {
            "path": {"type": "string", "examples": ["src/main.py"]},
            "start_line": {"type": "integer", "minimum": 1, "examples": [1]},
            "end_line": {"type": "integer", "minimum": 1, "examples": [50]},
        },
        "required": ["path"],
    },
    module="none",
)
PATCH = ToolEntry("apply_patch", "files", "edit", "", {"properties": {"patch": {"type": "string"}}}, "none")
FIELDS = (
    "\nFields: path (text), start_line (a whole number of at least 1, optional), "
    "end_line (a whole number of at least 1, optional)."
    '\nA correct call: read_file({"path": "src/main.py", "start_line": 1, "end_line": 50})'
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def refusal(text: str, entry: ToolEntry = READ) -> str:
    with pytest.raises(ToolError) as caught:
        arguments.parse(entry, text)
    return str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        '{"path": "a", "start_line": 3}',
        json.dumps('{"path": "a", "start_line": 3}'),
        ' {"path": "a",\n "start_line": 3, "end_line": null}\n',
    ],
    ids=["an object", "a string that holds an object", "null for an optional field"],
)
def test_arguments_are_read_from(text: str) -> None:
    assert arguments.parse(READ, text) == {"path": "a", "start_line": 3}


def test_empty_text_means_no_arguments() -> None:
    entry = ToolEntry("git_status", "git", "read", "", {"type": "object", "properties": {}}, "none")
    assert [arguments.parse(entry, text) for text in ("", " \n", "{}", '""')] == [{}, {}, {}, {}]


def test_a_whole_number_becomes_text_where_text_is_wanted() -> None:
    assert arguments.parse(READ, '{"path": 2024}') == {"path": "2024"}


def test_a_raw_line_break_within_a_string_is_taken_as_it_is() -> None:
    assert arguments.parse(READ, '{"path": "a\nb"}') == {"path": "a\nb"}


def test_a_missing_field_is_named_with_its_type_and_a_correct_call() -> None:
    assert refusal('{"start_line": 1}') == (
        "Wrong arguments for read_file. Missing required field 'path' (text)." + FIELDS
    )


def test_an_unknown_field_is_named_with_the_nearest_known_one() -> None:
    assert refusal('{"path": "a", "startline": 1}') == (
        "Wrong arguments for read_file. Unknown field 'startline'; did you mean 'start_line'?" + FIELDS
    )
    assert "Unknown field 'file_path'; did you mean 'path'?" in refusal('{"file_path": "a"}')


@pytest.mark.parametrize("text", ["[1]", "3", "null", '"[]"', "true"])
def test_json_that_is_no_object_is_refused(text: str) -> None:
    assert "The arguments must be a JSON object, not " in refusal(text)


def test_text_that_is_no_json_is_refused_with_what_came() -> None:
    assert refusal("src/main.py") == (
        "Wrong arguments for read_file. The arguments are not valid JSON: src/main.py" + FIELDS
    )


def test_two_objects_in_a_row_are_refused() -> None:
    assert "not valid JSON" in refusal('{"path": "a"}{"path": "b"}')


def test_a_bare_patch_is_the_argument_of_the_tool_that_takes_patches() -> None:
    text = "*** Begin Patch\n*** Delete File: a\n*** End Patch"
    for form in (text, json.dumps(text)):
        assert arguments.parse(PATCH, form) == {"patch": text}
        assert "not valid JSON" in refusal(form)
    assert "were cut off" in refusal('{"patch": "*** Begin Patch\n*** Delete', PATCH)


def test_half_a_character_is_refused() -> None:
    assert "Field 'path' holds half a character ('\\ud83d')" in refusal('{"path": "a\\ud83d"}')


@pytest.mark.parametrize(
    ("field", "words"),
    [
        ({"type": "string"}, "text"),
        ({"type": "integer", "minimum": 1, "maximum": 5}, "a whole number from 1 to 5"),
        ({"type": "number", "maximum": 5}, "a number of at most 5"),
        ({"type": "boolean"}, "true or false"),
        ({"type": "array", "items": {"type": "string"}}, "a list"),
        ({"enum": ["a", "b"], "type": "string"}, 'one of "a", "b"'),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, "a value"),
    ],
)
def test_a_type_is_described_in_plain_words(field: dict[str, object], words: str) -> None:
    assert arguments.describe(field) == words


@pytest.mark.parametrize("text", ["[" * 100_000, '{"path": ' * 100_000, "1" * 100_000, "\x00", "\ud800"])
def test_hostile_text_is_refused_briefly(text: str) -> None:
    assert len(refusal(text)) < 800


@given(values=st.fixed_dictionaries({"path": st.text(), "more": JSON}), ascii_only=st.booleans(), part=st.data())
def test_every_cut_of_whole_arguments_is_told_to_be_cut_off(
    values: object, ascii_only: bool, part: st.DataObject
) -> None:
    whole = json.dumps(values, ensure_ascii=ascii_only)
    cut = whole[: part.draw(st.integers(1, len(whole) - 1))]
    assert "were cut off" in refusal(cut)


@given(text=st.text() | JSON.map(json.dumps) | JSON.map(json.dumps).map(json.dumps))
def test_any_text_is_read_or_refused_with_a_correct_call(text: str) -> None:
    try:
        outcome = json.dumps(arguments.parse(READ, text))
    except ToolError as error:
        outcome = str(error)
    assert '"path": ' in outcome


@given(
    path=st.text(st.characters(exclude_categories=["Cs"])),
    end_line=JSON.filter(lambda value: value is not None and not isinstance(value, bool)),
)
def test_whole_arguments_come_through_unchanged(path: str, end_line: object) -> None:
    text = json.dumps({"path": path, "end_line": end_line})
    assert json.dumps(arguments.parse(READ, text)) == text
