"""Commands that may stand in the arguments of a program: of one that is not known, any may be run."""

from collections.abc import Iterator, Sequence

from marvin_server.agent.shell.running import parse
from marvin_server.agent.shell.words import Word

# Programs and builtins that run none of their arguments, or whose ways to do so ``running`` looks into.
_RUN_NONE = frozenset(
    {
        *("[", "[[", ":", "true", "false", "test", "echo", "printf", "cd", "pushd", "popd", "pwd", "exit", "return"),
        *("break", "continue", "shift", "wait", "jobs", "kill", "sleep", "date", "seq", "which", "type", "command"),
        *("cat", "head", "tail", "ls", "wc", "cut", "tr", "uniq", "grep", "egrep", "fgrep", "diff", "cmp", "tee"),
        *("rm", "rmdir", "mkdir", "cp", "mv", "ln", "touch", "chmod", "chown", "stat", "file", "find", "eval"),
        *("basename", "dirname", "readlink", "realpath"),
    }
)
_DEEPEST = 3


def may_run(words: Sequence[Word], depth: int = 0) -> Iterator[Sequence[Word]]:
    """What the program ``words[0]`` may run: each of its words with all that follow, and what a word says when it,
    or what stands in it after an option or a ``=``, is read as a command. ``depth`` counts how often that was done."""
    name = (words[0].value or "").rpartition("/")[2] if words else ""
    if name in _RUN_NONE:
        return
    for at in range(1, len(words)):
        value = words[at].value
        if value is None:
            continue
        yield words[at:]
        for text in _texts(value) if depth < _DEEPEST else ():
            parsed = parse(text)
            for subcommand in parsed.subcommands:
                yield subcommand.words
                yield from may_run(subcommand.words, depth + 1)
            if parsed.problem:
                pieces = [Word(piece, piece, piece) for piece in text.split()]
                yield from (pieces[begin:] for begin in range(len(pieces)))


def _texts(value: str) -> Iterator[str]:
    """The parts of a word, up to its end, that may be a command."""
    begins = {0, *(at + 1 for at, char in enumerate(value) if char == "=")}
    if value.startswith("-"):
        begins.add(2)
    for begin in sorted(begins)[:8]:
        text = value[begin:].lstrip("!")
        if text and (begin or any(char in text for char in " \t\n;|&()$<>")):
            yield text
