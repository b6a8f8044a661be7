"""Patches that were made and are open for review, in the store, so that a person may decide on them in a later run."""

import json
from collections.abc import Collection
from datetime import UTC, datetime, timedelta

import msgspec
from msgspec import Struct

from marvin_server.errors import StoreError
from marvin_server.events import Edit, Patch
from marvin_server.session.database import Database
from marvin_server.session.kept_file import KeptFile
from marvin_server.session.lease import Leases
from marvin_server.session.patch_events import as_shown, only

_TIME = "%Y-%m-%dT%H:%M:%S.%fZ"
_ROW = "SELECT session_id, turn_id, root, body, open, rejected FROM patches"


class OpenPatch(Struct, frozen=True):
    """What the turn has made of files beneath ``root``: ``patch`` has the lines exactly as they are in the files, and
    ``files`` each edit's file as the checkpoints of the root have it, None where it could not be kept.

    ``open`` are the ids of the hunks that nobody has decided on, ``rejected`` those that were taken back.
    """

    session_id: str
    turn_id: str
    root: str
    patch: Patch
    files: tuple[KeptFile | None, ...]
    open: tuple[str, ...]
    rejected: tuple[str, ...] = ()

    @property
    def pending(self) -> Patch:
        """The patch with its open hunks alone, as events show it."""
        return only(as_shown(self.patch), self.open)

    @property
    def parts(self) -> list[tuple[Edit, KeptFile | None]]:
        """Each edit with its file."""
        return list(zip(self.patch.edits, self.files, strict=True))

    @property
    def size(self) -> int:
        """How many characters its hunks have."""
        hunks = (hunk for edit in self.patch.edits for hunk in edit.hunks)
        return sum(len(line) for hunk in hunks for line in (*hunk.old_lines, *hunk.new_lines))


class Waiting(Struct, frozen=True):
    """The hunks of a patch that nobody has decided on; ``size`` is that of the whole patch in characters."""

    id: str
    open: tuple[str, ...]
    size: int


class OpenPatches:
    """The table of open patches in ``database``.

    A row is written as the patch is planned, and again once it ``is_made``; from then on only what is decided changes,
    and it goes when nothing is open. One that is no more than planned while nobody is at work in its session was left
    by a process that was killed: the patch may be made, in part or not at all.
    """

    def __init__(self, database: Database, leases: Leases) -> None:
        self._db = database
        self._leases = leases

    def put(self, patch: OpenPatch, *, is_made: bool) -> None:
        """Keep the patch, in place of what was kept of it; it becomes the newest."""
        # ASCII alone, as a line may hold halves of characters, for bytes that are none.
        body = json.dumps(msgspec.to_builtins((patch.patch, patch.files)), separators=(",", ":"))
        kept = (patch.patch.id, patch.session_id, patch.turn_id, patch.root, datetime.now(UTC).strftime(_TIME))
        decided = json.dumps(patch.open), json.dumps(patch.rejected)
        with self._db.transaction() as database:
            database.execute(
                "INSERT OR REPLACE INTO patches VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (*kept, is_made, patch.size, *decided, body),
            )

    def drop(self, patch_id: str) -> None:
        """Forget the patch."""
        with self._db.transaction() as database:
            database.execute("DELETE FROM patches WHERE id = ?", (patch_id,))

    def decide(self, patch_id: str, kept: Collection[str], rejected: Collection[str]) -> None:
        """Keep what a person has said of these hunks; a patch without open ones is forgotten."""
        with self._db.transaction() as database:
            row = database.execute("SELECT open, rejected FROM patches WHERE id = ?", (patch_id,)).fetchone()
            if row is None:
                return
            still_open = [name for name in json.loads(row[0]) if name not in {*kept, *rejected}]
            taken_back = [*json.loads(row[1]), *rejected]
            if still_open:
                database.execute(
                    "UPDATE patches SET open = ?, rejected = ? WHERE id = ?",
                    (json.dumps(still_open), json.dumps(taken_back), patch_id),
                )
            else:
                database.execute("DELETE FROM patches WHERE id = ?", (patch_id,))

    def of(self, session_id: str) -> list[OpenPatch]:
        """Those of the session that were made, the oldest first."""
        return self._found("session_id = ? AND is_made", session_id)

    def find(self, patch_id: str) -> OpenPatch | None:
        """The patch of this id, when it was made."""
        return next(iter(self._found("id = ? AND is_made", patch_id)), None)

    def left(self, session_id: str) -> list[OpenPatch]:
        """Those of the session that a process which was killed has left behind as planned."""
        left = self._found("session_id = ? AND NOT is_made", session_id)
        is_at_work = self._leases.is_here(session_id) or self._leases.is_elsewhere(session_id)
        return [] if left and is_at_work else left

    def waiting(self, session_id: str) -> list[Waiting]:
        """How those in ``of`` stand."""
        rows = self._db.rows(
            "SELECT id, open, size FROM patches WHERE session_id = ? AND is_made ORDER BY rowid", session_id
        )
        return [Waiting(patch_id, tuple(json.loads(still_open)), size) for patch_id, still_open, size in rows]

    def undone(self, session_id: str, turn_id: str, paths: Collection[str]) -> dict[str, list[str]]:
        """Forget the open hunks of the turn's patches in the files at ``paths``: give them by their patches' ids."""
        gone: dict[str, list[str]] = {}
        for kept in self.of(session_id):
            edits = [edit for edit, file in kept.parts if _places(edit, file) & {*paths}]
            hunks = [hunk.id for edit in edits for hunk in edit.hunks if hunk.id in kept.open]
            if hunks and kept.turn_id == turn_id:
                self.decide(kept.patch.id, (), hunks)
                gone[kept.patch.id] = hunks
        return gone

    def contents(self, root: str, *, days: int) -> set[str]:
        """The ids of the contents beneath ``root`` that a review may need. Patches there that are older than ``days``
        are forgotten."""
        oldest = (datetime.now(UTC) - timedelta(days=days)).strftime(_TIME)
        with self._db.transaction() as database:
            database.execute("DELETE FROM patches WHERE root = ? AND at < ?", (root, oldest))
        files = (file for patch in self._found("root = ?", root) for file in patch.files if file)
        return {state.id for file in files for state in (file.before, file.after) if state}

    def _found(self, condition: str, value: str) -> list[OpenPatch]:
        rows = self._db.rows(f"{_ROW} WHERE {condition} ORDER BY rowid", value)
        try:
            return [_read(row) for row in rows]
        except (ValueError, msgspec.ValidationError) as error:
            raise StoreError(f"a patch that is open for review cannot be read by this Marvin: {error}") from error


def _read(row: tuple[str, str, str, str, str, str]) -> OpenPatch:
    session_id, turn_id, root, body, still_open, rejected = row
    patch, files = msgspec.convert(json.loads(body), tuple[Patch, tuple[KeptFile | None, ...]])
    decided = tuple(json.loads(still_open)), tuple(json.loads(rejected))
    return OpenPatch(session_id, turn_id, root, patch, files, *decided)


def _places(edit: Edit, file: KeptFile | None) -> set[str | None]:
    """Where the file of ``edit`` is or was."""
    return {file.path, file.new_path} if file else {edit.path, edit.new_path}
