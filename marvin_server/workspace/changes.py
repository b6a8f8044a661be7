"""Changes to several files at once: all of them happen, or none.

Every new content is written beside its place and synced first; then each file is swapped by one rename, with the old
one kept under another name until all are done. What fails in between is taken back, except from a file that somebody
else has written since: that one stays, and the old version stays beside it. A process that is killed in between
leaves every single file old or new and never torn, and perhaps spares beside them, of which the next change in that
folder removes what nobody needs (see ``spares``); which of several files are new is not defined then, nor after a loss
of power. A file with several hard links is overwritten in place, so that all of them see the change: that one can be
torn by a kill.
"""

import errno
import os
import posixpath
import stat
from collections.abc import Callable, Sequence
from contextlib import suppress

from msgspec import Struct

from marvin_server.errors import ToolError
from marvin_server.workspace import attributes, documents, encodings, spares
from marvin_server.workspace.confine import Root, write_all
from marvin_server.workspace.documents import Document
from marvin_server.workspace.names import printable

_NO_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EACCES}


class Change(Struct, frozen=True):
    """What one file becomes. ``document`` is the file as it was read, None for one that is made.

    ``text`` is its new content, None to delete it; ``move_to`` its new place, ``executable`` whether it gets or loses
    that permission, where they change. A file that is made ``private`` is for its owner alone. Paths are relative to
    the root.
    """

    path: str
    document: Document | None
    text: str | None
    move_to: str | None = None
    executable: bool | None = None
    private: bool = False


def stage(root: Root, changes: Sequence[Change]) -> "Staged":
    """Write the new contents of ``changes`` beside their places.

    Raises ``PermissionNeeded`` for any protected path before anything is done; ``ToolError`` when a new file exists
    already, or for what the system says; the files are then as they were.
    """
    planned = [_planned(root, change) for change in changes]
    _refuse_doubles(planned)
    for folder in {posixpath.dirname(place) for plan in planned for place in (plan.source, plan.target) if place}:
        root.sweep(folder)
    staged = Staged(root)
    try:
        for plan in planned:
            staged.add(plan)
    except BaseException as error:
        staged.take_back(error)
        raise
    return staged


class _Plan(Struct, frozen=True):
    """A change that may be made: where the file truly is, where it goes, its new bytes, and its status as it is."""

    change: Change
    source: str | None
    target: str | None
    content: bytes
    status: os.stat_result | None


def _planned(root: Root, change: Change) -> _Plan:
    path, document = change.path, change.document
    source = target = status = None
    if document is not None:
        with documents.explained(root, path, "writing"):
            root.check_writable(path)
            if (change.text is None or change.move_to) and root.link(path) is not None:
                raise ToolError(f"'{printable(path)}' is a symbolic link. Name the file that it leads to.")
            source = root.place(path)
            status = root.stat(source)
        if status.st_nlink > 1 and change.executable is not None:
            raise ToolError(f"'{printable(path)}' has several names; its permissions cannot be changed here.")
    if change.text is not None:
        target = change.move_to or source or path
        if target != source:
            with documents.explained(root, target, "creating"):
                root.check_writable(target)
                if root.exists(target) and not (status and os.path.samestat(root.stat(target), status)):
                    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target)
    encoding = document.encoding if document else "utf-8"
    content = b"" if change.text is None else encodings.encode(change.text, encoding, path)
    return _Plan(change, source, target, content, status)


def _refuse_doubles(planned: Sequence[_Plan]) -> None:
    """Raise ToolError when two paths lead to one file: the second change would undo the first."""
    seen: dict[str | tuple[int, int], str] = {}
    for plan in planned:
        keys: set[str | tuple[int, int]] = {posixpath.normpath(place) for place in (plan.source, plan.target) if place}
        if plan.status:
            keys.add((plan.status.st_dev, plan.status.st_ino))
        for key in keys:
            if key in seen:
                names = f"'{printable(seen[key])}' and '{printable(plan.change.path)}'"
                raise ToolError(f"{names} are one file; change it by one of its names.")
            seen[key] = plan.change.path


