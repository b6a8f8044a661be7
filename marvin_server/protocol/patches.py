"""``marvin/patch/resolve`` and ``marvin/document/save``: review of changes, and buffers that a command must see."""

from typing import Literal

from marvin_server.protocol.base import FromClient, FromServer


class RejectedHunk(FromClient, frozen=True):
    """The model gets the ``reason``."""

    hunk_id: str
    reason: str | None = None


class PatchResolveParams(FromClient, frozen=True):
    """Hunks that are in neither list stay open."""

    patch_id: str
    accept: tuple[str, ...] | Literal["all"] = ()
    reject: tuple[RejectedHunk, ...] = ()


class FailedHunk(FromServer, frozen=True):
    """``reason`` is ``stale`` where its lines are not there any more, or are there more than once."""

    hunk_id: str
    reason: str


class PatchResolveResult(FromServer, frozen=True):
    """``applied`` are the ids of the hunks for which it is done as asked: kept, or taken back."""

    applied: tuple[str, ...]
    failed: tuple[FailedHunk, ...]


class DocumentSaveParams(FromServer, frozen=True):
    """Open documents whose unsaved changes are all Marvin's."""

    uris: tuple[str, ...]


class DocumentSaveResult(FromClient, frozen=True):
    """Those that are on disk now."""

    saved: tuple[str, ...]
