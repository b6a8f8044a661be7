"""What really ran when bash read a command is a subset of what was foreseen, or there was a problem (so it asks)."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marvin_server.agent.shell.running import parse
from tests.agent.shell.commands import COMMANDS
from tests.agent.shell.real_bash import RealBash, foreseen

_LEAVES = st.sampled_from(
    [
        *("a", "b", "'c d'", '"e f"', "g\\ h", "$'x\\ty'", "\\$x", "'$(evil)'", '"\\$(evil)"', "{}", "x=y", "-n", "--"),
        *("$x", '"$y"', "${x:-z}", "*", "~", "{a,b}", "$((1+2))", "x#y", '"#"', "'a;b'", '"c|d"', "é", "''", '""'),
    ]
)


def _extended(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Commands made of commands."""
    word = st.one_of(
        _LEAVES,
        inner.map(lambda text: f"$({text})"),
        inner.map(lambda text: f'"$({text})"'),
        inner.map(lambda text: f"<({text})"),
        inner.map(lambda text: "'" + text.replace("'", "'\\''") + "'"),
        st.tuples(_LEAVES, _LEAVES).map("".join),
    )
    simple = st.tuples(st.sampled_from(["a", "b", "evil", "r\\m", '"ls"', "git"]), st.lists(word, max_size=3)).map(
        lambda parts: " ".join([parts[0], *parts[1]])
    )
    pair = st.tuples(inner, inner)
    return st.one_of(
        simple,
        pair.flatmap(
            lambda two: st.sampled_from([" | ", "; ", " && ", " || ", "\n", " & ", " |& ", "|", ";", "&&", "\n\n"]).map(
                lambda operator: operator.join(two)
            )
        ),
        inner.flatmap(
            lambda text: st.sampled_from(
                [
                    *(
                        "({0})",
                        "( {0} )",
                        "{{ {0}; }}",
                        "{{ {0}\n}}",
                        "! {0}",
                        "if {0}; then b; fi",
                        "f() {{ {0}; }}; f",
                    ),
                    *("while {0}; do break; done", "for x in 1 2; do {0}; done", "case x in x) {0};; *) b;; esac"),
                    *("{0} > out", "{0} 2>&1", "{0} < file", "env {0}", "timeout 5 {0}", "command {0}", "xargs {0}"),
                    *("{{ {0}; }} > out", "{0} # it's", "cat <<EOF\n$({0})\nEOF", "cat <<'EOF' && a\n{0}\nEOF"),
                    *("eval '{0}'", "bash -c '{0}'", 'sh -c "{0}"', "find . -name file -exec {0} \\;", "time {0}"),
                    *(
                        '{0} <<< "$(b)"',
                        "[[ -f file ]] && {0}",
                        "a \\\n  {0}",
                        "nice {0} &",
                        "a <<-E | b\n\t{0}\n\tE\n{0}",
                    ),
                ]
            ).map(lambda form: form.format(text))
        ),
    )


_TEXTS = st.recursive(_LEAVES.map(lambda word: f"a {word}"), _extended, max_leaves=8)


@pytest.fixture(scope="module")
def bash(tmp_path_factory: pytest.TempPathFactory) -> RealBash:
    return RealBash(tmp_path_factory.mktemp("bash"))


@pytest.mark.parametrize("text", COMMANDS)
def test_nothing_runs_that_was_not_foreseen(bash: RealBash, text: str) -> None:
    parsed = parse(text)
    if parsed.problem is None:
        assert [argv for argv in bash.calls(text) if not foreseen(parsed, argv)] == []


@given(text=_TEXTS)
def test_nothing_runs_in_made_up_commands_that_was_not_foreseen(bash: RealBash, text: str) -> None:
    parsed = parse(text)
    if parsed.problem is None:
        assert [argv for argv in bash.calls(text) if not foreseen(parsed, argv)] == []


@settings(max_examples=300)
@given(text=st.text(st.sampled_from("ab \n\t'\"\\$(){}[]<>|&;#`!*~=-1"), max_size=12).map(lambda text: f"a {text}"))
def test_nothing_runs_in_random_characters_that_was_not_foreseen(bash: RealBash, text: str) -> None:
    parsed = parse(text)
    if parsed.problem is None:
        assert [argv for argv in bash.calls(text) if not foreseen(parsed, argv)] == []


@given(text=st.text())
def test_no_text_raises(text: str) -> None:
    parse(text)


def test_the_commands_are_many_and_most_are_understood() -> None:
    understood = [text for text in COMMANDS if parse(text).problem is None]
    assert len(COMMANDS) > 500
    assert len(understood) > len(COMMANDS) / 2


def test_the_log_sees_what_runs(bash: RealBash) -> None:
    assert bash.calls("a 'b c' \"\" | x $(echo d); env git status") == {("a", "b c", ""), ("x", "d"), ("git", "status")}


def test_a_script_that_a_shell_is_given_as_a_file_is_not_looked_into(bash: RealBash, tmp_path: Path) -> None:
    """The person sees it instead: see test_scripts."""
    assert ("evil", "from", "file") in bash.calls("bash file")
    assert parse("bash file").problem is None