class _Undo(Struct, frozen=True):
    """How one step is taken back, and the name of the old version that it needs for that."""

    run: Callable[[], object]
    backup: str | None = None


class Staged:
    """Changes that are ready to be made, by ``commit``, or given up, by ``take_back``."""

    def __init__(self, root: Root) -> None:
        self._root = root
        self._steps: list[Callable[[], None]] = []
        self._undo: list[_Undo] = []
        self._spares: list[str] = []
        self._folders: list[str] = []

    def commit(self) -> None:
        """Make all changes, or none of them. Raises ToolError when a file is no longer as it was read, when a new one
        exists already, or for what the system says; the files are then as they were."""
        try:
            for step in self._steps:
                step()
        except BaseException as error:
            self.take_back(error)
            raise
        self._remove_spares()

    def add(self, plan: _Plan) -> None:
        """Write the new content of ``plan`` beside its place."""
        self._steps += self._staged(plan)

    def _staged(self, plan: _Plan) -> list[Callable[[], None]]:
        """Write the new content beside its place. The steps that are then left put it there."""
        source, target = plan.source, plan.target
        if source and source == target and plan.status and plan.status.st_nlink > 1:
            return [lambda: self._overwrite(plan)]
        if target is None:
            return [lambda: self._take_away(plan)]
        moves = source != target
        with documents.explained(self._root, target if moves else plan.change.path, "creating" if moves else "writing"):
            self._make_folders(target)
            spare = self._written(plan, target)
            if not moves:
                return [lambda: self._swap(plan, spare)]
            if source is None:
                return [lambda: self._publish(plan, target, spare)]
            if self._root.exists(target):  # the same file, where the file system folds case
                return [lambda: self._swap(plan, spare), lambda: self._rename_in_place(source, target)]
            return [lambda: self._publish(plan, target, spare), lambda: self._take_away(plan)]

    def take_back(self, reason: BaseException) -> None:
        """Undo all steps, the last first, and remove what was made on the way.

        Raises ToolError from ``reason`` when an old version cannot be put back; it then stays where the error says.
        """
        left: list[str] = []
        for undo in reversed(self._undo):
            try:
                undo.run()
            except (OSError, ToolError):
                left += [undo.backup] if undo.backup and self._root.exists(undo.backup) else []
        self._spares = [spare for spare in self._spares if spare not in left]
        self._remove_spares()
        for folder in reversed(self._folders):
            with suppress(OSError):
                self._root.remove_directory(folder)
        if left:
            names = ", ".join(f"'{printable(name)}'" for name in left)
            raise ToolError(f"{reason} Not all files could be put back; their old versions are in {names}.") from reason

    def _remove_spares(self) -> None:
        """Remove the names that were only needed on the way: new versions not put in place, and old ones."""
        for spare in self._spares:
            with suppress(OSError):
                self._root.permitting(spare).remove(spare)

    def _make_folders(self, path: str) -> None:
        names = posixpath.dirname(path).split("/")
        for depth in range(1, len(names) + 1):
            folder = "/".join(names[:depth])
            if folder and not self._root.exists(folder):
                self._root.make_directory(folder)
                self._folders.append(folder)

    def _spare(self, path: str, kind: spares.Kind) -> str:
        spare = posixpath.join(posixpath.dirname(path), spares.name(kind))
        self._spares.append(spare)
        return spare

    def _written(self, plan: _Plan, target: str, kind: spares.Kind = "new") -> str:
        spare = self._spare(target, kind)
        root = self._root.permitting(spare)
        mode = 0o600 if plan.status or plan.change.private else 0o666
        fd = root.open(spare, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        try:
            write_all(fd, plan.content)
            if plan.source:
                self._carry_over(plan.source, fd)
            if plan.change.executable is not None:
                os.fchmod(fd, _with_executable(stat.S_IMODE(os.fstat(fd).st_mode), executable=plan.change.executable))
            os.fsync(fd)
        finally:
            os.close(fd)
        return spare

    def _carry_over(self, source: str, fd: int) -> None:
        old = self._root.open(source)
        try:
            attributes.carry_over(old, fd, source)
        finally:
            os.close(old)

    def _swap(self, plan: _Plan, spare: str) -> None:
        source = self._as_read(plan)
        with documents.explained(self._root, plan.change.path, "writing"):
            backup = self._spare(source, "old")
            try:
                self._root.permitting(backup).hard_link(source, backup)
            except OSError as error:
                if error.errno not in _NO_LINKS:
                    raise
                self._spares.remove(backup)
                backup = self._copied(plan, source)
            self._undo.append(_Undo(lambda: self._put_back(backup, source, plan.content), backup))
            self._rename(spare, source)

    def _copied(self, plan: _Plan, source: str) -> str:
        """The file as it is, beside itself, where the file system has no hard links."""
        document = plan.change.document
        old = b"" if document is None else encodings.encode(document.text, document.encoding, source)
        return self._written(_Plan(Change(source, document, None), source, source, old, plan.status), source, "old")

    def _publish(self, plan: _Plan, path: str, spare: str) -> None:
        """Give ``spare`` the name ``path``, which must be free."""
        with documents.explained(self._root, path, "creating"):
            try:
                self._root.permitting(spare).hard_link(spare, path)
            except OSError as error:
                if error.errno not in _NO_LINKS:
                    raise
                if self._root.exists(path):
                    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path) from error
                self._rename(spare, path)
            self._undo.append(_Undo(lambda: self._withdraw(path, plan.content)))

    def _take_away(self, plan: _Plan) -> None:
        source = self._as_read(plan)
        with documents.explained(self._root, plan.change.path, "writing"):
            backup = self._spare(source, "old")
            self._undo.append(_Undo(lambda: self._put_back(backup, source, None), backup))
            self._rename(source, backup)

    def _rename_in_place(self, source: str, target: str) -> None:
        with documents.explained(self._root, target, "creating"):
            self._root.rename(source, target)
            self._undo.append(_Undo(lambda: self._root.rename(target, source)))

    def _overwrite(self, plan: _Plan) -> None:
        document, text = plan.change.document, plan.change.text
        if document is not None and text is not None:
            written = documents.write(self._root, document, text)
            self._undo.append(_Undo(lambda: documents.write(self._root, written, document.text)))

    def _as_read(self, plan: _Plan) -> str:
        """Where the file is. Raises ToolError when it is not what was read any more."""
        document, status, source = plan.change.document, plan.status, plan.source or ""
        with documents.explained(self._root, plan.change.path, "writing"):
            is_same = status is not None and os.path.samestat(self._root.stat(source), status)
        if not is_same or document is None or documents.read(self._root, source).digest != document.digest:
            raise changed(plan.change.path)
        return source

    def _put_back(self, backup: str, source: str, new: bytes | None) -> None:
        """Give ``backup`` its name ``source`` again. Raises ToolError when somebody has written ``source`` since."""
        if self._content(source, new) not in {new, self._content(backup)}:
            raise changed(source)
        self._rename(backup, source)

    def _withdraw(self, path: str, new: bytes) -> None:
        """Remove the file ``path``, which was made here. Raises ToolError when somebody has written it since."""
        if self._content(path, new) != new:
            raise changed(path)
        self._root.remove(path)

    def _content(self, path: str, at_most: bytes | None = None) -> bytes | None:
        """The content of ``path``, None where there is nothing. Raises ToolError when it is much larger than that."""
        root = self._root.permitting(path)
        limit = max(documents.LARGEST, len(at_most or b""))
        return documents.read_bytes(root, path, limit) if root.exists(path) else None

    def _rename(self, source: str, target: str) -> None:
        self._root.permitting(source).permitting(target).rename(source, target)


def changed(path: str) -> ToolError:
    """The error for a file on disk that is not as it was read."""
    return ToolError(f"'{printable(path)}' has changed on disk since it was read. Read it again.")


def _with_executable(mode: int, *, executable: bool) -> int:
    """``mode`` with execution allowed to whoever may read, or to nobody."""
    return mode | (mode & 0o444) >> 2 if executable else mode & ~0o111
