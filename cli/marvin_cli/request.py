"""What a non-interactive run was asked to do, read from its arguments and standard input."""

import argparse
import re
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from msgspec import Struct

from marvin_server import settings
from marvin_server.errors import MarvinError, UsageError
from marvin_server.settings import Settings

_SECONDS, _SECONDS_WITH_DIRECTORY = 180.0, 900.0
_FLAGS = ("provider", "model", "profile", "approve", "sandbox", "readonly", "max_cost", "max_rounds")


class Request(Struct, frozen=True):
    """``resume`` is a session's id or how it begins; ``latest`` asks for the newest one of ``directory``."""

    prompt: str
    directory: Path
    settings: Settings
    schema: Mapping[str, Any] | None
    resume: str | None
    latest: bool
    topic: str | None


def read(arguments: argparse.Namespace) -> Request:
    """The request. Raises ``UsageError`` for a wrong value and ``MarvinError`` where there is no prompt."""
    directory = _directory(arguments.working_dir)
    schema = None
    if arguments.output_schema:
        from marvin_cli import schema as output_schema

        schema = output_schema.read(arguments.output_schema)
    flags = {name: getattr(arguments, name) for name in _FLAGS}
    loaded = settings.load(flags, config_file=Path(arguments.config) if arguments.config else None)
    seconds = _SECONDS_WITH_DIRECTORY if arguments.working_dir else _SECONDS
    loaded = replace(
        loaded,
        approve=loaded.approve or "all",
        request_timeout=loaded.request_timeout or seconds,
    )
    return Request(
        _prompt(arguments), directory, loaded, schema, arguments.resume, arguments.resume_latest, _topic(arguments.ntfy)
    )


def _prompt(arguments: argparse.Namespace) -> str:
    words = [word for word in arguments.words if word != "-"]
    given = [source for source in (arguments.prompt, arguments.prompt_file, " ".join(words)) if source]
    if len(given) > 1:
        raise UsageError("give the prompt once: --prompt, --prompt-file or as an argument")
    wants_input = "-" in arguments.words or arguments.prompt == "-" or arguments.prompt_file == "-"
    text = ""
    if arguments.prompt_file and arguments.prompt_file != "-":
        text = _file(arguments.prompt_file)
    elif given and given[0] != "-":
        text = given[0]
    if not given or wants_input:
        if sys.stdin is None or sys.stdin.isatty():
            raise MarvinError("there is no prompt: give --prompt TEXT, --prompt-file FILE, or pipe one in")
        piped = sys.stdin.buffer.read().decode("utf-8", "replace").strip()
        text = f"{text}\n\nStandard input:\n\n{piped}" if text and piped else text or piped
    if not text.strip():
        raise MarvinError("the prompt is empty: give --prompt TEXT, --prompt-file FILE, or pipe one in")
    return text


def _file(name: str) -> str:
    try:
        return Path(name).read_bytes().decode("utf-8")
    except OSError as error:
        raise UsageError(f"--prompt-file {name}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"--prompt-file {name}: this is not UTF-8 text") from None


def _directory(name: str | None) -> Path:
    try:
        directory = Path(name or ".").resolve(strict=True)
    except OSError as error:
        raise UsageError(f"--working-dir {name or '.'}: {error.strerror}") from None
    if not directory.is_dir():
        raise UsageError(f"--working-dir {name}: this is not a directory")
    return directory


def _topic(topic: str | None) -> str | None:
    # https://docs.ntfy.sh/publish/: a topic is part of the URL.
    if topic is not None and not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", topic):
        raise UsageError(f"--ntfy needs a topic of letters, digits, '_' and '-', not {topic!r}")
    return topic
