"""Markdown while it is being written."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from marvin_cli.view.cells import Line, width, wrapped
from marvin_cli.view.markdown import Markdown

PAGE = """# A title

A paragraph with **bold**, `code` and a [link](http://example.org/a_b),
which goes on.

- one
  - nested
- [x] done

1. first

   ```python
   def f(x):
       '''Two
       lines'''
   ```

> quoted
> > deeper

| Name | Size |
|:-----|-----:|
| `a|b` | 12 |
| 日本 | 3 |

~~~
no language
~~~
    indented code

Heading
=======
***
The end\twith a tab"""


def lines(text: str, columns: int = 80) -> list[Line]:
    """The whole of a finished text."""
    markdown = Markdown(lambda: columns)
    return [*markdown.feed(text), *markdown.end()]


def texts(text: str, columns: int = 80) -> list[str]:
    """The same as it is seen."""
    return ["".join(words for _, words in row) for line in lines(text, columns) for row in wrapped(line, columns)]


@given(st.lists(st.integers(0, len(PAGE)), max_size=20))
def test_however_a_text_arrives_it_is_shown_the_same(cuts: list[int]) -> None:
    edges = sorted({0, *cuts, len(PAGE)})
    markdown = Markdown(lambda: 80)
    shown: list[Line] = []
    for start, end in pairwise(edges):
        shown += markdown.feed(PAGE[start:end])
        markdown.rest()
    assert [*shown, *markdown.end()] == lines(PAGE)


@given(st.text(st.sampled_from("ab *_`~>#-+1.|[]()\\\n\t日é:"), max_size=120), st.integers(8, 60))
def test_any_text_ends_and_stays_within_the_columns(text: str, columns: int) -> None:
    markdown = Markdown(lambda: columns)
    for start in range(0, len(text), 7):
        markdown.feed(text[start : start + 7])
        markdown.rest()
    for line in [*markdown.end(), *lines(text, columns)]:
        assert "\n" not in line.text
        assert all(width("".join(words for _, words in row)) <= columns for row in wrapped(line, columns))


def test_a_line_of_code_is_final_at_its_end() -> None:
    markdown = Markdown(lambda: 80)
    assert [line.text for line in markdown.feed("```py\nx = 1\ny =")] == ["─── py", "x = 1"]
    assert [line.text for line in markdown.rest()] == ["y =", "───"]


def test_a_string_over_several_lines_is_one_string() -> None:
    coloured = lines('```python\n"""one\ntwo"""\n```')
    assert [line.fragments for line in coloured[1:3]] == [(("code.string", '"""one'),), (("code.string", 'two"""'),)]


def test_code_in_no_known_language_is_shown_as_it_is() -> None:
    assert texts("```klingon\n  qapla'  \n```") == ["─── klingon", "  qapla'  ", "───"]


def test_a_table_gives_way_where_the_terminal_is_narrow() -> None:
    page = "| a | b |\n|---|--:|\n| a long cell that needs room | 12 |\n"
    assert texts(page, 20) == [
        "a               │  b",
        "────────────────┼───",
        "a long cell     │ 12",
        "that needs room │ ",
    ]
    assert texts(page) == [
        "a                           │  b",
        "────────────────────────────┼───",
        "a long cell that needs room │ 12",
    ]


def test_wide_characters_are_broken_between_and_counted_twice() -> None:
    assert texts("日本語の文章です", 9) == ["日本語の", "文章です"]
    assert texts("a 👨‍👩‍👧 family, e\u0301toile", 10) == ["a 👨‍👩‍👧", "family,", "e\u0301toile"]


def test_lists_and_quotes_go_on_beneath_their_text() -> None:
    assert texts("- some words that go on", 14) == ["• some words", "  that go on"]
    assert texts("> some words that go on", 14) == ["│ some words", "│ that go on"]
    assert texts("10. some words that go on", 16) == ["10. some words", "    that go on"]


def test_a_link_shows_where_it_leads() -> None:
    assert texts("[here](http://example.org/x) and <http://example.org>") == [
        "here (http://example.org/x) and http://example.org"
    ]


def test_a_very_long_paragraph_is_shown_as_it_is() -> None:
    assert "".join(texts("*a* " * 6000)).startswith("*a* *a*")
