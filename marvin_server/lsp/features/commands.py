"""``marvin/command/list``, and the commands that a person sends in place of a prompt: Marvin's own, and those that they
or their project have written."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from marvin_server.errors import MarvinError
from marvin_server.lsp import opening
from marvin_server.lsp.features import config
from marvin_server.lsp.live import LiveSession
from marvin_server.lsp.refusals import Refusal
from marvin_server.protocol.catalog import CommandListParams, CommandListResult, SlashCommand
from marvin_server.protocol.errors import Code
from marvin_server.protocol.reading import read

if TYPE_CHECKING:
    from marvin_server.lsp.server import Server
    from marvin_server.session.commands import Command, Typed
    from marvin_server.session.opening import OpenSession
    from marvin_server.session.options import Option
    from marvin_server.session.session import Session


async def list_(server: "Server", params: dict[str, Any]) -> CommandListResult:
    """The commands that ``marvin/turn/start`` carries out in this session."""
    from marvin_server.session import commands

    record = server.sessions.record(read(params, CommandListParams).session_id)
    every = (*commands.COMMANDS, *await written(server, Path(record.cwd)))
    return CommandListResult(tuple(SlashCommand(each.name, each.description, each.argument) for each in every))


async def written(server: "Server", directory: Path) -> "Sequence[Command]":
    """The commands that people have written for ``directory``; none has the name of one of Marvin's own."""
    from marvin_server.session import commands, custom_commands

    own = {each.name for each in commands.COMMANDS}
    found = await asyncio.to_thread(custom_commands.find, server.sessions.settings.paths.commands, directory)
    return [
        commands.Command(each.name, each.description, each.argument) for each in found.values() if each.name not in own
    ]


async def prompt(server: "Server", live: LiveSession, text: str) -> str:
    """What the model gets for ``text``: the prompt of the command that it calls, if it calls one that was written.
    Raises ``MarvinError`` for one that cannot be used, or is a project's and not accepted."""
    if not text.lstrip().startswith("/"):
        return text
    from marvin_server.session import custom_commands
    from marvin_server.session.trust import Acceptances

    settings = live.settings
    directory = Path(server.sessions.record(live.id).cwd)
    if not (called := await asyncio.to_thread(custom_commands.read, text, settings.paths.commands, directory)):
        return text
    command, arguments = called
    acceptances = Acceptances(settings.paths.trust(settings.profile))
    if not (command.project is None or settings.trust or acceptances.has(command.project, "commands")):
        raise MarvinError(
            f"/{command.name} is the project's, and nobody has accepted its text: use it once in a terminal, where"
            " `marvin` shows it and asks"
        )
    return command.prompt(arguments)


async def run(server: "Server", live: LiveSession, typed: "Typed") -> str:
    """Carry out a command and give the id of the turn that says what came of it; whoever asks holds ``live.commands``.
    Raises ``MarvinError``, and ``Refusal`` while a turn runs."""
    from marvin_server.session import commands

    ready = opening.ready if typed.command.name == "compact" else opening.ready_without_turns
    async with live.lock:
        session: Session = await ready(server, live)
    if session.running is not None:
        text = "a turn is running: wait for it or cancel it; marvin/config/set changes options meanwhile"
        raise Refusal(Code.TURN_ACTIVE, text, retryable=True)
    if live.feed is not None:
        for step in server.sessions.store.steps.all(session_id=live.id)[-1:]:
            live.feed.belongs_to(step.turn_id)
    record = server.sessions.record(live.id)
    assert live.opened is not None
    lines = await commands.run(typed, _Desk(server, live, live.opened), await written(server, Path(record.cwd)))
    if live.choice is not None:
        return session.tell(lines, live.choice.provider.name, live.choice.provider.model)
    return session.tell(lines, record.provider, record.model)


class _Desk:
    """See ``session.commands.Desk``."""

    def __init__(self, server: "Server", live: LiveSession, opened: "OpenSession") -> None:
        self._server = server
        self._live = live
        self.opened = opened
        self.session = opened.session

    async def options(self) -> "Sequence[Option]":
        return await config.options_of(self._server, self._live)

    async def change(self, name: str, value: str) -> None:
        async with self._live.lock:
            await config.change(self._server, self._live, name, value)

    def usage(self) -> str:
        return self._server.sessions.store.spending.report(self._live.id)
