"""Where a session works: a root, the working directory in it, and the files beneath, named as a model names them."""

import asyncio
import os
import posixpath
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from marvin_server.errors import PathRefused, PermissionNeeded, ToolError
from marvin_server.workspace import documents, listing
from marvin_server.workspace.confine import Root, checked
from marvin_server.workspace.documents import Document
from marvin_server.workspace.line_ranges import LineRange
from marvin_server.workspace.names import printable

if TYPE_CHECKING:
    from marvin_server.workspace.changes import Change
    from marvin_server.workspace.document_changes import Made
    from marvin_server.workspace.editor import Buffer, Editor
    from marvin_server.workspace.open_files import OpenFiles
    from marvin_server.workspace.process import Processes
    from marvin_server.workspace.search import SearchResult

T = TypeVar("T")


@dataclass(slots=True)
class _Position:
    """Where a workspace is; shared by all views of it."""

    root: Root
    working_dir: str = "."


class Workspace:
    """Files beneath a root, as they are in ``editor`` where they are open there, else on disk. A path is relative to
    the working directory, or absolute and inside the root.

    Every method that takes a path raises ``PathRefused`` (with the working directory and a listing) for one that leads
    out of the root, ``PermissionNeeded`` before anything is done for one that a person must be asked about, and
    ``ToolError`` for what the system says against it.
    """

    def __init__(self, root: Root, editor: "Editor | None" = None) -> None:
        self._position = _Position(root)
        self.editor = editor
        self._permitted: tuple[tuple[str, bool], ...] = ()

    def permitting(self, path: str, *, writing: bool = True) -> "Workspace":
        """A view that shares everything with this one and may also use ``path``, the path of a ``PermissionNeeded``;
        without ``writing`` only read it."""
        view = Workspace.__new__(Workspace)
        view._position = self._position
        view.editor = self.editor
        view._permitted = (*self._permitted, (path, writing))
        return view

    def permits(self, path: str) -> bool:
        """Whether this view may use ``path``, the path of a ``PermissionNeeded``."""
        return any(path == permitted for permitted, _ in self._permitted)

    @property
    def open_files(self) -> "OpenFiles":
        """What is open in the editor."""
        from marvin_server.workspace.open_files import OpenFiles

        return OpenFiles(self.editor)

    @property
    def root(self) -> Root:
        """The root as this view may use it."""
        root = self._position.root
        for path, writing in self._permitted:
            root = root.permitting(path, writing=writing)
        return root

    @property
    def working_dir(self) -> str:
        """The working directory, relative to the root (``.`` is the root)."""
        return self._position.working_dir

    @property
    def directory(self) -> Path:
        """The working directory as an absolute path, for showing it."""
        return self._position.root.path / self.working_dir

    def directory_fd(self) -> int:
        """A descriptor of the working directory, for running commands in it; the caller closes it."""
        with self._advised(), documents.explained(self.root, self.working_dir, "opening"):
            return self.root.open(self.working_dir, os.O_RDONLY | os.O_DIRECTORY)

    def locate(self, path: str) -> str:
        """``path`` relative to the root, ``/`` between names, without dots.

        Raises PathRefused for a path that names something outside the root, begins with ``~``, holds a NUL, is too
        long, or lies in ``.tickets/``.
        """
        with self._advised():
            return self._named(path)

    def named(self, path: str) -> str:
        """What ``path``, which is relative to the root, is called from the working directory."""
        return posixpath.relpath(path, self.working_dir)

    def set_working_dir(self, path: str) -> None:
        """Make the folder ``path`` the working directory.

        A folder outside the root raises PermissionNeeded (``outside_path``, with its real path); on a view that permits
        that one, it becomes the root. Raises ToolError when it is no folder.
        """
        with self._advised():
            try:
                relative = self._named(path)
            except _Outside as outside:
                self._move(outside)
                return
            with documents.explained(self.root, relative, "opening"):
                os.close(self.root.open(relative, os.O_RDONLY | os.O_DIRECTORY))
                self._position.working_dir = self.root.place(relative)

    def read(self, path: str) -> Document:
        """The document at ``path``; see ``documents.read``."""
        with self._advised():
            root, name = self.root, self._file(path)
            if (buffer := self._open_at(root, name)) is None:
                return documents.read(root, name)
            root.check_readable(name)
            return Document(name, buffer.text, "utf-8", None)

    def read_bytes(self, path: str, limit: int = documents.LARGEST) -> bytes:
        """The file on disk at ``path``; see ``documents.read_bytes``."""
        with self._advised():
            return documents.read_bytes(self.root, self._file(path), limit)

    async def read_lines(self, path: str, start: int, end: int) -> LineRange:
        """Lines of the document at ``path``; see ``documents.read_lines``."""
        with self._advised():
            root, name = self.root, self._file(path)
            if (buffer := self._open_at(root, name)) is None:
                return await documents.read_lines(root, name, start, end)
            from marvin_server.workspace.open_files import lines_of

            root.check_readable(name)
            return lines_of(buffer, start, end)

    async def search(
        self,
        processes: "Processes",
        pattern: str,
        *,
        environ: Mapping[str, str],
        path: str = ".",
        glob: str | None = None,
        ignore_case: bool = False,
        literal: bool = False,
        context: int = 0,
        limit: int = 200,
    ) -> "SearchResult":
        """See ``search.search``; the paths in the result are relative to the root."""
        from marvin_server.workspace.search import search

        with self._advised():
            relative = self._named(path)
            with documents.explained(self.root, relative, "searching"):
                return await search(
                    processes,
                    self.root,
                    pattern,
                    environ=environ,
                    unsaved=self.open_files.unsaved(self.root, relative) if self.editor else {},
                    path=relative,
                    glob=glob,
                    ignore_case=ignore_case,
                    literal=literal,
                    context=context,
                    limit=limit,
                )

    async def tree(self, path: str, depth: int) -> str:
        """See ``listing.tree``."""
        with self._advised():
            relative = self._named(path)
            with documents.explained(self.root, relative, "listing"):
                return await asyncio.to_thread(listing.tree, self.root, relative, depth)

    async def apart(self, path: str | None, work: Callable[[], T]) -> T:
        """The result of ``work``, which takes time in proportion to the file ``path``: in a thread when that is large,
        and when no path says how long it may take.

        A cancelled one is waited for, so that no file changes behind anybody's back.
        """
        try:
            is_small = path is not None and self.root.stat(self._named(path)).st_size <= documents.SMALL
        except (OSError, ToolError):
            is_small = True
        if is_small:
            return work()
        from marvin_server.workspace.undisturbed import undisturbed

        return await undisturbed(asyncio.to_thread(work))

    def exists(self, path: str) -> bool:
        """Whether there is anything called ``path``."""
        with self._advised():
            relative = self._file(path)
            with documents.explained(self.root, relative, "finding"):
                return self.root.exists(relative) or self._open_at(self.root, relative) is not None

    async def change(self, label: str, changes: "Sequence[Change]") -> "tuple[Made, ...]":
        """See ``document_changes.change``; the paths are relative to the root."""
        from marvin_server.workspace.document_changes import change

        with self._advised():
            return await change(self.root, self.open_files, label, changes)

    async def save(self) -> tuple[str, ...]:
        """See ``Editor.save``: what a command is to see of the open files is on disk then."""
        return await self.editor.save() if self.editor else ()

    async def reconcile(self) -> tuple[str, ...]:
        """See ``Editor.reconcile``: what a command has done to open files is known then."""
        return await self.editor.reconcile() if self.editor else ()

    def _open_at(self, root: Root, path: str) -> "Buffer | None":
        return self.open_files.at(root, path) if self.editor else None

    def _file(self, path: str) -> str:
        """As ``_named``, of a path that is to name a file."""
        if path.endswith("/"):
            raise ToolError(f"'{printable(path)}' ends with a slash, so it names a folder. Name a file.")
        return self._named(path)

    def _named(self, path: str) -> str:
        if path.startswith("~"):
            raise PathRefused(f"'{printable(path)}' begins with ~, which has no meaning here.")
        base = str(self._position.root.path)
        joined = posixpath.normpath(posixpath.join(self.directory, checked(path)))
        with documents.explained(self.root, path, "finding"):
            real = os.path.realpath(joined)
        for absolute in (joined, real):
            if absolute == base or absolute.startswith(base.rstrip("/") + "/"):
                return self._unescaped(checked(absolute[len(base) :].strip("/") or "."))
        raise _Outside(path, absolute)

    def _unescaped(self, path: str) -> str:
        """``path`` with names as they are on disk where it has them as they are shown (see ``printable``)."""
        names: list[str] = []
        for name in path.split("/"):
            there = listing.names(self.root, "/".join(names) or ".") if "\\" in name else [name]
            names.append(name if name in there else next((one for one in there if printable(one) == name), name))
        return "/".join(names)

    def _move(self, outside: "_Outside") -> None:
        target = outside.real_path
        if not Path(target).is_dir():
            raise outside
        if not self.permits(target):
            raise PermissionNeeded("outside_path", target, f"it is outside the workspace {self._position.root.path}")
        with documents.explained(self._position.root, ".", "opening"):
            self._position.root = Root(Path(target), guard=self._position.root.guard)
        self._position.working_dir = "."

    @contextmanager
    def _advised(self) -> Generator[None]:
        """Tell a model where it is when a path was wrong."""
        try:
            yield
        except PathRefused as error:
            contents = listing.top_level(self._position.root, self.working_dir)
            where = printable(str(self.directory))
            raise PathRefused(f"{error} Working dir: {where}. Directory contents:\n{contents}") from error
        except PermissionNeeded:
            raise
        except ToolError as error:
            if self.working_dir == ".":
                raise
            base, here = printable(str(self._position.root.path)), printable(self.working_dir)
            raise ToolError(f"{error}\n(Named from {base}; the working directory is '{here}' in it.)") from error


class _Outside(PathRefused):
    """A path whose ``real_path`` is not beneath the root."""

    def __init__(self, path: str, real_path: str) -> None:
        super().__init__(f"'{printable(path)}' is outside the workspace.")
        self.real_path = real_path
