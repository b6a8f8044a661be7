"""``marvin/status``: who would answer now, and whether anything runs."""

import asyncio
from typing import TYPE_CHECKING, Any

from marvin_server import __version__
from marvin_server.errors import Auth, MarvinError
from marvin_server.protocol.status import Login, StatusResult

if TYPE_CHECKING:
    from marvin_server.lsp.server import Server


async def status(server: "Server", _: dict[str, Any]) -> StatusResult:
    """Who would answer in a new session."""
    from marvin_server.providers import selection

    settings, busy = server.sessions.settings, server.standing.is_busy
    try:
        choice = await asyncio.to_thread(selection.choose, settings)
    except MarvinError as error:
        auth: Login = "required" if isinstance(error, Auth) else "failed"
        return StatusResult(settings.provider or "", settings.model or "", auth, busy, __version__, str(error))
    return StatusResult(choice.provider.name, choice.provider.model, "ok", busy, __version__, choice.notice)
