"""The options of the command ``marvin``."""

import argparse
from collections.abc import Sequence
from typing import NoReturn

from marvin_server import __version__
from marvin_server.errors import UsageError


class Parser(argparse.ArgumentParser):
    """An argument parser whose mistakes are ``UsageError``s: one line, and the caller decides how to leave."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (see {self.prog} --help)")


def given(value: str) -> str:
    """A value that says something; an empty one, as from a variable that is not set, is a mistake."""
    if value.strip():
        return value
    raise argparse.ArgumentTypeError("it must not be empty")


def parser(subcommands: Sequence[str] = ()) -> Parser:
    """What ``marvin`` takes when its first word is no subcommand."""
    parser = Parser(
        prog="marvin",
        description="The AI assistant that lives in your editor, your terminal and your pipelines.",
        epilog=f"Subcommands, each with --help: {', '.join(subcommands)}." if subcommands else None,
        allow_abbrev=False,
    )
    add = parser.add_argument

    def option(name: str, metavar: str, meaning: str) -> None:
        add(name, metavar=metavar, type=given, help=meaning)

    add("words", nargs="*", metavar="PROMPT", help="the prompt; '-' adds standard input")
    add("--version", action="version", version=f"marvin {__version__}")
    add("--non-interactive", action="store_true", help="one prompt in, one answer out")
    add("--plain", action="store_true", help="a prompt loop in plain lines, without redrawing anything")
    add("--curses", action="store_true", help="a prompt loop that fills the screen")
    add("--screen-reader", action="store_true", help="as --plain, in words alone: no emoji and nothing that moves")
    add("--prompt", metavar="TEXT", help="the prompt")
    option("--prompt-file", "FILE", "read the prompt from a file")
    picture = "a picture that the prompt is about; '-': standard input, 'clipboard': pasted; can be repeated"
    add("--image", metavar="FILE", type=given, action="append", default=[], help=picture)
    option("--working-dir", "DIR", "the workspace (default: the current folder)")
    option("--provider", "NAME", "who answers: a vendor, or 'offline'")
    option("--model", "NAME", "the model to ask")
    resume = parser.add_mutually_exclusive_group()
    resume.add_argument("--continue", dest="latest", action="store_true", help="go on with the latest session here")
    resume.add_argument("--resume", metavar="ID", type=given, help="go on with a session (an id, or how it begins)")
    add("--readonly", action="store_const", const=True, help="no edits and no commands")
    option("--approve", "WHAT", "all (default), rules or none: what runs without a person to ask")
    add("--trust", action="store_true", help="let the project's own instructions and settings count in this run")
    option("--sandbox", "MODE", "auto (default), on or off")
    add("--output", metavar="FORM", default="text", help="text (default), final, json or stream-json")
    option("--output-schema", "FILE", "a JSON Schema that the answer must match")
    option("--max-cost", "USD", "stop when the session has cost this much")
    option("--max-rounds", "N", "at most N rounds of tool calls (default 50)")
    option("--ntfy", "TOPIC", "publish to this ntfy topic when the run ends")
    option("--record", "FILE", "add the exchanges with the model to FILE, without secrets; --provider replay plays it")
    option("--profile", "NAME", "whose sessions and settings")
    option("--config", "FILE", "read this instead of the usual config.yaml")
    add("--verbose", action="store_true", help="show thoughts, log and tracebacks on standard error")
    return parser
