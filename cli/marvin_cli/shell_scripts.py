"""Scripts with which bash, zsh and fish complete ``marvin``, made from the parsers of its arguments."""

import argparse
import importlib
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal, cast

from msgspec import Struct

from marvin_cli.arguments import Parser, parser
from marvin_cli.commands import common
from marvin_cli.main import SUBCOMMANDS
from marvin_cli.output import FORMS
from marvin_server.providers import selection
from marvin_server.settings import Settings

_BASH = """\
_marvin() {
  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} place="" word next IFS=$'\\n'
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    next=${place:+$place }$word
    case "|@PATHS@|" in *"|$next|"*) place=$next ;; esac
  done
  COMPREPLY=()
  case "$place:$before" in
@CASES@
  esac
}
complete -o bashdefault -o default -F _marvin marvin
"""
_ZSH = """\
#compdef marvin
_marvin() {
  local place="" word next
  local -a found
  for word in "${(@)words[2,CURRENT-1]}"; do
    next=${place:+$place }$word
    [[ "|@PATHS@|" == *"|$next|"* ]] && place=$next
  done
  case "$place:${words[CURRENT-1]}" in
@CASES@
  esac
}
if [ "$funcstack[1]" = "_marvin" ]; then _marvin "$@"; else compdef _marvin marvin; fi
"""
_FISH = """\
function __marvin_is_at
    set -l place
    for word in (commandline -opc)[2..]
        set -l next (string join -- ' ' $place $word)
        contains -- $next @PATHS@
        and set place $next
    end
    test "$place" = "$argv[1]"
end
"""
_KINDS = MappingProxyType[str, Literal["file", "folder"]]({"FILE": "file", "DIR": "folder"})


class Option(Struct, frozen=True):
    """An option in all its spellings; ``takes`` is what its value can be, None where it has none."""

    flags: tuple[str, ...]
    meaning: str
    takes: Literal["file", "folder", "text"] | tuple[str, ...] | None = None


class Level(Struct, frozen=True):
    """What may follow the words of ``path`` (of ``marvin`` itself: none): options and, with what they mean, words."""

    path: tuple[str, ...]
    options: tuple[Option, ...]
    words: Mapping[str, str]


def levels(settings: Settings) -> tuple[Level, ...]:
    """The command line of ``marvin``, a level for each subcommand and each action of one."""
    values = {
        "--approve": ("all", "rules", "none"),
        "--sandbox": ("auto", "on", "off"),
        "--output": tuple(FORMS),
        "--provider": selection.names(settings),
    }
    below = {name: _subcommand(name) for name in SUBCOMMANDS}
    top = Level((), tuple(_options(parser(), values)), {name: _first(each.description) for name, each in below.items()})
    return (top, *(level for name, each in below.items() for level in _levels((name,), each)))


def _subcommand(name: str) -> argparse.ArgumentParser:
    module = importlib.import_module(f"marvin_cli.commands.{name}")
    made = Parser(prog=f"marvin {name}", description=module.__doc__, parents=[common()])
    module.add_arguments(made)
    return made


def _levels(path: tuple[str, ...], of: argparse.ArgumentParser) -> Iterator[Level]:
    words: dict[str, str] = {}
    for action in _actions(of):
        choices = cast("object", action.choices)
        if not action.option_strings and isinstance(choices, dict):
            below = cast("dict[str, argparse.ArgumentParser]", choices)
            helps = {each.dest: each.help or "" for each in cast("Any", action)._choices_actions}
            words |= {name: _first(helps.get(name)) for name in below}
            for name, each in below.items():
                yield from _levels((*path, name), each)
        elif not action.option_strings and action.choices:
            words |= {str(choice): "" for choice in action.choices}
    yield Level(path, tuple(_options(of, {})), words)


def _options(of: argparse.ArgumentParser, values: Mapping[str, tuple[str, ...]]) -> Iterator[Option]:
    for action in _actions(of):
        if not action.option_strings:
            continue
        takes: Literal["file", "folder", "text"] | tuple[str, ...] | None = None
        if action.nargs != 0:
            known = tuple(map(str, action.choices)) if action.choices else values.get(action.option_strings[-1])
            takes = known or _KINDS.get(str(action.metavar), "text")
        yield Option(tuple(action.option_strings), _first(action.help), takes)


