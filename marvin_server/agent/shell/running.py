"""All that a bash text runs: its simple commands, what those run in turn, and what nobody can tell before."""

import re
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from marvin_server.agent.shell.statements import RESERVED
from marvin_server.agent.shell.subcommands import Parsed, Subcommand
from marvin_server.agent.shell.syntax import read
from marvin_server.agent.shell.words import Word
from marvin_server.agent.shell.wrappers import hidden, may_be_option, unwrapped

INTERPRETERS = re.compile(
    r"(python|pypy)[\d.]*|perl[\d.]*|ruby[\d.]*|node|nodejs|deno|bun|php[\d.]*|lua[\d.]*|Rscript|R|tclsh[\d.]*|wish|"
    r"osascript|pwsh|powershell|bash|sh|dash|zsh|ksh|mksh|fish|ash|rbash|yash|csh|tcsh"
)
_DEEPEST = 4
_MOST = 500
_SHELLS = frozenset({"bash", "sh", "dash"})
_BASH_ONLY = re.compile(r"\$'|&>|\|&|<<<|[<>]\(|\[\[|\(\(|\b(?:function|select|coproc|time)\b|(?<!\$)\{(?![\s}])")
_SHELL_OPTIONS = re.compile(r"-[eux]+c?|-c")
# Builtins that change how later commands are found or read, or run text that nobody sees here.
_CHANGES_SHELL = frozenset(
    {
        *("set", "shopt", "trap", ".", "source", "enable", "hash", "alias", "unalias", "export", "declare", "typeset"),
        *("local", "readonly", "unset", "let", "mapfile", "readarray", "getopts", "bind", "complete", "compgen"),
        *("compopt", "history", "fc", "caller", "coproc"),
    }
)
# Programs that run others in ways that are not looked into.
_OPAQUE = frozenset(
    {
        *("watch", "parallel", "flock", "script", "su", "runuser", "pkexec", "chroot", "unshare", "nsenter", "bwrap"),
        *("systemd-run", "strace", "ltrace", "gdb", "firejail", "proot", "fakeroot", "expect", "at", "batch"),
        *("crontab", "start-stop-daemon", "dbus-run-session", "xvfb-run", "unbuffer", "entr", "run-parts", "chpst"),
        *("zsh", "ksh", "mksh", "fish", "ash", "csh", "tcsh", "rbash", "yash", "busybox", "toybox"),
    }
)
# Letters of options with which a builtin evaluates a name, and so runs what stands in its subscript.
_EVALUATES = {"printf": "v", "test": "vR", "[": "vR", "wait": "p", "jobs": "x"}
_FIND_RUNS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_FIND_WRITES = frozenset({"-fprint", "-fprint0", "-fprintf", "-fls"})


def parse(text: str, depth: int = 0) -> Parsed:
    """What ``text`` runs when bash reads it; wrappers such as ``env`` and ``find -exec``, and shells that are given a
    text, are looked through. Never raises. ``depth`` counts the shells that ``text`` is nested in."""
    parsed = read(text)
    found: list[Subcommand] = []
    problem = parsed.problem
    pending = list(reversed(parsed.subcommands))
    while pending and len(found) < _MOST:
        subcommand = pending.pop()
        step = _step(subcommand, depth)
        problem = problem or step.problem
        found.append(replace(subcommand, wraps=step.wraps))
        found += step.nested
        pending += reversed(step.runs)
    return Parsed(tuple(found), problem or ("runs too many commands" if pending else None))


def unlike_bash(shell: str, text: str) -> str | None:
    """Why ``shell``, which is not bash, may read ``text`` in another way; None when all shells agree on it."""
    name = shell.rpartition("/")[2]
    if name not in _SHELLS or _BASH_ONLY.search(text):
        return f"is read by {name}, which need not read it like bash"
    return None


class _Step(Struct, frozen=True):
    """What one sub-command runs: ``runs`` are still to be looked through, ``nested``, of another text, have been."""

    runs: tuple[Subcommand, ...] = ()
    nested: tuple[Subcommand, ...] = ()
    wraps: bool = False
    problem: str | None = None


def _step(subcommand: Subcommand, depth: int) -> _Step:
    step = _of_program(subcommand, depth) if subcommand.words else _Step()
    return replace(step, problem="sets variables") if subcommand.assignments else step


