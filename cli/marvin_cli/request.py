"""What a run was asked to do, read from its arguments and standard input."""

import argparse
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from msgspec import Struct

from marvin_server import settings
from marvin_server.errors import MarvinError, UsageError
from marvin_server.messages import Image
from marvin_server.paths import Paths
from marvin_server.settings import Settings

_SECONDS, _SECONDS_WITH_DIRECTORY = 180.0, 900.0
_LONGEST = 32_000_000
_FLAGS = ("provider", "model", "profile", "approve", "sandbox", "readonly", "max_cost", "max_rounds")


class Request(Struct, frozen=True):
    """``resume`` is a session's id or how it begins; ``latest`` asks for the newest one of ``directory``. The
    ``prompt`` of a terminal is empty where none was given."""

    prompt: str
    images: tuple[Image, ...]
    directory: Path
    settings: Settings
    schema: Mapping[str, Any] | None
    resume: str | None
    latest: bool
    topic: str | None


def read(
    arguments: argparse.Namespace, *, interactive: bool = False, profile: Callable[[Paths], str | None] = lambda _: None
) -> Request:
    """The request. One that is not ``interactive`` needs a prompt, and stands for a person's yes; ``profile`` gives the
    one to use where nothing names one. Raises ``UsageError`` for a wrong value and ``MarvinError`` where there is no
    prompt."""
    directory = _directory(arguments.working_dir)
    schema = None
    if arguments.output_schema is not None:
        from marvin_cli import schema as output_schema

        schema = output_schema.read(arguments.output_schema)
    flags = {name: getattr(arguments, name) for name in _FLAGS}
    file = Path(arguments.config) if arguments.config is not None else None
    loaded = settings.load(flags, file=file, profile=profile)
    if interactive:
        # A person is there: only what they have just typed stands in for their yes.
        loaded = replace(loaded, approve=loaded.approve if arguments.approve else None)
    else:
        seconds = _SECONDS_WITH_DIRECTORY if arguments.working_dir else _SECONDS
        loaded = replace(loaded, approve=loaded.approve or "all", request_timeout=loaded.request_timeout or seconds)
    loaded = replace(
        loaded,
        trust=arguments.trust,
        record=Path(arguments.record).absolute() if arguments.record is not None else None,
    )
    return Request(
        _prompt(arguments, is_needed=not interactive),
        _images(arguments.image, loaded),
        directory,
        loaded,
        schema,
        arguments.resume,
        arguments.latest,
        _topic(arguments.ntfy),
    )


def _images(sources: Sequence[str], loaded: Settings) -> tuple[Image, ...]:
    if not sources:
        return ()
    from marvin_cli import images

    return images.read(sources, loaded.child_environ())


def _prompt(arguments: argparse.Namespace, *, is_needed: bool) -> str:
    words = [word for word in arguments.words if word != "-"]
    sources = (arguments.prompt, arguments.prompt_file, " ".join(words) if words else None)
    given = [source for source in sources if source is not None]
    if len(given) > 1:
        raise UsageError("give the prompt once: --prompt, --prompt-file or as an argument")
    asks_for_input = given == ["-"] or "-" in arguments.words
    pictures_from_input = arguments.image.count("-")
    if asks_for_input + pictures_from_input > 1:
        raise UsageError("standard input can be read once only: for the prompt or for one picture")
    text = ""
    if given and given != ["-"]:
        text = _file(arguments.prompt_file) if arguments.prompt_file is not None else given[0]
    if asks_for_input or (is_needed and not (given or pictures_from_input)):
        piped = _standard_input()
        text = f"{text}\n\nStandard input:\n\n{piped}" if text and piped else text or piped
    if not text.strip() and (is_needed or arguments.image):
        if arguments.image:
            raise MarvinError("a picture needs a prompt: say with --prompt TEXT what to do with it")
        raise MarvinError("the prompt is empty: give --prompt TEXT, --prompt-file FILE, or pipe one in")
    return text


def _standard_input() -> str:
    if sys.stdin is None or sys.stdin.isatty():
        raise MarvinError("there is no prompt: give --prompt TEXT, --prompt-file FILE, or pipe one in")
    return _bounded(sys.stdin.buffer.read(_LONGEST + 1), "standard input").decode("utf-8", "replace").strip()


def _file(name: str) -> str:
    try:
        with Path(name).open("rb") as file:
            return _bounded(file.read(_LONGEST + 1), f"--prompt-file {name}").decode("utf-8")
    except OSError as error:
        raise UsageError(f"--prompt-file {name}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"--prompt-file {name}: this is not UTF-8 text") from None


def _bounded(content: bytes, origin: str) -> bytes:
    if len(content) > _LONGEST:
        raise MarvinError(f"{origin} is longer than {_LONGEST // 1_000_000} MB: name the file in the prompt instead")
    return content


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
