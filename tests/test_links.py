"""Links whose text lies."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marvin_server.links import honest_links

_PARTS = (
    *(
        "[",
        "]",
        "(",
        ")",
        "<",
        ">",
        ": ",
        "\n",
        " ",
        '"t"',
        "!",
        "`",
        "⟨goes to evil.example⟩",
        " ⟨goes to good.example⟩",
    ),
    *(
        "https://good.example",
        "https://evil.example",
        "//evil.example",
        "good.example",
        "mailto:a@evil.example",
        "а.example",
    ),
)


@pytest.mark.parametrize(
    "text",
    [
        "[click here](https://evil.example)",
        "[https://good.example/a](https://www.good.example/a)",
        "[https://good.example/?q=other.example](https://good.example)",
        "[the docs at docs.python.org](https://docs.python.org/3/)",
        "[README.md](https://github.com/a/b/README.md), [setup.sh](scripts/setup.sh), [node.js](https://nodejs.org)",
        "[me@good.example](mailto:me@good.example)",
        "![a picture](https://good.example/a.png)",
        "row[foo.bar](baz.io) and list[0][1]",
        "[1]: https://good.example\nsee [good.example][1]",
        "no link: https://good.example and <https://good.example>",
    ],
)
def test_an_honest_link_is_not_touched(text: str) -> None:
    assert honest_links(text) == text


@pytest.mark.parametrize(
    ("link", "target"),
    [
        ("[https://good.example](https://evil.example)", "evil.example"),
        ("[good.example](https://evil.example/good.example)", "evil.example"),
        ("[good.example/login](//evil.example)", "evil.example"),
        ("[WWW.Good.Example](https://evil.example)", "evil.example"),
        ("[`https://good.example`](<https://evil.example> 'https://good.example')", "evil.example"),
        ("[https://good.example](https://good.example@evil.example/)", "evil.example"),
        ("[https://good.example](https://good.example.evil.example/)", "good.example.evil.example"),
        ("[https://good.example](/elsewhere)", "/elsewhere"),
        ("[https://good.example](javascript:alert)", "javascript:alert"),
        ("[me@good.example](mailto:me@evil.example)", "evil.example"),
        ("![https://good.example](https://evil.example/a.png)", "evil.example"),
        ("[https://a.example, https://b.example](https://b.example)", "b.example"),
        ("[https://apple.example](https://xn--pple-43d.example)", "xn--pple-43d.example"),
    ],
)
def test_a_link_that_lies_is_followed_by_where_it_goes(link: str, target: str) -> None:
    assert honest_links(f"See {link}.") == f"See {link} ⟨goes to {target}⟩."


def test_links_by_reference_are_followed_to_their_definition() -> None:
    text = "[https://good.example][R] and [good.example][] and [good.example]\n\n"
    definitions = "[r]: https://evil.example\n[good.example]: <https://evil.example>\n"
    note = " ⟨goes to evil.example⟩"
    assert honest_links(text + definitions) == (
        f"[https://good.example][R]{note} and [good.example][]{note} and [good.example]{note}\n\n{definitions}"
    )


def test_a_false_note_is_answered_by_a_true_one() -> None:
    lie = "[https://good.example](https://evil.example)"
    assert honest_links(f"{lie} ⟨goes to good.example⟩") == f"{lie} ⟨goes to evil.example⟩ ⟨goes to good.example⟩"


def test_hosts_that_may_look_like_others_are_spelt_out() -> None:
    assert honest_links("https://аpple.com/ü?ü [x](http://bücher.example:80/ü)") == (
        "https://xn--pple-43d.com/ü?ü [x](http://xn--bcher-kva.example:80/ü)"
    )


def test_what_is_too_long_for_a_name_of_a_host_is_spelt_out_character_by_character() -> None:
    assert honest_links(f"https://me:{'x' * 70}@аpple.com") == f"https://me:{'x' * 70}@xn--pple-43d.com"
    assert honest_links(f"https://а{'x' * 70}.com") == f"https://\\u0430{'x' * 70}.com"


@pytest.mark.parametrize(
    "text",
    [
        "[a](" + " " * 1_000_000,
        "[a](x" + " \n" * 500_000,
        "[a](x 't'" + " " * 1_000_000,
        "[a](" * 250_000,
        "[a]((b)" * 140_000,
        "[a](x '" * 140_000,
        "[" * 1_000_000,
        "[a]: (b" * 140_000,
        "https://" + "".join(chr(0x4E00 + number % 20_000) for number in range(330_000)),
        "https://a" + "\u0301\u0316" * 250_000,
        "[good.example](//a" + "\u0301\u0316" * 250_000 + ")",
    ],
    ids=lambda text: ascii(text[:16]),
)
def test_a_hostile_megabyte_is_read_through_in_time(text: str) -> None:
    started = time.process_time()
    honest_links(text)
    assert time.process_time() - started < 3


@given(st.lists(st.sampled_from(_PARTS)).map("".join))
def test_a_second_time_changes_nothing(text: str) -> None:
    assert honest_links(honest_links(text)) == honest_links(text)


@given(st.text())
def test_any_text_can_be_looked_at(text: str) -> None:
    honest_links(text)
