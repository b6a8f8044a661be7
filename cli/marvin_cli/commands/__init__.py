"""The small subcommands: each is a module with ``add_arguments(parser)`` and ``run(arguments, settings) -> int``."""

import argparse
import importlib
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from marvin_cli.arguments import Parser
from marvin_server import settings
from marvin_server.errors import MarvinError, UsageError
from marvin_server.sanitise import one_line, printable

if TYPE_CHECKING:
    from marvin_server.session.store import Store

_PRINTS_NOTHING = frozenset({"lsp"})


def run(words: Sequence[str]) -> int:
    """The exit code of the subcommand that is ``words[0]``, with the rest as its arguments."""
    if sys.stdout is None:
        raise BrokenPipeError
    name, *rest = words
    command = importlib.import_module(f"{__name__}.{name}")
    shared = common(prints=name not in _PRINTS_NOTHING)
    parser = Parser(prog=f"marvin {name}", description=command.__doc__, parents=[shared], allow_abbrev=False)
    parser.set_defaults(json=False, profile=None, config=None)
    command.add_arguments(parser)
    try:
        arguments = parser.parse_args(rest)
        config = Path(arguments.config) if arguments.config else None
        loaded = settings.load({"profile": arguments.profile}, file=config)
        for warning in loaded.warnings:
            sys.stderr.write(f"marvin: {one_line(warning)}\n")
        return command.run(arguments, loaded)
    except MarvinError as error:
        sys.stderr.write(f"marvin: {one_line(str(error))}\n")
        return 2 if isinstance(error, UsageError) else 1
    except BrokenPipeError:
        raise
    except OSError as error:
        sys.stderr.write(f"marvin: {one_line(f'{error.filename or name}: {error.strerror}')}\n")
        return 1


def common(*, prints: bool = True) -> Parser:
    """The options of every subcommand (``--json`` where it ``prints`` something); one that is not given leaves no
    trace, so that actions can take them too."""
    parser = Parser(add_help=False, argument_default=argparse.SUPPRESS)
    if prints:
        parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--profile", metavar="NAME", help="whose sessions and settings")
    parser.add_argument("--config", metavar="FILE", help="read this instead of the usual config.yaml")
    return parser


def tell_damage(store: "Store") -> None:
    """Say on standard error what was wrong in ``store`` with what has been read."""
    if store.damage:
        sys.stderr.write(f"marvin: {one_line(store.damage)}\n")


def show_json(value: Any) -> None:
    """Print ``value`` as indented JSON."""
    show(json.dumps(value, indent=2, ensure_ascii=False))


def show(text: str, clean: Callable[[str], str] = printable) -> None:
    """Print ``text`` and a newline; made harmless by ``clean`` when a terminal reads it."""
    shown = clean(text) if sys.stdout.isatty() else text
    sys.stdout.buffer.write(shown.encode("utf-8", "replace") + b"\n")


def table(rows: Sequence[Sequence[str]]) -> str:
    """``rows`` in columns, two spaces apart; the last column is as wide as it likes."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )
