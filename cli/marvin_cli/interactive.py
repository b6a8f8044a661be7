"""``marvin`` at a terminal: puts the prompt loop together, and takes it apart at the end."""

import argparse
import asyncio
import os
import signal
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from msgspec import structs

from marvin_cli import request
from marvin_cli.request import Request
from marvin_cli.stdout import write_line
from marvin_server import log
from marvin_server.errors import MarvinError, UsageError
from marvin_server.profiles import profile
from marvin_server.sanitise import one_line

if TYPE_CHECKING:
    from marvin_cli.repl.person import Person
    from marvin_cli.repl.source import Completions
    from marvin_cli.view.base import View
    from marvin_cli.view.opening import Kind
    from marvin_server.events import TurnFinished

_TERMINATED = 143


def run(arguments: argparse.Namespace) -> int:
    """The exit code of a terminal that was started with these arguments."""
    try:
        if arguments.plain and arguments.curses:
            raise UsageError("--plain and --curses are two views: give one of them")
        asked = request.read(arguments, interactive=True, profile=profile.last)
        log.start(asked.settings.paths.logs, asked.settings.redactor(), verbose=arguments.verbose)
        asked, lines = _with_earlier_profiles(asked, arguments)
        return asyncio.run(_converse(asked, arguments, lines))
    except MarvinError as error:
        write_line(2, f"marvin: {one_line(str(error))}")
        return 2 if isinstance(error, UsageError) else 1
    except OSError as error:
        write_line(2, f"marvin: {one_line(str(error.filename or 'system'))}: {error.strerror}")
        return 1


async def _converse(asked: Request, arguments: argparse.Namespace, lines: Sequence[str]) -> int:
    """Talk until the person leaves, and give the exit code."""
    from marvin_cli.repl.person import Person
    from marvin_cli.repl.source import Completions
    from marvin_cli.view.opening import open_view

    settings, person = asked.settings, Person(asked.settings)
    source, likes = Completions(person), person.preferences
    kind: Kind = "curses" if arguments.curses else likes.view
    if arguments.plain or arguments.screen_reader or not (os.isatty(0) and os.isatty(1)):
        kind = "plain"
    view = open_view(
        kind,
        source,
        settings.environ,
        theme=likes.theme,
        vi=likes.keys == "vi",
        screen_reader=arguments.screen_reader,
    )
    main = asyncio.current_task()
    assert main is not None
    code = 0

    def terminate() -> None:
        """Of what is typed, nothing is lost; what a pipe still holds is not waited for."""
        nonlocal code
        code = _TERMINATED
        view.end() if os.isatty(0) else main.cancel()

    try:
        async with view as shown:
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, terminate)
            for line in (*settings.warnings, *person.problems, *lines):
                shown.say(one_line(line), "warning")
            code = await _talk(shown, asked, person, source) or code
    except asyncio.CancelledError:
        if not code:
            raise
    return code


async def _talk(view: "View", asked: Request, person: "Person", source: "Completions") -> int:
    """Talk until the person leaves. The exit code tells of a pipe whose prompts have all failed."""
    from marvin_cli.repl.conversation import Conversation
    from marvin_cli.repl.loop import Loop, Start
    from marvin_cli.repl.notification import Notification

    settings = asked.settings
    topic = (settings.ntfy_server, asked.topic) if asked.topic else None
    notification = Notification(lambda: person.preferences, settings.environ, topic)
    is_repository = any((folder / ".git").exists() for folder in (asked.directory, *asked.directory.parents))
    conversation = Conversation(settings, asked.directory, person.about, coding=is_repository)
    stops: list[str] = []

    def finished(event: "TurnFinished", answer: str, seconds: float) -> None:
        stops.append(event.stop_reason)
        notification.tell(event, answer, seconds)

    loop = Loop(view, person, conversation, finished, in_order=not os.isatty(0))
    source.loop = loop
    try:
        await loop.run(Start(asked.prompt, asked.images, asked.resume, asked.latest))
    finally:
        await notification.settle()
    return int(loop.in_order and set(stops) == {"failed"})


def _with_earlier_profiles(asked: Request, arguments: argparse.Namespace) -> tuple[Request, list[str]]:
    """Take over the profiles of an earlier assistant, where there are any and once; with lines on what came of it."""
    from marvin_server.profiles import taking_over

    settings = asked.settings
    folder = taking_over.due(settings.paths, settings.environ)
    if folder is None:
        return asked, []
    from marvin_server.session import chat_log

    lines: list[str] = []
    for taken in taking_over.take_over(settings.paths, folder):
        lines.append(f"the profile {taken.profile} of {folder} was taken over, and is left there as it was")
        if taken.chat_log is not None:
            try:
                chat_log.take_in(settings.paths.database(taken.profile), taken.chat_log, settings.environ["HOME"])
            except MarvinError as error:
                lines.append(str(error))
    taking_over.finish(settings.paths)
    if arguments.profile is None and settings.profile == profile.DEFAULT:
        name = profile.last(settings.paths) or profile.DEFAULT
        asked = structs.replace(asked, settings=replace(settings, profile=name))
    return asked, lines
