"""The command ``marvin``: reads the arguments and hands over to the part that they ask for."""

import os
import signal
import sys
from collections.abc import Sequence
from typing import NoReturn

SUBCOMMANDS = ("completion", "doctor", "login", "lsp", "models", "path", "redo", "sessions", "tools", "trust", "undo")
NO_COST = 'MARVIN_COST:{"session_cost": 0.0, "llm_turns": 0, "model_turns": {}, "model_cost": {}}'
_CANCELLED, _CLOSED_PIPE = 130, 141


def main() -> NoReturn:
    """Run the command line and leave with its exit code."""
    words = sys.argv[1:]
    if "--non-interactive" in words:
        # Before anything is imported: a handler that raised in the midst of an import would leave half a module.
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, _leave)
    try:
        code = run(words)
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        code = _CLOSED_PIPE
    except OSError as error:
        sys.stderr.write(f"marvin: standard output: {error.strerror}\n")
        code = 1
    except KeyboardInterrupt:
        code = _CANCELLED
    # What is durable is durable: nothing is torn down slowly.
    os._exit(code)


def run(words: Sequence[str]) -> int:
    """The exit code of ``marvin`` with these arguments."""
    if words and words[0] in SUBCOMMANDS:
        from marvin_cli import commands

        return commands.run(words)
    if "--non-interactive" in words:
        from marvin_cli import noninteractive

        return noninteractive.run(words)
    _fill_in()
    from marvin_cli import arguments
    from marvin_server.errors import UsageError

    try:
        parsed = arguments.parser(SUBCOMMANDS).parse_args(words)
    except UsageError as error:
        sys.stderr.write(f"marvin: {error}\n")
        return 2
    from marvin_cli import interactive

    return interactive.run(parsed)


def _fill_in() -> None:
    """Have /dev/null in place of the standard streams that are closed; each opens as the lowest number that is free."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))


def _leave(_number: int, _frame: object) -> None:
    """End a run that has not asked anything yet."""
    os.write(2, f"{NO_COST}\n".encode())
    os._exit(_CANCELLED)
