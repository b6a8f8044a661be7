"""The workspace's root folder: every file is opened beneath it in one operation, and protected names are asked for."""

import copy
import errno
import os
import posixpath
import stat
import weakref
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from marvin_server.errors import PathRefused, PermissionNeeded
from marvin_server.workspace.beneath import NAME_ONLY, Opened, Opener, best_opener
from marvin_server.workspace.names import is_ticket, printable, protection

_LONGEST_PATH = 4095
_LONGEST_NAME = 255
_FOLDER = os.O_RDONLY | os.O_DIRECTORY
_UNBLOCKED = os.O_NONBLOCK | os.O_NOCTTY
_REFUSALS = {
    errno.EXDEV: "leads out of the workspace (absolute symbolic links always count as leading out)",
    errno.ELOOP: "goes through a loop of symbolic links",
    errno.ENAMETOOLONG: "is too long",
    errno.EAGAIN: "is being moved at this moment; try again",
}


# Why a path, relative to the root and without links, needs a question before it is read or (True) written.
Guard = Callable[[str, bool], str | None]


class Root:
    """A folder that is opened once; paths are relative to it, ``/`` between names.

    A symbolic link is followed when it is relative and stays beneath the root. One that leads out is refused, and so
    is every absolute one, even when it points inside: the kernel refuses it, and so does the portable way.

    All methods that take a path raise ``PathRefused`` for one that leads out, is too long or holds a NUL, for anything
    in ``.tickets/``, and for what is no regular file or folder; ``PermissionNeeded`` before anything is done when the
    path, or the file that it leads to, is protected and not permitted; ``OSError`` as the system gives it otherwise.
    The descriptor closes with the last view of the root.
    """

    def __init__(self, path: Path, opener: Opener | None = None, guard: Guard | None = None) -> None:
        """Open the folder ``path``. ``opener`` overrides how paths are opened beneath it; ``guard`` names more paths
        that need a question. Raises OSError."""
        self.path = path.resolve(strict=True)
        self.guard = guard
        self._folder = _Folder(os.open(self.path, _FOLDER | os.O_CLOEXEC))
        self._opener = opener
        self._permitted: tuple[tuple[str, bool], ...] = ()
        self._watchers: list[Callable[[str], None]] = []

    @contextmanager
    def watched(self, watcher: Callable[[str], None]) -> Generator[None]:
        """While the block runs, tell ``watcher`` of every file that may be made, changed or deleted through any view of
        this root: its true path, before anything is done."""
        self._watchers.append(watcher)
        try:
            yield
        finally:
            self._watchers.remove(watcher)

    def permitting(self, path: str, *, writing: bool = True) -> "Root":
        """A view of this one that may also use the protected ``path``, and make the folders above it; without
        ``writing`` only read it."""
        view = copy.copy(self)
        view._permitted = (*self._permitted, (path, writing))
        return view

    def protection(self, path: str, *, writing: bool) -> str | None:
        """Why the true ``path`` needs a question first, or None when it needs none."""
        reason = protection(path, writing=writing)
        return reason or (self.guard and self.guard(path, writing))

    def close(self) -> None:
        """Close the folder for all views; nothing can be opened afterwards."""
        self._folder.close()

    def open(self, path: str, flags: int = os.O_RDONLY, mode: int = 0o666) -> int:
        """A descriptor of the regular file or folder ``path``; the caller closes it.

        ``flags`` are those of ``os.open``. A file that O_CREAT makes gets ``mode``; its folder must exist, and a
        symbolic link that leads nowhere is not followed to make one.
        """
        writing = flags & os.O_ACCMODE != os.O_RDONLY or bool(flags & (os.O_CREAT | os.O_TRUNC))
        if flags & os.O_CREAT and flags & os.O_EXCL:
            return self._create(path, flags, mode)
        try:
            return self._open_existing(path, flags & ~(os.O_CREAT | os.O_TRUNC), flags & os.O_TRUNC, writing)
        except FileNotFoundError:
            if not flags & os.O_CREAT:
                raise
        return self._create(path, flags, mode)

    def place(self, path: str) -> str:
        """Where ``path`` truly is, relative to the root, without links or dots."""
        with self._opened(path, NAME_ONLY, writing=False, asks=False) as opened:
            return opened.path

    def place_of_any(self, path: str) -> str:
        """As ``place``; of a path where there is nothing, where it would be made."""
        named, missing = posixpath.normpath(path), ""
        while True:
            try:
                return posixpath.normpath(posixpath.join(self.place(named or "."), missing))
            except (FileNotFoundError, NotADirectoryError):
                named, name = posixpath.split(named)
                missing = posixpath.join(name, missing)

    def link(self, path: str) -> str | None:
        """Where ``path`` points when its last name is a symbolic link."""
        head, name = posixpath.split(checked(path).rstrip("/"))
        with self._opened(head, _FOLDER, writing=False, asks=False) as folder:
            try:
                return os.readlink(name, dir_fd=folder.fd)
            except OSError:
                return None

    def stat(self, path: str) -> os.stat_result:
        """The status of what ``path`` leads to; protected names need no question for it."""
        with self._opened(path, NAME_ONLY, writing=False, asks=False) as opened:
            return os.fstat(opened.fd)

    def make_directory(self, path: str, mode: int = 0o777) -> None:
        """Make the folder ``path`` and those above it, with this ``mode``; one that exists is left as it is."""
        names = posixpath.normpath(path).split("/")
        missing: list[str] = []
        while not self._is_folder("/".join(names)):
            missing.append(names.pop())
        for name in reversed(missing):
            names.append(name)
            with self._parent("/".join(names)) as (folder, last), suppress(FileExistsError):
                os.mkdir(last, mode, dir_fd=folder)
        if missing and not self._is_folder(path):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)

    def replace(self, path: str, fd: int, content: bytes) -> None:
        """Put a file with ``content`` in the place of the open file ``fd``, at once or not at all, on disk on return.

        ``path`` must still lead to that file, else FileNotFoundError is raised; a symbolic link on the way stays.
        ``attributes.carry_over`` says what is kept; ToolError is raised when that cannot be.
        """
        from marvin_server.workspace import attributes, spares

        status = os.fstat(fd)
        with (
            self._opened(path, NAME_ONLY, writing=True) as opened,
            self._opened(posixpath.dirname(opened.path), _FOLDER, writing=False) as folder,
        ):
            name = posixpath.basename(opened.path)
            spares.sweep(folder.fd)
            spare = spares.name("new")
            new = os.open(spare, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=folder.fd)
            try:
                with os.fdopen(new, "wb", buffering=0) as file:
                    write_all(new, content)
                    attributes.carry_over(fd, new, path)
                    os.fsync(file)
                if not os.path.samestat(os.stat(name, dir_fd=folder.fd, follow_symlinks=False), status):
                    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
                os.replace(spare, name, src_dir_fd=folder.fd, dst_dir_fd=folder.fd)
            except BaseException:
                os.unlink(spare, dir_fd=folder.fd)
                raise
            _sync(folder.fd)

    def sweep(self, folder: str) -> None:
        """See ``spares.sweep``; what cannot be opened is left as it is."""
        from marvin_server.workspace import spares

        with suppress(OSError), self._opened(folder, _FOLDER, writing=False, asks=False) as opened:
            spares.sweep(opened.fd)

    def exists(self, path: str) -> bool:
        """Whether there is anything called ``path``, if only a symbolic link that leads nowhere; nobody is asked."""
        try:
            return self.link(path) is not None or bool(self.stat(path))
        except (FileNotFoundError, NotADirectoryError):
            return False

    def check_readable(self, path: str) -> None:
        """Raise what reading ``path`` would raise for its name, whether there is such a file or not."""
        try:
            with self._opened(path, NAME_ONLY, writing=False):
                return
        except (FileNotFoundError, NotADirectoryError):
            self._ask(path, self.place_of_any(path), writing=False)

    def check_writable(self, path: str) -> None:
        """Raise what writing to ``path`` would raise before anything is done, whether there is such a file or not."""
        try:
            with self._opened(path, NAME_ONLY, writing=True):
                return
        except FileNotFoundError:
            with suppress(FileNotFoundError), self._parent(path):
                return

    def rename(self, source: str, target: str) -> None:
        """Give the file ``source`` the name ``target``, whatever had it; of a symbolic link, the link is renamed."""
        with self._parent(source) as (folder, name), self._parent(target) as (new_folder, new_name):
            os.rename(name, new_name, src_dir_fd=folder, dst_dir_fd=new_folder)
            _sync(new_folder)
            _sync(folder)

    def hard_link(self, source: str, target: str) -> None:
        """Give the file ``source`` the second name ``target``, which must be free: else FileExistsError."""
        with self._parent(source) as (folder, name), self._parent(target) as (new_folder, new_name):
            os.link(name, new_name, src_dir_fd=folder, dst_dir_fd=new_folder, follow_symlinks=False)
            _sync(new_folder)

    def make_link(self, path: str, target: str) -> None:
        """Make the symbolic link ``path``, which must be free. ``target`` may be anything: nothing is followed."""
        with self._parent(path) as (folder, name):
            os.symlink(target, name, dir_fd=folder)
            _sync(folder)

    def remove(self, path: str) -> None:
        """Delete the file ``path``; of a symbolic link, the link."""
        with self._parent(path) as (folder, name):
            os.unlink(name, dir_fd=folder)
            _sync(folder)

    def remove_directory(self, path: str) -> None:
        """Delete the empty folder ``path``."""
        with self._parent(path) as (folder, name):
            os.rmdir(name, dir_fd=folder)

    def _is_folder(self, path: str) -> bool:
        """Whether the folder ``path`` exists. Raises NotADirectoryError when a file is in its place."""
        try:
            with self._opened(path, NAME_ONLY | os.O_DIRECTORY, writing=False, asks=False):
                return True
        except FileNotFoundError:
            return False

    def _open_existing(self, path: str, flags: int, truncate: int, writing: bool) -> int:
        with self._opened(path, flags | _UNBLOCKED, writing=writing) as opened:
            fd = os.dup(opened.fd)
        if not flags & os.O_NONBLOCK:
            os.set_blocking(fd, True)
        if truncate:
            os.ftruncate(fd, 0)
        return fd

    def _create(self, path: str, flags: int, mode: int) -> int:
        with self._parent(path) as (folder, name):
            flags = (flags & ~os.O_TRUNC) | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            return os.open(name, flags, mode, dir_fd=folder)

    @contextmanager
    def _parent(self, path: str) -> Generator[tuple[int, str]]:
        """The open folder that ``path`` is a name in, and the name, once writing there is allowed."""
        head, name = posixpath.split(checked(path).rstrip("/"))
        if name in {"", ".", ".."}:
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        with ExitStack() as stack:
            try:
                folder = stack.enter_context(self._opened(head, _FOLDER, writing=False, asks=False))
            except FileNotFoundError:
                self._ask(path, posixpath.normpath(path), writing=True)
                raise
            self._ask(path, posixpath.normpath(posixpath.join(folder.path, name)), writing=True)
            yield folder.fd, name

    @contextmanager
    def _opened(self, path: str, flags: int, *, writing: bool, asks: bool = True) -> Generator[Opened]:
        """What ``path`` leads to, open while the block runs, once it is known to be allowed."""
        checked(path)
        self._opener = self._opener or best_opener(self._folder.fd)
        try:
            opened = self._opener(self._folder.fd, path or ".", flags)
        except OSError as error:
            if error.errno in _REFUSALS:
                raise PathRefused(f"'{printable(path)}' {_REFUSALS[error.errno]}.") from error
            if error.errno in {errno.ENXIO, errno.ENODEV}:
                raise _no_file(path) from error
            error.filename = path
            raise
        try:
            _refuse_tickets(path, opened.path)
            if asks:
                self._ask(path, opened.path, writing=writing)
            if not _is_plain(os.fstat(opened.fd)):
                raise _no_file(path)
            yield opened
        finally:
            os.close(opened.fd)

    def _ask(self, named: str, true: str, *, writing: bool) -> None:
        """Raise PermissionNeeded for the file at ``true``, or for the protected name that leads to it."""
        _refuse_tickets(named, true)
        for path in (true, posixpath.normpath(named)):
            if reason := self.protection(path, writing=writing):
                views = (permitted for permitted, may_write in self._permitted if may_write or not writing)
                if not any(f"{permitted}/".startswith(f"{path}/") for permitted in views):
                    raise PermissionNeeded("protected_path", path, reason)
                break
        if writing:
            for watcher in self._watchers:
                watcher(true)


