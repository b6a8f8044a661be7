from hypothesis import given
from hypothesis import strategies as st
from marvin_cli.thoughts import Thoughts

from marvin_server.events import Event, MessageDelta, ThoughtDelta, ThoughtFinished

END = ThoughtFinished("m", "")


def shown(*events: Event, dim: bool = False) -> list[str]:
    lines: list[str] = []
    thoughts = Thoughts(lambda: lines.append("(begin)"), lines.append, dim=dim)
    for event in events:
        thoughts.show(event)
    return lines


def thought(*pieces: str) -> list[Event]:
    return [ThoughtDelta("m", piece) for piece in pieces]


def test_each_block_begins_with_a_mark_and_goes_on_indented() -> None:
    assert shown(*thought("Let me ", "see.\n\nTwo", " files."), END, *thought("So"), MessageDelta("m", "Yes")) == [
        "(begin)",
        "💭 Let me see.",
        "   Two files.",
        "(begin)",
        "💭 So",
    ]


def test_a_line_is_shown_as_soon_as_it_is_whole() -> None:
    assert shown(*thought("One\nTwo")) == ["(begin)", "💭 One"]
    assert shown(*thought("word " * 25)) == ["(begin)", "💭 " + "word " * 19 + "word"]


def test_nothing_in_a_thought_acts_on_a_terminal() -> None:
    assert shown(*thought("a\x1b]0;x", "b\rc"), END) == ["(begin)", "💭 a␛]0;xb␍c"]
    assert shown(*thought("a"), END, dim=True) == ["(begin)", "\x1b[2m💭 a\x1b[0m"]


@given(st.lists(st.text(st.sampled_from("ab \n"), max_size=150)))
def test_every_word_is_shown_once_whatever_the_pieces(pieces: list[str]) -> None:
    lines = shown(*thought(*pieces), END)
    assert lines == shown(*thought("".join(pieces)), END)
    text = "".join(line[3:] if line.startswith("   ") else line[2:] for line in lines if line != "(begin)")
    assert text.replace(" ", "") == "".join(pieces).replace(" ", "").replace("\n", "")
    assert all(len(line) <= 103 for line in lines)


@given(st.text(st.sampled_from("a\u0301\u200d👨👩\x1b[1m\r\n"), max_size=40))
def test_however_a_thought_is_cut_the_same_is_shown(text: str) -> None:
    assert shown(*thought(*text), END) == shown(*thought(text), END)


def test_empty_thoughts_show_nothing() -> None:
    assert shown(*thought("", "\n", "  "), END) == []
