"""``marvin/command/list``, and the commands that a person sends in place of a prompt."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from marvin_server.lsp import opening
from marvin_server.lsp.features import config
from marvin_server.lsp.live import LiveSession
from marvin_server.lsp.refusals import Refusal
from marvin_server.protocol.catalog import CommandListParams, CommandListResult, SlashCommand
from marvin_server.protocol.errors import Code
from marvin_server.protocol.reading import read

if TYPE_CHECKING:
    from marvin_server.lsp.server import Server
    from marvin_server.session.commands import Typed
    from marvin_server.session.opening import OpenSession
    from marvin_server.session.options import Option
    from marvin_server.session.session import Session


async def list_(server: "Server", params: dict[str, Any]) -> CommandListResult:
    """The commands that ``marvin/turn/start`` carries out in this session."""
    from marvin_server.session import commands

    server.sessions.record(read(params, CommandListParams).session_id)
    listed = tuple(SlashCommand(each.name, each.description, each.argument) for each in commands.COMMANDS)
    return CommandListResult(listed)


async def run(server: "Server", live: LiveSession, typed: "Typed") -> str:
    """Carry out a command as a turn that says what came of it, and give the turn's id; whoever asks holds the session's
    lock. Raises ``MarvinError``, and ``Refusal`` while a turn runs."""
    from marvin_server.session import commands

    ready = opening.ready if typed.command.name == "compact" else opening.ready_without_turns
    session: Session = await ready(server, live)
    if session.running is not None:
        text = "a turn is running: wait for it or cancel it; marvin/config/set changes options meanwhile"
        raise Refusal(Code.TURN_ACTIVE, text, retryable=True)
    if live.feed is not None:
        for step in server.sessions.store.steps.all(session_id=live.id)[-1:]:
            live.feed.belongs_to(step.turn_id)
    lines = await commands.run(typed, _Desk(server, live, session))
    if live.choice is not None:
        return session.tell(lines, live.choice.provider.name, live.choice.provider.model)
    record = server.sessions.record(live.id)
    return session.tell(lines, record.provider, record.model)


class _Desk:
    """See ``session.commands.Desk``."""

    def __init__(self, server: "Server", live: LiveSession, session: "Session") -> None:
        self._server = server
        self._live = live
        self.session = session

    @property
    def opened(self) -> "OpenSession":
        assert self._live.opened is not None
        return self._live.opened

    async def options(self) -> "Sequence[Option]":
        return await config.options_of(self._server, self._live)

    async def change(self, name: str, value: str) -> None:
        await config.change(self._server, self._live, name, value)

    def usage(self) -> str:
        return self._server.sessions.store.spending.report(self._live.id)
