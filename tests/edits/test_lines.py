"""Lines and their ends."""

import pytest

from marvin_server.edits.lines import alike


@pytest.mark.parametrize(
    ("text", "other", "same"),
    [
        ("one\ntwo\n", "one\ntwo", True),
        ("one\ntwo\n", "one\ntwo\n\n", True),
        ("one\r\ntwo", "one\ntwo\n", True),
        ("one\rtwo\n", "one\ntwo\n", True),
        ("", "\n", True),
        ("\r\n", "", True),
        ("one\n\n", "one", False),
        ("one\n", "on\n", False),
        ("\none", "one", False),
    ],
)
def test_texts_are_alike_when_line_ends_are_all_that_differs(text: str, other: str, *, same: bool) -> None:
    assert (alike(text, other), alike(other, text)) == (same, same)
