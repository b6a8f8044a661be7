"""Contents that were kept in different places are written alike, and nothing of their lines changes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marvin_server.edits.lines import split
from marvin_server.workspace.checkpoint_texts import alike, kept_text, text_of

OLD, NEW = "café\ntwo\n", "café\n2\n"
LINES = st.lists(st.sampled_from(["a", "café", "", "€ 5", "x y"]), max_size=5)
ENDS = st.sampled_from(["\n", "\r\n"])


@pytest.mark.parametrize("encoding", ["latin-1", "utf-8", "utf-8-sig"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_what_an_editor_had_is_written_as_the_file_is(encoding: str, line_end: str) -> None:
    on_disk = [text.replace("\n", line_end).encode(encoding) for text in (NEW, OLD)]
    in_editor = [kept_text(text, "a") for text in (NEW, OLD)]
    assert list(alike(on_disk[0], *in_editor, is_open=False)) == on_disk
    assert list(alike(in_editor[0], *on_disk, is_open=True)) == in_editor


@pytest.mark.parametrize(
    ("now", "made", "before", "expected"),
    [
        (b"a\nb\n", b"a\nb", b"a", (b"a\nb\n", b"a\n")),
        (b"a\nb", b"a\nb\n", b"a\n", (b"a\nb", b"a")),
        (b"a\nb\n\n", b"a\nb\n", b"a", (b"a\nb\n\n", b"a\n")),
        (b"a\r\nb\r\n", b"a\nb", b"a", (b"a\r\nb\r\n", b"a\r\n")),
        (b"a\nb\n", b"a\nb", b"", (b"a\nb\n", b"")),
        (b"", b"a\n", b"a", (b"a\n", b"a")),
        (b"5 \x80\n2\n", b"5 \xe2\x82\xac\n2\n", b"5 \xe2\x82\xac\n", (b"5 \xe2\x82\xac\n2\n", b"5 \xe2\x82\xac\n")),
        (b"a\0b", b"a\0", b"\0", (b"a\0", b"\0")),
    ],
)
def test_what_was_made_and_what_was_before_change_alike(
    now: bytes, made: bytes, before: bytes, expected: tuple[bytes, bytes]
) -> None:
    assert alike(now, made, before, is_open=False) == expected


def test_line_ends_and_an_encoding_that_the_change_itself_has_made_stay_its_change() -> None:
    made, before = NEW.encode(), OLD.replace("\n", "\r\n").encode("latin-1")
    assert alike(made + b"more\n", made, before, is_open=False) == (made, before)


@given(LINES, LINES, LINES, ENDS, ENDS, st.booleans())
def test_no_line_becomes_another(
    now: list[str], made: list[str], before: list[str], end: str, other_end: str, is_open: bool
) -> None:
    contents = [end.join(now), other_end.join(made), other_end.join(before)]
    new = alike(*(kept_text(text, "a") for text in contents), is_open=is_open)
    for was, is_now in zip(contents[1:], new, strict=True):
        lines = [[line.rstrip("\r\n") for line in split(text)] for text in (was, text_of(is_now, "a"))]
        assert [line for line in lines[0] if line] == [line for line in lines[1] if line]
