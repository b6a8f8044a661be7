"""The command ``marvin``: reads the arguments and hands over to the part that they ask for."""

import argparse
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from marvin_server.errors import UsageError

_SUBCOMMANDS = ("doctor", "models", "sessions", "tools")


class Parser(argparse.ArgumentParser):
    """An argument parser whose mistakes are ``UsageError``s: one line, and the caller decides how to leave."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (see {self.prog} --help)")


def main() -> NoReturn:
    """Run the command line and leave with its exit code."""
    arguments = sys.argv[1:]
    try:
        code = run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        code = 141
    except KeyboardInterrupt:
        code = 130
    # What is durable is durable: nothing is torn down slowly.
    os._exit(code)


def run(arguments: Sequence[str]) -> int:
    """The exit code of ``marvin`` with these arguments."""
    if arguments and arguments[0] in _SUBCOMMANDS:
        from marvin_cli import commands

        return commands.run(arguments)
    if "--non-interactive" in arguments:
        from marvin_cli import noninteractive

        return noninteractive.run(arguments, parser())
    try:
        parser().parse_args(arguments)
        raise UsageError(
            "the interactive prompt is not part of this version yet; use marvin --non-interactive --prompt TEXT"
        )
    except UsageError as error:
        sys.stderr.write(f"marvin: {error}\n")
        return 2


def parser() -> Parser:
    """The options of BEHAVIOUR that this version has."""
    from marvin_server import __version__

    parser = Parser(
        prog="marvin",
        description="The AI assistant that lives in your editor, your terminal and your pipelines.",
        epilog=f"Subcommands, each with --help: {', '.join(_SUBCOMMANDS)}. 'marvin -- {_SUBCOMMANDS[0]}' is a prompt.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("words", nargs="*", metavar="PROMPT", help="the prompt; '-' adds standard input")
    add("--version", action="version", version=f"marvin {__version__}")
    add("--non-interactive", action="store_true", help="one prompt in, one answer out")
    add("--prompt", metavar="TEXT", help="the prompt")
    add("--prompt-file", metavar="FILE", help="read the prompt from a file")
    add("--working-dir", metavar="DIR", help="the workspace (default: the current folder)")
    add("--provider", metavar="NAME", help="who answers: a vendor, or 'offline'")
    add("--model", metavar="NAME", help="the model to ask")
    resume = parser.add_mutually_exclusive_group()
    resume.add_argument(
        "--continue", dest="resume_latest", action="store_true", help="go on with the latest session here"
    )
    resume.add_argument("--resume", metavar="ID", help="go on with a session (an id, or how it begins)")
    add("--readonly", action="store_const", const=True, help="no edits and no commands")
    add("--approve", metavar="WHAT", help="all (default), rules or none: what runs without a person to ask")
    add("--sandbox", metavar="MODE", help="auto (default), on or off")
    add("--output", metavar="FORM", default="text", help="text (default), final, json or stream-json")
    add("--output-schema", metavar="FILE", help="a JSON Schema that the answer must match")
    add("--max-cost", metavar="USD", help="stop when the session has cost this much")
    add("--max-rounds", metavar="N", help="at most N rounds of tool calls (default 50)")
    add("--ntfy", metavar="TOPIC", help="publish to this ntfy topic when the run ends")
    add("--profile", metavar="NAME", help="whose sessions and settings")
    add("--config", metavar="FILE", help="read this instead of the usual config.yaml")
    add("--verbose", action="store_true", help="show the log and tracebacks on standard error")
    return parser
