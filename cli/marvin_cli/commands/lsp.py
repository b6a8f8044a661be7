"""Serve an editor, which starts this by itself and speaks the Language Server Protocol with it."""

import argparse
import os
import sys
from pathlib import Path

from marvin_server import log
from marvin_server.errors import UsageError
from marvin_server.settings import Settings

_FOR_EDITORS = (
    "marvin lsp is for an editor, which starts it and talks to it by its standard input and output; Ctrl-D ends it. "
    "To talk to Marvin here: marvin --non-interactive"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--stdio", action="store_true", help="what is done anyway; some editors add it")
    parser.add_argument("--log", metavar="FILE", help="add the log to FILE as well, without secrets")
    parser.add_argument("--record", metavar="FILE", help="add every message to FILE, without secrets, for a bug report")


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    from marvin_server.lsp import server, streams
    from marvin_server.lsp.recorder import Recorder

    file = Path(arguments.log) if arguments.log else None
    redact = settings.redactor()
    try:
        log.start(settings.paths.logs, redact, warnings=True, file=file)
    except OSError as error:
        raise UsageError(f"--log {file}: {error.strerror}") from None
    recorder = Recorder(Path(arguments.record), redact) if arguments.record else None
    if os.isatty(0):
        print(_FOR_EDITORS, file=sys.stderr)
    try:
        way = streams.take_over()
    except OSError as error:
        raise UsageError(f"standard input and output must be open: an editor starts this command ({error})") from None
    return server.serve(settings, way, recorder)
