"""Programs such as ``env`` that run the command in their own words: where in these words it begins."""

import itertools
import re
from collections.abc import Mapping, Sequence

from msgspec import Struct

from marvin_server.agent.shell.words import Word

_UNKNOWN = Word("…", None, "")


class _Options(Struct, frozen=True):
    """A wrapper's own words: ``flags`` stand alone, ``valued`` take the next word, ``joined`` hold their value in the
    same word, ``arguments`` words follow the options. ``problem`` is what such a program does besides."""

    flags: frozenset[str] = frozenset()
    valued: frozenset[str] = frozenset()
    joined: str = r"(?!)"
    arguments: int = 0
    problem: str | None = None


_WRAPPERS: Mapping[str, _Options] = {
    "command": _Options(frozenset({"-p"})),
    "builtin": _Options(),
    "exec": _Options(frozenset({"-c", "-l", "-cl"}), frozenset({"-a"})),
    "env": _Options(
        frozenset({"-", "-i", "--ignore-environment", "-0", "--null"}),
        frozenset({"-u", "--unset", "-C", "--chdir"}),
        r"--(?:unset|chdir)=.*|-[uC].+|[^-=]+=.*",
    ),
    "nice": _Options(frozenset(), frozenset({"-n", "--adjustment"}), r"-n-?\d+|--?\d+|--adjustment=-?\d+"),
    "nohup": _Options(),
    "setsid": _Options(frozenset({"-c", "-f", "-w", "--ctty", "--fork", "--wait"})),
    "stdbuf": _Options(frozenset(), frozenset({"-i", "-o", "-e"}), r"-[ioe][L\d]\w*|--(?:input|output|error)=\w+"),
    "ionice": _Options(frozenset({"-t"}), frozenset({"-c", "-n"}), r"-[cn]\d"),
    "time": _Options(frozenset({"-p", "-v"})),
    "timeout": _Options(
        frozenset({"--foreground", "--preserve-status", "-v", "--verbose"}),
        frozenset({"-k", "-s", "--kill-after", "--signal"}),
        r"--(?:kill-after|signal)=\w+|-[ks][\w.]+",
        1,
    ),
    "sudo": _Options(
        frozenset({"-n", "-E", "-H", "-S", "-k", "-b", "-A"}),
        frozenset({"-u", "-g", "-p", "-C", "-h", "-r", "-t"}),
        r"[^-=]+=.*",
        problem="runs as another user",
    ),
    "doas": _Options(frozenset({"-n"}), frozenset({"-u", "-C"}), problem="runs as another user"),
    "xargs": _Options(
        frozenset({"-0", "-r", "-t", "-x", "--null", "--no-run-if-empty", "--verbose", "-p", "-o"}),
        frozenset({"-n", "-L", "-P", "-s", "-d", "-I", "-a", "-E"}),
        r"-[nLPs]\d+|-I\S+|-d.+|--(?:max-args|max-procs|max-lines|delimiter)=.+|-i|-0r|-r0",
    ),
}


class Unwrapped(Struct, frozen=True):
    """The ``words`` of the command that a wrapper runs (none: it runs nothing), and what is a ``problem`` with it."""

    words: tuple[Word, ...]
    problem: str | None = None


def unwrapped(name: str, words: Sequence[Word]) -> Unwrapped | None:
    """What the command ``words``, whose program is called ``name``, runs; None when that is no wrapper."""
    options = _WRAPPERS.get(name)
    if options is None:
        return None
    if name == "command" and len(words) > 1 and words[1].value in {"-v", "-V"}:
        return Unwrapped(())
    at = _end_of_options(options, words)
    ends = range(at, at + options.arguments)
    if at < len(words) and words[at].value is None and may_be_option(words[at]):
        return Unwrapped((), f"has an argument of {name} that only bash can tell")
    if any(index >= len(words) or words[index].value is None for index in ends):
        return Unwrapped((), f"has an argument of {name} that only bash can tell")
    at = ends.stop
    inner = tuple(words[at:])
    if inner and (inner[0].value or "").startswith("-"):
        return Unwrapped((), f"has an option of {name} that is not understood: {inner[0].value}")
    problem = options.problem
    if name == "env" and any(word.value != "--" for word in words[1:at]):
        problem = "changes the environment"
    if name == "xargs":
        inner = _with_arguments(words[1:at], inner)
    return Unwrapped(inner, problem)


def may_be_option(word: Word) -> bool:
    """Whether a word that only bash can tell may begin with a dash, or vanish."""
    return not word.known or word.known.startswith("-")


def hidden(word: Word, marks: set[str]) -> Word:
    """``word`` in which the program puts something in the place of each of ``marks``."""
    places = [word.known.find(mark) for mark in marks if mark in word.known]
    return Word(word.text, None, word.known[: min(places)]) if places else word


def _end_of_options(options: _Options, words: Sequence[Word]) -> int:
    """The place of the first word, after the wrapper's name, that is not its own option."""
    at = 1
    while at < len(words) and (value := words[at].value) is not None:
        if value == "--":
            return at + 1
        if value in options.valued:
            at += 2
        elif value in options.flags or re.fullmatch(options.joined, value, re.DOTALL):
            at += 1
        else:
            break
    return min(at, len(words))


def _with_arguments(options: Sequence[Word], inner: tuple[Word, ...]) -> tuple[Word, ...]:
    """The command of xargs, echo by default: arguments come after it, or in the place of a mark."""
    values = [word.value or "" for word in options]
    marks = {value for option, value in itertools.pairwise(values) if option == "-I"}
    marks |= {value[2:] or "{}" for value in values if value.startswith(("-I", "-i")) and value != "-I"}
    inner = inner or (Word("echo", "echo", "echo"),)
    return tuple(hidden(word, marks) for word in inner) if marks else (*inner, _UNKNOWN)