def _of_program(subcommand: Subcommand, depth: int) -> _Step:
    value = subcommand.words[0].value
    if value is None:
        return _Step(problem="runs a command whose name only bash can tell")
    name = value.rpartition("/")[2]
    if (inner := unwrapped(name, subcommand.words)) is not None:
        if inner.words and inner.words[0].text in RESERVED:
            return _Step(problem=f"has '{inner.words[0].text}' where it is not understood")
        runs = (replace(subcommand, words=inner.words, assignments=()),) if inner.words else ()
        return _Step(runs, wraps=bool(runs), problem=inner.problem)
    if name in {"find", "eval"}:
        return _find(subcommand) if name == "find" else _eval(subcommand.words[1:], depth)
    problem = _problem(name, subcommand)
    return _shell(name, subcommand.words, depth) if name in _SHELLS and not problem else _Step(problem=problem)


def _problem(name: str, subcommand: Subcommand) -> str | None:
    arguments = subcommand.words[1:]
    if any(redirect.operator == "<<<" for redirect in subcommand.redirects) and INTERPRETERS.fullmatch(name):
        return f"gives a text to {name} to run"
    if name in _CHANGES_SHELL:
        return f"changes the shell itself ({name})"
    if name in _OPAQUE:
        return f"runs something through {name}"
    if name == "read" and not all(re.fullmatch(r"-r|[a-z][a-z0-9]*", word.value or "") for word in arguments):
        return "sets variables (read)"
    letters = _EVALUATES.get(name, "")
    checked = arguments[:1] if name == "printf" else arguments
    if letters and any(_may_have(word, letters) for word in checked):
        return f"may let {name} evaluate a name"
    return None


def _may_have(word: Word, letters: str) -> bool:
    """Whether ``word`` may be an option with one of ``letters``, joined with others or with its value."""
    if word.value is None:
        return may_be_option(word)
    return word.value.startswith("-") and any(letter in word.value for letter in letters)


def _find(subcommand: Subcommand) -> _Step:
    runs: list[Subcommand] = []
    words = subcommand.words
    problem = None
    at = 1
    while at < len(words):
        value = words[at].value
        if value is None and may_be_option(words[at]):
            problem = "has an argument of find that only bash can tell"
        if value in _FIND_WRITES:
            problem = f"writes a file ({value})"
        if value in _FIND_RUNS:
            end = _end_of_exec(words, at)
            inner = tuple(hidden(word, {"{}"}) for word in words[at + 1 : end])
            if not inner or end == len(words):
                return _Step(tuple(runs), problem=f"has {value} without its end")
            runs.append(replace(subcommand, words=inner, redirects=(), assignments=()))
            at = end
        at += 1
    return _Step(tuple(runs), problem=problem)


def _end_of_exec(words: Sequence[Word], at: int) -> int:
    """The place of the ``;``, or of the ``+`` after ``{}``, that ends the command of a find's ``-exec`` at ``at``."""
    for index in range(at + 1, len(words)):
        if words[index].value == ";" or (words[index].value == "+" and words[index - 1].value == "{}"):
            return index
    return len(words)


def _eval(words: Sequence[Word], depth: int) -> _Step:
    words = words[1:] if words and words[0].value == "--" else words
    values = [word.value for word in words if word.value is not None]
    if values and values[0].startswith("-"):
        return _Step(problem=f"has an option of eval that is not understood: {values[0]}")
    if len(values) < len(words):
        return _Step(problem="evaluates a text that only bash can tell")
    return _text(" ".join(values), depth)


def _shell(name: str, words: Sequence[Word], depth: int) -> _Step:
    values = [word.value for word in words]
    at = next((n for n in range(1, len(words)) if not _SHELL_OPTIONS.fullmatch(values[n] or "")), len(words))
    gives_text = at > 1 and (values[at - 1] or "").endswith("c")
    value = values[at] if at < len(words) else None
    if at == len(words):
        return _Step(problem=f"lets {name} run what it reads")
    if value is None or value.startswith(("-", "+")) or any((v or "").endswith("c") for v in values[1 : at - 1]):
        return _Step(problem=f"gives {name} something that is not understood")
    if not gives_text:
        return _Step()
    if name != "bash" and (problem := unlike_bash(name, value)):
        return _Step(problem=problem)
    return _text(value, depth)


def _text(text: str, depth: int) -> _Step:
    if depth >= _DEEPEST:
        return _Step(problem="is nested too deeply")
    parsed = parse(text, depth + 1)
    return _Step((), parsed.subcommands, True, parsed.problem)
