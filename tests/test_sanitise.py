"""What may reach a terminal or an editor, and in what form."""

import re
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from marvin_server.sanitise import Sanitiser, one_line, printable, revealed

# Pieces that mean something together, so that random texts hit the rules.
_PARTS = (
    *(
        "\x1b",
        "\x1b[",
        "\x1b[31m",
        "\x1b[0m",
        "\x1b]8;;https://evil.example\x1b\\",
        "\x9b",
        "\x9b1m",
        "\x07",
        "m",
        "0;",
        "3",
    ),
    *("\r", "\n", "\r\n", "\t", "\b", " ", "a", "é", "e\u0301", "\u0301", "\u0336", "\u20dd", "中", "。", "─"),
    *("\u200b", "\u200c", "\u200d", "\u202e", "\u2066", "\u200f", "\ufeff", "\u00ad", "\u2028", "\u3164", "\u034f"),
    *(
        "👩",
        "💻",
        "❤",
        "\ufe0f",
        "\ufe00",
        "🏽",
        "🏴",
        "\U000e0067",
        "\U000e0062",
        "\U000e0065",
        "\U000e007f",
        "\U000e0101",
    ),
    *("م", "ی", "ن", "क", "्", "ष", "\ud800", "\u00a0", "\u3000", "⟨", "⟩", "\ufffd", "1", "葛"),
)
texts = st.lists(st.sampled_from(_PARTS) | st.text(max_size=3)).map("".join)

_NEVER = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f"
    "\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\U000e0000\U000e0001]"
)
_NEVER_IN_A_DIFF = re.compile(f"{_NEVER.pattern}|[\u00a0\u200c\u200d\ufe00-\ufe0f\U000e0000-\U000e0fff]")


@given(texts)
def test_nothing_that_acts_or_hides_is_left(text: str) -> None:
    assert _NEVER.search(printable(text)) is None
    assert _NEVER_IN_A_DIFF.search(revealed(text)) is None


@given(texts)
def test_marks_do_not_pile_up(text: str) -> None:
    height = 0
    for char in printable(text):
        height = height + 1 if unicodedata.category(char) in ("Mn", "Me") else 0
        assert height <= 8


@given(texts)
def test_a_second_time_changes_nothing(text: str) -> None:
    assert printable(printable(text)) == printable(text)
    assert revealed(revealed(text)) == revealed(text)
    assert one_line(one_line(text)) == one_line(text)


@given(texts, st.lists(st.integers(0, 40)))
@example("\x1b[" + "1" * 64 + "m" + "\x1b[" + "1" * 65 + "m", list(range(40)))
@example("👩\u200d💻\r\n\x1b[1m🏴\U000e0067", [1, 1, 1, 1, 1, 1, 1, 1, 1])
def test_a_text_in_pieces_is_shown_as_the_whole(text: str, sizes: list[int]) -> None:
    stream, shown, start = Sanitiser(), "", 0
    for size in sizes:
        shown += stream.feed(text[start : start + size])
        start += size
    assert shown + stream.feed(text[start:]) + stream.flush() == printable(text)