class _Folder:
    """An open folder that closes when nobody refers to it any more."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.close = weakref.finalize(self, os.close, fd)


def write_all(fd: int, content: bytes) -> None:
    """Write all of ``content`` to ``fd``, however little the system takes at a time."""
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(fd, rest) :]


def checked(path: str) -> str:
    """``path``, absolute or not, unless no file can be called so or it lies in ``.tickets/``: that is PathRefused."""
    try:
        raw = os.fsencode(path)
    except UnicodeEncodeError as error:
        raise PathRefused("The path holds characters that no file name can.") from error
    if b"\0" in raw:
        raise PathRefused(f"'{printable(path)}' holds a NUL character, which no file name can.")
    if len(raw) > _LONGEST_PATH or any(len(name) > _LONGEST_NAME for name in raw.split(b"/")):
        raise PathRefused(f"'{printable(path[:80])}…' is too long for a path.")
    _refuse_tickets(path)
    return path


def _refuse_tickets(*paths: str) -> None:
    for path in paths:
        if is_ticket(path):
            raise PathRefused(f"'{printable(path)}' belongs to the ticket system; use the tk tool for tickets.")


def _sync(folder: int) -> None:
    # Some file systems cannot sync a folder; what was done to it stands all the same.
    with suppress(OSError):
        os.fsync(folder)


def _is_plain(status: os.stat_result) -> bool:
    return stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)


def _no_file(path: str) -> PathRefused:
    return PathRefused(f"'{printable(path)}' is a device, pipe or socket, not a file.")
