"""The files of a workspace for taking back: what is at a path itself, and putting a kept state in its place.

Links are never followed: a path whose folder has become a symbolic link leads nowhere any more.
"""

import errno
import os
import posixpath
import stat
from contextlib import suppress

from msgspec import Struct

from marvin_server.errors import ToolError
from marvin_server.workspace import listing, spares
from marvin_server.workspace.checkpoint_objects import PERMISSIONS, FileState, Objects, state
from marvin_server.workspace.checkpoint_texts import kept_text
from marvin_server.workspace.confine import Root, write_all
from marvin_server.workspace.editor import Buffer
from marvin_server.workspace.open_files import OpenFiles

_NO_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EACCES}


class Found(Struct, frozen=True):
    """What is at a path: a file with its ``content`` (of a link, where it points), or nothing when ``state`` is None.

    With a ``problem`` it is something that cannot be kept or replaced, and the reason. ``blocked_by`` is the path of a
    folder that is there instead, or of a symbolic link on the way: without that, there is nothing. ``buffer`` is the
    open file whose text it is, as ``kept_text`` writes it.
    """

    state: FileState | None = None
    content: bytes = b""
    problem: str | None = None
    blocked_by: str | None = None
    buffer: Buffer | None = None


def look(root: Root, path: str, limit: int) -> Found:
    """What is on disk at ``path`` itself; a file of more than ``limit`` bytes is a problem. Protected ones need no
    question."""
    try:
        return _found(root.permitting(path), path, limit)
    except (FileNotFoundError, NotADirectoryError):
        return Found()
    except ToolError as error:
        return Found(problem=str(error))
    except OSError as error:
        return Found(problem=f"it cannot be read: {error.strerror}")


def look_in_editor(root: Root, path: str, found: Found, open_files: OpenFiles) -> Found | None:
    """What the editor has at ``path``, where ``found`` is on disk; None where it is not open."""
    if found.problem or (found.state is not None and found.state.is_link):
        return None
    try:
        buffer = open_files.at(root, path) or open_files.blank(root, path)
        if buffer is None:
            return None
        content = kept_text(buffer.text, path)
    except ToolError as error:
        return Found(problem=str(error))
    return Found(state(content, found.state.mode if found.state else stat.S_IFREG | 0o644), content, buffer=buffer)


def _found(root: Root, path: str, limit: int) -> Found:
    folder, name = posixpath.split(path)
    for depth in range(folder.count("/") + 1 if folder else 0):
        above = "/".join(path.split("/")[: depth + 1])
        if root.link(above) is not None:
            return Found(problem="its folder is a symbolic link now", blocked_by=above)
    # Where a file system folds case, another name may open the file as well.
    if name not in listing.names(root, folder or "."):
        return Found()
    if (target := root.link(path)) is not None:
        content = os.fsencode(target)
        return Found(state(content, stat.S_IFLNK), content)
    fd = root.open(path, os.O_RDONLY)
    try:
        status = os.fstat(fd)
        if stat.S_ISDIR(status.st_mode):
            return Found(problem="a folder is in its place", blocked_by=path)
        content = bytearray()
        while max(status.st_size, len(content)) <= limit and (piece := os.read(fd, limit + 1 - len(content))):
            content += piece
    finally:
        os.close(fd)
    if max(status.st_size, len(content)) > limit:
        return Found(problem=f"it is over {limit / 1e6:.0f} MB")
    return Found(state(bytes(content), status.st_mode), bytes(content))


def put(root: Root, path: str, found: Found, new: FileState | None, objects: Objects) -> None:
    """Put the file ``new`` (None: no file) in the place of what was ``found`` at ``path``, at once or not at all.

    Folders that are missing are made; owner and group stay. Raises ToolError when something else is there by now, or
    for what the system says, CheckpointError when the content is not there.
    """
    content = b"" if new is None else objects.content(new.id)
    limit = len(found.content)
    try:
        if new is not None and (folder := posixpath.dirname(path)):
            root.permitting(path).make_directory(folder)
        now = look(root, path, limit)
        if now.state != found.state or now.problem:
            raise ToolError("it changed at this moment")
        if new is None:
            root.permitting(path).remove(path)
        else:
            _replace(root, path, found.state, new, content)
    except OSError as error:
        raise ToolError(error.strerror or str(error)) from error


def remove_empty(root: Root, folder: str) -> None:
    """Remove ``folder`` and those above it, as far as nothing is in them."""
    while folder:
        try:
            root.permitting(folder).remove_directory(folder)
        except (OSError, ToolError):
            return
        folder = posixpath.dirname(folder)


def is_emptied(root: Root, path: str, gone: frozenset[str]) -> bool:
    """Whether nothing is at ``path``, or nothing but empty folders, once the files in ``gone`` are removed."""
    if path in gone:
        return True
    try:
        if root.link(path) is not None or not stat.S_ISDIR(root.stat(path).st_mode):
            return False
    except (OSError, ToolError):
        return False
    inside = [f"{path}/{name}" for name in listing.names(root.permitting(path), path)]
    return all(is_emptied(root, each, gone) for each in inside)


def _replace(root: Root, path: str, old: FileState | None, new: FileState, content: bytes) -> None:
    root.sweep(posixpath.dirname(path))
    spare = posixpath.join(posixpath.dirname(path), spares.name("new"))
    view = root.permitting(path).permitting(spare)
    try:
        if new.is_link:
            view.make_link(spare, os.fsdecode(content))
        else:
            fd = view.open(spare, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(fd, "wb", buffering=0):
                write_all(fd, content)
                if old is not None and not old.is_link:
                    status = view.stat(path)
                    with suppress(PermissionError):
                        os.fchown(fd, status.st_uid, status.st_gid)
                os.fchmod(fd, new.mode & PERMISSIONS)
                os.fsync(fd)
        if old is None:
            _publish(view, spare, path)
        else:
            view.rename(spare, path)
    except BaseException:
        with suppress(OSError):
            view.remove(spare)
        raise


def _publish(view: Root, spare: str, path: str) -> None:
    """Give ``spare`` the name ``path``, unless somebody has taken it meanwhile."""
    try:
        view.hard_link(spare, path)
    except OSError as error:
        if error.errno not in _NO_LINKS or view.exists(path):
            raise
        view.rename(spare, path)
    else:
        view.remove(spare)
