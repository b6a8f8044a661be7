"""``marvin/context/…``: what is sent with each prompt of a session, block by block."""

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from marvin_server.errors import MarvinError
from marvin_server.events import Event, Notice
from marvin_server.lsp import opening
from marvin_server.lsp.live import LiveSession
from marvin_server.protocol.prompt import ContextBlock, ContextGetParams, ContextResult, ContextSetParams
from marvin_server.protocol.reading import read

if TYPE_CHECKING:
    from marvin_server.lsp.server import Server
    from marvin_server.session.opening import OpenSession


async def get(server: "Server", params: dict[str, Any]) -> ContextResult:
    """The blocks of the request that would be sent next."""
    live = server.sessions.get(read(params, ContextGetParams).session_id)
    async with live.lock:
        return await _told(await _opened(server, live))


async def set_(server: "Server", params: dict[str, Any]) -> ContextResult:
    """Change what is sent from the next turn on. What comes before something that is wrong is done."""
    asked = read(params, ContextSetParams)
    live = server.sessions.get(asked.session_id)
    async with live.lock:
        opened = await _opened(server, live)
        if asked.pin:
            await opened.context.pin(asked.pin)
        for name in asked.drop:
            await opened.context.drop(name)
        for name in asked.restore:
            opened.context.restore(name)
        return await _told(opened)


async def _opened(server: "Server", live: LiveSession) -> "OpenSession":
    """The open session; who would answer is known where somebody can."""
    with suppress(MarvinError):
        await opening.ready(server, live)
    await opening.ready_without_turns(server, live)
    assert live.opened is not None
    return live.opened


async def _told(opened: "OpenSession") -> ContextResult:
    from marvin_server.session import context_report

    notes: list[str] = []

    def hear(event: Event) -> None:
        if isinstance(event, Notice):
            notes.append(event.text)

    found = await context_report.report(opened, hear)
    blocks = tuple(
        ContextBlock(line.name, line.kind, line.tokens, line.can_drop, line.is_sent, line.cost, line.cached_cost)
        for line in found.lines
    )
    return ContextResult(blocks, found.tokens, tuple(notes), found.context_size, found.cost, found.cached_cost)
