"""Sessions made ready in a connection: who answers in them, and what the person has to know of that."""

import asyncio
from typing import TYPE_CHECKING

from marvin_server.lsp.live import LiveSession
from marvin_server.settings import Settings

if TYPE_CHECKING:
    from marvin_server.lsp.server import Server
    from marvin_server.providers.selection import Choice
    from marvin_server.session.session import Session


async def choose(settings: Settings) -> "Choice":
    """Who answers by these ``settings``. Raises ``UsageError`` and ``Auth``, and where a cost limit cannot hold."""
    from marvin_server.providers import selection
    from marvin_server.session import models

    choice = await asyncio.to_thread(selection.choose, settings)
    await asyncio.to_thread(models.check_price, settings, choice)
    return choice


async def ready(server: "Server", live: LiveSession) -> "Session":
    """The conversation of ``live``, ready for turns; whoever asks holds its lock. Raises as ``choose`` does."""
    if live.choice is None:
        live.go_on_with(live.settings, await choose(live.settings))
    is_new = live.opened is None
    session = await ready_without_turns(server, live)
    if is_new and live.choice and live.choice.notice:
        server.standing.warn(live.choice.notice, must_act=True)
    return session


async def ready_without_turns(server: "Server", live: LiveSession) -> "Session":
    """The conversation of ``live`` for all but turns: nobody has to be there who answers."""
    if live.opened is None:
        opened = live.open(
            server.sessions.store,
            server.sessions.record(live.id),
            server,
            server.client.opt_out,
            lambda event: server.standing.tell_turn(live.id, event),
            on_activity=lambda: server.standing.tell_work(live.id),
            editor=server.editor,
            can_review=server.client.version is not None,
        )
        for line in await opened:
            server.standing.warn(line)
    assert live.opened is not None
    return live.opened.session
