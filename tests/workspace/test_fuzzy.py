"""Paths are found by a few of their letters."""

from hypothesis import given
from hypothesis import strategies as st

from marvin_server.workspace.fuzzy import Paths

NAMES = st.lists(st.text("abAB.é/", min_size=1, max_size=8).filter(lambda name: not name.startswith("/")), unique=True)


def strewn(letters: str, path: str) -> bool:
    """Whether the letters come in this order."""
    rest = iter(path.lower())
    return all(letter in rest for letter in letters.lower())


def test_the_best_come_first() -> None:
    wanted = ["main.py", "Main/", "src/main.c", "domain.py", "main/x.py", "my/alpha/inn.py"]
    others = ["src/app.py", "nope"]
    assert Paths.of([*others, *reversed(wanted)]).best("main", 10) == [
        "Main/",
        "main.py",
        "src/main.c",
        "domain.py",
        "main/x.py",
        "my/alpha/inn.py",
    ]


def test_no_letters_mean_what_is_at_the_top() -> None:
    assert Paths.of(["src/a.py", "src/", "b.py"]).best("", 10) == ["b.py", "src/"]


def test_a_path_with_a_line_end_is_left_out() -> None:
    assert Paths.of(["a\nb", "ab"]).best("a", 10) == ["ab"]
    assert Paths.of(["ab"]).best("a\nb", 10) == []


def test_among_very_many_the_best_come_first_too() -> None:
    many = [f"folder{number}/x_main_{number}.py" for number in range(5_000)]
    assert Paths.of([*many, "deep/down/somewhere/main_part_of_all.py"]).best("main", 2) == [
        "deep/down/somewhere/main_part_of_all.py",
        "folder0/x_main_0.py",
    ]


@given(NAMES, st.text("abAB.é/", min_size=1, max_size=3))
def test_exactly_those_are_found_in_which_the_letters_are_strewn(names: list[str], letters: str) -> None:
    assert sorted(Paths.of(names).best(letters, len(names) + 1)) == sorted(n for n in names if strewn(letters, n))