@given(
    st.text(st.characters(codec="ascii", exclude_categories=["Cc"]) | st.sampled_from("\n\té漢字ひ한글яדא“”—…•─│😀€"))
)
def test_ordinary_text_is_not_touched(text: str) -> None:
    assert printable(text) == text
    assert revealed(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "👩\u200d💻 🏳\ufe0f\u200d🌈 👍🏽 👩🏽\u200d🚀 1\ufe0f\u20e3 ❤\ufe0f\u200d🔥 ⚠\ufe0f ℹ\ufe0f ㊗\ufe0f",
        "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
        "می\u200cخواهم",
        "क्\u200dष क्\u200cष",
        "Việt Nam, Vie\u0323\u0302t",
        "שָׁלוֹם עֲלֵיכֶם",
        "ภาษาไทยเป็นที่รู้",
        "葛\U000e0100城市",
        "naïve\u00a0café\u202f! 全角\u3000空白",
        "\ue0b0 main \uf126",
    ],
)
def test_what_a_script_or_an_emoji_needs_stays(text: str) -> None:
    assert printable(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x1b[2J\tb\n\x00\x9b\u202e\x7f", "a␛[2J\tb\n␀⟨U+009B⟩⟨U+202E⟩␡"),
        ("\x1b[1;31mred\x1b[0m \x9b38:5:1mred\x9bm", "red red"),
        ("\x1b]0;title\x07", "␛]0;title␇"),
        ("\x1b]52;c;ZXZpbA==\x1b\\", "␛]52;c;ZXZpbA==␛\\"),
        (
            "\x1b]8;;https://evil.example\x1b\\https://good.example\x1b]8;;\x1b\\",
            "␛]8;;https://evil.example␛\\https://good.example␛]8;;␛\\",
        ),
        ("\x1bP+q544e\x1b\\ \x1b_G\x1b\\ \x1b^pm\x1b\\ \x1bXsos\x1b\\", "␛P+q544e␛\\ ␛_G␛\\ ␛^pm␛\\ ␛Xsos␛\\"),
        ("\x9d52;c;x\x9c\x90q\x9c\x85", "⟨U+009D⟩52;c;x⟨U+009C⟩⟨U+0090⟩q⟨U+009C⟩⟨U+0085⟩"),
        ("\x1b", "␛"),
        ("\x1b[\x1b[0m0m", "␛[0m"),
        ("rm -rf /\rls -la  ", "rm -rf /␍ls -la  "),
        ("one\r\ntwo\r\r\n", "one\ntwo␍\n"),
        ("pass\b\b\b\bfail", "pass␈␈␈␈fail"),
        (
            "access = 'user\u202e \u2066// admin\u2069 \u2066'",
            "access = 'user⟨U+202E⟩ ⟨U+2066⟩// admin⟨U+2069⟩ ⟨U+2066⟩'",
        ),
        ("pay\u200bpal z\u200dz \u200c \ufeff so\u00adft", "pay⟨U+200B⟩pal z⟨U+200D⟩z ⟨U+200C⟩ ⟨U+FEFF⟩ so⟨U+00AD⟩ft"),
        ("hi\U000e0068\U000e0069", "hi⟨U+E0068⟩⟨U+E0069⟩"),
        ("🏴\U000e0067\U000e0062\U000e0062", "🏴\U000e0067\U000e0062⟨U+E0062⟩"),
        ("😀\ufe0f\ufe01\ufe02\U000e0141", "😀\ufe0f⟨U+FE01⟩⟨U+FE02⟩⟨U+E0141⟩"),
        ("a\ufe0f", "a⟨U+FE0F⟩"),
        ("x = \u3164; \uffa0 \u115f \u1160", "x = ⟨U+3164⟩; ⟨U+FFA0⟩ ⟨U+115F⟩ ⟨U+1160⟩"),
        ("one\u2028two\u2029three", "one⟨U+2028⟩two⟨U+2029⟩three"),
        ("\ud83d", "⟨U+D83D⟩"),
        ("z" + "\u0335" * 20, "z" + "\u0335" * 8 + "\ufffd" + "\u0335" * 8 + "\ufffd" + "\u0335" * 2),
    ],
)
def test_a_trick_is_seen(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_what_a_person_decides_on_hides_nothing_at_all() -> None:
    assert revealed("é 👩\u200d💻 ⚠\ufe0f می\u200cخواهم a\u00a0b\r\n\x1b[1mx") == (
        "é 👩⟨U+200D⟩💻 ⚠⟨U+FE0F⟩ می⟨U+200C⟩خواهم a⟨U+00A0⟩b␍\n␛[1mx"
    )
    assert revealed("rm\u3000-r\u2800x") == "rm⟨U+3000⟩-r⟨U+2800⟩x"
    assert printable("漢\u3000字 \u2800") == "漢\u3000字 \u2800"


def test_a_line_is_one_line() -> None:
    assert one_line("a\n\n b\x07  c\x1b[0m") == "a b␇ c"
    assert one_line("x" * 50, limit=10) == "x" * 9 + "…"
    assert one_line("a\u2028b\x85c\x0bd") == "a⟨U+2028⟩b⟨U+0085⟩c␋d"


def test_a_stream_waits_only_for_what_may_go_on() -> None:
    stream = Sanitiser()
    assert [stream.feed(piece) for piece in ("a\x1b", "[3", "1mb", "\r", "c", "👩", "\u200d", "x", "\x1b]0;")] == [
        *("a", "", "b", "", "␍c", "👩", "", "⟨U+200D⟩x", "␛]0;"),
    ]
    assert stream.feed("\x1b[" + "1" * 64) == ""
    assert stream.flush() == "␛[" + "1" * 64
    assert stream.flush() == ""


def test_ordinary_text_is_the_same_object() -> None:
    text = "Hello, wörld 漢字\n"
    assert printable(text) is text


def test_of_the_characters_that_have_no_shape_none_passes_alone() -> None:
    """Unicode's Default_Ignorable_Code_Point, by DerivedCoreProperties of Unicode 16."""
    ranges = [(0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F)]
    ranges += [
        (0x200B, 0x200F),
        (0x202A, 0x202E),
        (0x2060, 0x206F),
        (0x3164, 0x3164),
        (0xFE00, 0xFE0F),
        (0xFEFF, 0xFEFF),
    ]
    ranges += [(0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF)]
    shapeless = [chr(code) for first, last in ranges for code in range(first, last + 1)]
    assert [char for char in shapeless if printable(char) == char or revealed(char) == char] == []


def test_every_character_that_has_a_shape_passes_alone() -> None:
    unseen = {"Cc", "Cf", "Cs", "Cn", "Zl", "Zp", "Zs", "Mn", "Me"}
    fillers = {0x115F, 0x1160, 0x3164, 0xFFA0}
    shaped = [
        chr(code) for code in range(0x110000) if unicodedata.category(chr(code)) not in unseen and code not in fillers
    ]
    assert [char for char in shaped if printable(char) != char] == []
    # The braille pattern without a dot has a shape by its category, and nothing to be seen.
    assert [char for char in shaped if revealed(char) != char] == ["\u2800"]