def _actions(of: argparse.ArgumentParser) -> Sequence[argparse.Action]:
    return of._actions  # pyright: ignore[reportPrivateUsage]


def _first(text: str | None) -> str:
    """The first line, as plain text."""
    return (text or "").strip().partition("\n")[0].rstrip(".").replace("`", "")


def bash(of: Sequence[Level]) -> str:
    """For ``source <(marvin completion bash)``. Where nothing is known, files are completed."""

    def offered(words: Iterable[str]) -> str:
        return f'COMPREPLY=($(compgen -W {shlex.quote(chr(10).join(words))} -- "$current"))'

    cases: list[str] = []
    for level in of:
        for option, pattern in _valued(level):
            match option.takes:
                case "folder":
                    found = 'COMPREPLY=($(compgen -d -- "$current"))'
                case tuple(values):
                    found = offered(values)
                case _:
                    found = ":"
            cases.append(f"    {pattern}) {found} ;;")
        cases.append(f"    {shlex.quote(_place(level))}:*) {offered(_told(level))} ;;")
    return _BASH.replace("@PATHS@", _paths(of)).replace("@CASES@", "\n".join(cases))


def zsh(of: Sequence[Level]) -> str:
    """For a file ``_marvin`` in a folder of ``fpath``, or ``source <(marvin completion zsh)`` after ``compinit``."""
    cases: list[str] = []
    for level in of:
        for option, pattern in _valued(level):
            match option.takes:
                case "file":
                    found = "_files"
                case "folder":
                    found = "_files -/"
                case tuple(values):
                    found = f"compadd -- {' '.join(map(shlex.quote, values))}"
                case _:
                    found = "_message value"
            cases.append(f"    {pattern}) {found} ;;")
        rows = " ".join(shlex.quote(f"{word}:{meaning}") for word, meaning in _told(level).items())
        cases.append(f"    {shlex.quote(_place(level))}:*) found=({rows}); _describe marvin found ;;")
    return _ZSH.replace("@PATHS@", _paths(of)).replace("@CASES@", "\n".join(cases))


def fish(of: Sequence[Level]) -> str:
    """For ``marvin completion fish | source``, or a file in fish's folder of completions."""
    lines = [_FISH.replace("@PATHS@", " ".join(_quoted(_place(level)) for level in of[1:]))]
    for level in of:
        begin = f"complete -c marvin -n {_quoted(f'__marvin_is_at {_quoted(_place(level))}')}"
        lines += [f"{begin} -f -a {word} -d {_quoted(meaning)}" for word, meaning in level.words.items()]
        for option in level.options:
            names = " ".join(f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}" for flag in option.flags)
            match option.takes:
                case None:
                    takes = ""
                case "file":
                    takes = " -r -F"
                case "folder":
                    takes = " -x -a '(__fish_complete_directories)'"
                case "text":
                    takes = " -x"
                case tuple(values):
                    takes = f" -x -a {_quoted(' '.join(values))}"
            lines.append(f"{begin} {names}{takes} -d {_quoted(option.meaning)}")
    return "\n".join(lines) + "\n"


def _place(level: Level) -> str:
    return " ".join(level.path)


def _paths(of: Sequence[Level]) -> str:
    return "|".join(_place(level) for level in of[1:])


def _valued(level: Level) -> Iterator[tuple[Option, str]]:
    """The options that take a value, each with the pattern for a place and the word before."""
    for option in level.options:
        if option.takes is not None:
            yield option, "|".join(shlex.quote(f"{_place(level)}:{flag}") for flag in option.flags)


def _told(level: Level) -> dict[str, str]:
    """All that may stand at the level, with what it means."""
    return {**level.words, **{flag: option.meaning for option in level.options for flag in option.flags}}


def _quoted(text: str) -> str:
    """``text`` as one word of fish."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


SCRIPTS: Mapping[str, Callable[[Sequence[Level]], str]] = MappingProxyType({"bash": bash, "fish": fish, "zsh": zsh})
