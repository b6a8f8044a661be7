"""Commands that the person, or a project that they trust, has written."""

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from marvin_cli.repl.commands.base import Action
from marvin_server.errors import MarvinError

if TYPE_CHECKING:
    from marvin_cli.repl.loop import Loop
    from marvin_server.session.custom_commands import CustomCommand
    from marvin_server.session.project import Project


async def found(loop: "Loop") -> Mapping[str, Action]:
    """They as they are in their files now, by their names."""
    from marvin_server.session import custom_commands

    conversation = loop.conversation
    commands = await asyncio.to_thread(
        custom_commands.find, conversation.settings.paths.commands, conversation.directory
    )
    return {
        each.name: Action(each.name, each.description, partial(_run, each), each.argument) for each in commands.values()
    }


async def _run(command: "CustomCommand", loop: "Loop", arguments: str) -> None:
    if command.project is not None:
        await _check_trust(loop, command.project)
    await loop.submit(command.prompt(arguments))


async def _check_trust(loop: "Loop", project: "Project") -> None:
    """Ask about a project's command that nobody has accepted yet, as it is. Raises ``MarvinError`` after a no."""
    from marvin_server.session.trust import Acceptances, question

    settings = loop.conversation.settings
    acceptances = Acceptances(settings.paths.trust(settings.profile))
    accepted, digest = loop.conversation.accepted_commands, project.digest("commands")
    if settings.trust or digest in accepted or acceptances.has(project, "commands"):
        return
    reply = await loop.view.ask(question(project, "commands"))
    if reply.decision == "allow_once":
        acceptances.add(project, "commands")
    elif reply.decision == "allow_session":
        accepted.add(digest)
    else:
        raise MarvinError("the project's command was not accepted, so nothing is sent")
