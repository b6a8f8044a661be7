"""``marvin/patch/resolve``: a person's word on the hunks of a patch."""

from typing import TYPE_CHECKING, Any

from marvin_server.errors import NoPatch, PatchSettled
from marvin_server.events import Rejection
from marvin_server.lsp import opening
from marvin_server.lsp.refusals import Refusal
from marvin_server.protocol.errors import Code
from marvin_server.protocol.patches import FailedHunk, PatchResolveParams, PatchResolveResult
from marvin_server.protocol.reading import read

if TYPE_CHECKING:
    from marvin_server.lsp.server import Server
    from marvin_server.session.session import Session


async def resolve(server: "Server", params: dict[str, Any]) -> PatchResolveResult:
    """Keep hunks, or take them back; see ``Session.resolve``."""
    asked = read(params, PatchResolveParams)
    reject = [Rejection(hunk.hunk_id, hunk.reason) for hunk in asked.reject]
    for session in await _candidates(server, asked.patch_id):
        try:
            done = await session.resolve(asked.patch_id, asked.accept, reject)
        except NoPatch:
            continue
        except PatchSettled as error:
            raise Refusal(Code.ALREADY_SETTLED, str(error)) from None
        server.standing.watch(session.id)
        return PatchResolveResult(done.applied, tuple(FailedHunk(hunk.hunk_id, hunk.reason) for hunk in done.failed))
    text = f"there is no open patch {asked.patch_id!r}: marvin/session/load shows those that are"
    raise Refusal(Code.STALE_PATCH, text)


async def _candidates(server: "Server", patch_id: str) -> "list[Session]":
    """The session that has the patch, of whichever run it is, else all that are open: the patch may wait to be made."""
    kept = server.sessions.store.patches.find(patch_id)
    if kept is None:
        return [live.opened.session for live in server.sessions.all if live.opened]
    live = server.sessions.get(kept.session_id)
    if live.opened is None:
        async with live.lock:
            await opening.ready_without_turns(server, live)
    assert live.opened is not None
    if live.running is None and live.feed is not None:
        live.feed.belongs_to(kept.turn_id)
    return [live.opened.session]
