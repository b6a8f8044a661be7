"""``marvin/patch/resolve``: a person's word on the hunks of a patch."""

from typing import TYPE_CHECKING, Any

from marvin_server.errors import NoPatch, PatchSettled
from marvin_server.events import Rejection
from marvin_server.lsp.refusals import Refusal
from marvin_server.protocol.errors import Code
from marvin_server.protocol.patches import FailedHunk, PatchResolveParams, PatchResolveResult
from marvin_server.protocol.reading import read

if TYPE_CHECKING:
    from marvin_server.lsp.server import Server


async def resolve(server: "Server", params: dict[str, Any]) -> PatchResolveResult:
    """Keep hunks, or take them back; see ``Session.resolve``."""
    asked = read(params, PatchResolveParams)
    reject = [Rejection(hunk.hunk_id, hunk.reason) for hunk in asked.reject]
    for live in server.sessions.all:
        if live.opened is None:
            continue
        try:
            done = await live.opened.session.resolve(asked.patch_id, asked.accept, reject)
        except NoPatch:
            continue
        except PatchSettled as error:
            raise Refusal(Code.ALREADY_SETTLED, str(error)) from None
        return PatchResolveResult(done.applied, tuple(FailedHunk(hunk.hunk_id, hunk.reason) for hunk in done.failed))
    text = f"there is no open patch {asked.patch_id!r}: marvin/session/load shows those that are"
    raise Refusal(Code.STALE_PATCH, text)
