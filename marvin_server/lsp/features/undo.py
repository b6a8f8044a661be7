"""``marvin/turn/undo`` and ``marvin/turn/redo``: what a turn has changed in files, taken back and brought back."""

from typing import TYPE_CHECKING, Any

from marvin_server.lsp import opening
from marvin_server.lsp.refusals import Refusal
from marvin_server.protocol.errors import Code
from marvin_server.protocol.reading import read
from marvin_server.protocol.turns import FailedFile, FileConflict, TakeBackParams, TakeBackResult

if TYPE_CHECKING:
    from marvin_server.lsp.server import Server
    from marvin_server.session.undo import Direction


async def undo(server: "Server", params: dict[str, Any]) -> TakeBackResult:
    """Take back what the turn has changed."""
    return await _take_back(server, "undo", params)


async def redo(server: "Server", params: dict[str, Any]) -> TakeBackResult:
    """Bring back what the latest undo has taken back."""
    return await _take_back(server, "redo", params)


async def _take_back(server: "Server", kind: "Direction", params: dict[str, Any]) -> TakeBackResult:
    asked = read(params, TakeBackParams)
    live = server.sessions.get(asked.session_id)
    async with live.lock:
        session = await opening.ready_without_turns(server, live)
        if session.running is not None:
            raise Refusal(Code.TURN_ACTIVE, f"a turn is running: wait for it or cancel it, then {kind}", retryable=True)
        assert live.feed is not None
        live.feed.belongs_to(asked.turn_id)
        take_back = session.undo if kind == "undo" else session.redo
        taken = await take_back(asked.turn_id, preview=asked.dry_run)
    if taken.message is not None:
        server.standing.tell_session(live.id)
    failed = tuple(
        FailedFile(
            each.path,
            each.reason,
            tuple(FileConflict(place.line, place.ours, place.theirs) for place in each.conflicts),
        )
        for each in taken.failed
    )
    return TakeBackResult(taken.applied, failed, taken.preview, taken.notes)
