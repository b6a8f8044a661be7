"""``marvin/session/compact``: a summary takes the place of the older part of what was said."""

from typing import TYPE_CHECKING, Any

from marvin_server.lsp import opening
from marvin_server.protocol.reading import read
from marvin_server.protocol.sessions import SessionCompactParams, SessionCompactResult

if TYPE_CHECKING:
    from marvin_server.lsp.server import Server


async def compact(server: "Server", params: dict[str, Any]) -> SessionCompactResult:
    """Show or carry it out, with the model that answers in the session. It takes as long as that does, and keeps nobody
    waiting who asks for something else."""
    from marvin_server.agent.compaction import topics
    from marvin_server.session.compact_command import shown

    asked = read(params, SessionCompactParams)
    live = server.sessions.get(asked.session_id)
    async with live.lock:
        session = await opening.ready(server, live)
    gone = await session.older()
    compacted = await session.compact(asked.focus.strip(), preview=asked.preview)
    return SessionCompactResult(compacted, tuple(topics(gone)), shown(gone, compacted))
