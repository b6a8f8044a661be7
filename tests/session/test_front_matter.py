"""The lines between two ``---`` at the start of a Markdown file."""

import time

import pytest

from marvin_server.session.front_matter import read


@pytest.mark.parametrize(
    ("text", "fields", "body"),
    [
        ("# Title\n", {}, "# Title\n"),
        ("---\nname: a\n---\nText\n", {"name": "a"}, "Text\n"),
        ("---\r\nname: a\r\n---\r\nText\r\n", {"name": "a"}, "Text\n"),
        ("---\nname: 'it''s'\ndescription: \"a \\\"b\\\"\"\n---\n", {"name": "it's", "description": 'a "b"'}, ""),
        (
            "---\ndescription: >\n  one\n  two\n\n  three\nname: a\n---\n",
            {"description": "one two three", "name": "a"},
            "",
        ),
        ("---\ndescription: |-\n  one\n  two\n---\n", {"description": "one two"}, ""),
        ("---\ndescription: one\n  two # not a comment?\n---\n", {"description": "one two"}, ""),
        ("---\nname: a # why\nurl: http://x#y\n---\n", {"name": "a", "url": "http://x#y"}, ""),
        ("---\nmetadata:\n  author: me\nlist:\n- one\n---\n", {"metadata": "author: me", "list": ""}, ""),
        ("---\nname: a\n", {}, "---\nname: a\n"),
        ("---\n---\nText", {}, "Text"),
    ],
)
def test_fields_are_read_as_people_write_them(text: str, fields: dict[str, str], body: str) -> None:
    assert read(text, 100) == (fields, body)


def test_a_value_is_one_harmless_line_of_bounded_length() -> None:
    assert read(f"---\nname: \x1b[2Ja\n  b\nlong: {'x' * 200}\n---\n", 20)[0] == {
        "name": "␛[2Ja b",
        "long": f"{'x' * 19}…",
    }


def test_a_long_run_of_spaces_takes_no_time() -> None:
    began = time.process_time()
    fields, _ = read(f"---\ndescription: a{' ' * 100_000}b\n---\n", 100)
    assert fields["description"].startswith("a")
    assert time.process_time() - began < 1
