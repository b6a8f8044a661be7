"""Whether a patch fits the files as they are, and what becomes of each: all of it, or every reason why not."""

import posixpath
from collections.abc import Callable, Sequence
from itertools import pairwise

from marvin_server.edits.hunks import FileChange, Region, numbered, replaced, whole
from marvin_server.edits.lines import ended, split
from marvin_server.edits.locate import Found, Locator, Missing, Several, finished, opens, regions
from marvin_server.edits.nearest import nearest
from marvin_server.edits.patch import Add, Delete, Misfit, Operation, Patch, Piece, Problem, Update
from marvin_server.errors import PermissionNeeded, ToolError

_HINTS = 3
_EXISTS = "it exists already, so it cannot be added. Update it, or delete it in the same patch."

Read = Callable[[str], str | None]
"""The text of the file at a path, None where there is nothing. Raises ToolError for what is no text."""


def verify(patch: Patch, read: Read) -> list[FileChange]:
    """What ``patch`` changes, one value for each file, in the order of the patch; nothing is written.

    Raises ``Misfit`` with every problem of the patch, and ``PermissionNeeded`` as ``read`` does.
    """
    by_path: dict[str, list[Operation]] = {}
    for operation in patch.operations:
        by_path.setdefault(posixpath.normpath(operation.path), []).append(operation)
    verifying = _Verifying(read)
    changes = [change for path, group in by_path.items() if (change := verifying.change(path, group))]
    targets = [change.move_to for change in changes if change.move_to]
    for change in changes:
        if change.move_to and (change.move_to in by_path or targets.count(change.move_to) > 1):
            verifying.problem(change.path, f"'{change.move_to}', where it should go, is changed by this patch too.")
    if not verifying.problems and all(_is_idle(change) for change in changes):
        verifying.problems += [Problem(change.path, "it already is as the patch would make it.") for change in changes]
    if verifying.problems:
        raise Misfit(verifying.problems)
    return [change for change in changes if not _is_idle(change)]


def _is_idle(change: FileChange) -> bool:
    return change.old == change.new and not change.move_to and change.executable is None


class _Verifying:
    """One verification: what it has found wrong so far."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._hints = _HINTS
        self.problems: list[Problem] = []

    def problem(self, path: str, message: str, hunk: int | None = None) -> None:
        self.problems.append(Problem(path, message, hunk))

    def change(self, path: str, operations: Sequence[Operation]) -> FileChange | None:
        """What ``operations``, all on the file ``path``, make of it; None after a problem."""
        try:
            old = self._read(path)
            match operations:
                case [Add() as add]:
                    return self._added(path, old, add)
                case [Delete() as delete]:
                    return self._deleted(path, old, delete)
                case [Delete(), Add() as add] if old is not None:
                    return FileChange(path, old, add.text, whole(path, old, add.text), executable=add.executable)
                case _:
                    updates = [operation for operation in operations if isinstance(operation, Update)]
                    if len(updates) == len(operations):
                        return self._updated(path, old, updates)
                    self.problem(path, "the patch adds, deletes or updates it more than once; make that one operation.")
        except PermissionNeeded:
            raise
        except ToolError as error:
            self.problem(path, str(error))
        return None

    def _added(self, path: str, old: str | None, add: Add) -> FileChange | None:
        if old is not None:
            self.problem(path, _EXISTS)
            return None
        return FileChange(path, None, add.text, whole(path, None, add.text), executable=add.executable)

    def _deleted(self, path: str, old: str | None, delete: Delete) -> FileChange | None:
        if old is None:
            self.problem(path, "there is no such file to delete.")
            return None
        if delete.pieces is not None:
            left = self._updated(path, old, [Update(path, delete.pieces)])
            if left is None:
                return None
            if left.new:
                self.problem(path, "it has more in it than the lines that the patch deletes.")
                return None
        return FileChange(path, old, None, whole(path, old, None))

    def _updated(self, path: str, old: str | None, updates: Sequence[Update]) -> FileChange | None:
        if old is None and not all(update.may_add for update in updates):
            self.problem(path, "there is no such file to update.")
            return None
        if old and any(update.may_add for update in updates):
            self.problem(path, _EXISTS)
            return None
        move_to = self._target(path, updates)
        before = len(self.problems)
        lines = split(old or "")
        changed, open_end, notes = self._placed(path, lines, updates)
        if len(self.problems) > before:
            return None
        changed = finished(lines, changed, open_end=open_end)
        new = "".join(replaced(lines, changed))
        executable = next((update.executable for update in updates if update.executable is not None), None)
        hunks = numbered(path, lines, changed)
        return FileChange(path, old, new, hunks, move_to, executable, tuple(notes))

    def _target(self, path: str, updates: Sequence[Update]) -> str | None:
        targets = {posixpath.normpath(update.move_to) for update in updates if update.move_to} - {path}
        if len(targets) > 1:
            self.problem(path, f"it cannot move to {len(targets)} places.")
        for target in targets:
            try:
                exists = self._read(target) is not None
            except PermissionNeeded:
                raise
            except ToolError as error:
                self.problem(path, f"it cannot move to '{target}': {error}")
                continue
            if exists:
                self.problem(path, f"'{target}', where it should go, exists already.")
            return target
        return None

    def _placed(
        self, path: str, lines: Sequence[str], updates: Sequence[Update]
    ) -> tuple[list[Region], bool, list[str]]:
        """Where all pieces go, whether the file ends without a line end, and how they did not fit exactly."""
        locator = Locator(lines, [piece for update in updates for piece in update.pieces])
        placed: list[tuple[Region, int]] = []
        notes: list[str] = []
        open_end = bool(lines) and not ended(lines[-1])
        number = 0
        for update in updates:
            after = drift = 0
            for piece in update.pieces:
                number += 1
                found = locator.find(piece, after=after, drift=drift) if update.in_order else locator.find_block(piece)
                if not isinstance(found, Found):
                    self._unplaced(path, number, lines, piece, found)
                    continue
                after = found.start + len(found.piece.old)
                drift += found.off
                open_end = opens(piece, is_open=open_end)
                if found.note:
                    notes.append(f"hunk {number} {found.note}")
                placed += [(region, number) for region in regions(found, lines)]
        placed.sort(key=lambda one: (one[0].start, one[0].end))
        for (first, one), (second, other) in pairwise(placed):
            if second.start < first.end:
                self.problem(path, f"it changes lines that hunk {min(one, other)} changes too.", max(one, other))
        return [region for region, _ in placed], open_end, notes

    def _unplaced(self, path: str, number: int, lines: Sequence[str], piece: Piece, found: Missing | Several) -> None:
        if isinstance(found, Several):
            where = ", ".join(map(str, found.lines)) + (" and more" if found.more else "")
            advice = "Add lines around it, or '@@' with a line above it, until only one fits."
            self.problem(path, f"it fits more than once, at lines {where}. {advice}", number)
            return
        reason = found.reason
        if piece.old and self._hints:
            self._hints -= 1
            reason += " " + nearest("".join(lines), "\n".join(piece.old), "the patch").hint
        self.problem(path, reason, number)
