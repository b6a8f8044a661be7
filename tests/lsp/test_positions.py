"""Columns in the three encodings, against the codecs themselves."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marvin_server.lsp import positions

CODECS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}
LINES = st.text(st.sampled_from("ab é€😀𝄞\r\t"), max_size=12)


@pytest.mark.parametrize("encoding", CODECS)
@given(line=LINES)
def test_every_character_is_found_again_by_its_column(encoding: str, line: str) -> None:
    codec, size = CODECS[encoding]
    for at in range(len(line) + 1):
        column = len(line[:at].encode(codec)) // size
        assert positions.units(line[:at], encoding) == column
        assert positions.index(line, column, encoding) == at


@pytest.mark.parametrize("encoding", CODECS)
def test_a_column_past_the_end_is_the_end(encoding: str) -> None:
    assert [positions.index(line, 99, encoding) for line in ("", "abc", "a😀é")] == [0, 3, 3]


def test_a_column_within_a_character_is_its_beginning() -> None:
    assert [positions.index("a😀b", column, "utf-16") for column in range(5)] == [0, 1, 1, 2, 3]
    assert [positions.index("a😀b", column, "utf-8") for column in range(7)] == [0, 1, 1, 1, 1, 2, 3]
