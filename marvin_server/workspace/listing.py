"""What is in the workspace: an ignore-aware walk, a tree for people and models, and a short list for error messages."""

import errno
import os
import stat
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice

from msgspec import Struct

from marvin_server.errors import ToolError
from marvin_server.workspace.confine import Root
from marvin_server.workspace.names import is_undecodable, printable

UNLISTED = (".git", ".tickets")
_LEFT_OUT = [f"!{name}" for name in UNLISTED]


class _Entry(Struct, frozen=True):
    """One file or folder by the names on the way to it from the root."""

    names: tuple[str, ...]
    is_folder: bool


def walk(root: Root, path: str = ".") -> Iterator[str]:
    """The regular files beneath the folder ``path``, relative to the root, sorted by the names on their way.

    What Git would ignore (and ``.ignore`` files name) is left out, and so are symbolic links, ``.git``, ``.tickets``
    and folders that cannot be read; hidden files are in. As in Git, a ``.gitignore`` counts only inside a repository.
    Names that are not UTF-8 hold surrogate escapes; no ignore rule is asked for those, and folders of such a name are
    left out. Raises ToolError when ``path`` is no folder that can be read, and what ``Root`` raises.
    """
    return ("/".join(entry.names) for entry in _entries(root, path, None) if not entry.is_folder)


def folders(root: Root, path: str = ".") -> dict[str, list[str]]:
    """The folders beneath ``path`` and itself, relative to the root, each with the names of its files; see ``walk``."""
    found: dict[str, list[str]] = {path: []}
    for entry in _entries(root, path, None):
        if entry.is_folder:
            found["/".join(entry.names)] = []
        else:
            found["/".join(entry.names[:-1]) or "."].append(entry.names[-1])
    return found


def tree(root: Root, path: str = ".", depth: int = 3, limit: int = 200) -> str:
    """The folder ``path`` as an indented list: folders first, as ``name/``, to ``depth`` levels and ``limit`` lines.

    A folder whose content is left out says how many entries it has; shallow folders are opened before deep ones.
    Only folders that show are looked into, so that a large tree takes no longer than a small one.
    It leaves out what ``walk`` leaves out, and raises the same.
    """
    base = () if (place := root.place(path)) == "." else tuple(place.split("/"))
    folders = _Folders(root)
    folders.entries(base, path)
    opened = _opened_folders(base, folders, depth, limit)
    lines = list(islice(_lines(base, folders, opened), limit))
    hidden = sum(len(folders.entries(names)) for names in opened) - len(lines)
    if hidden:
        lines.append(f"… {_count(hidden, 'more ')}")
    return "\n".join(lines) or "(empty)"


def top_level(root: Root, path: str = ".", limit: int = 40) -> str:
    """The first ``limit`` names in the folder ``path``, indented, folders first, ignored ones included. Never raises
    for what is on disk: a folder that cannot be listed says so."""
    try:
        fd = root.open(path, os.O_RDONLY | os.O_DIRECTORY)
    except (OSError, ToolError):
        return "  (cannot be listed)"
    try:
        with os.scandir(fd) as entries:
            names = sorted(
                (not entry.is_dir(follow_symlinks=False), entry.name) for entry in entries if entry.name not in UNLISTED
            )
    finally:
        os.close(fd)
    lines = [f"  {printable(name)}{'' if is_file else '/'}" for is_file, name in names[:limit]]
    if len(names) > limit:
        lines.append(f"  … {len(names) - limit:,} more")
    return "\n".join(lines) or "  (empty)"


def names(root: Root, path: str) -> list[str]:
    """The names in the folder ``path``; none when it cannot be listed."""
    try:
        fd = root.open(path, os.O_RDONLY | os.O_DIRECTORY)
    except (OSError, ToolError):
        return []
    try:
        return os.listdir(fd)  # noqa: PTH208 - of a descriptor
    finally:
        os.close(fd)


class _Folders:
    """What is in folders, each looked into when it is first asked for: folders first, then by name."""

    def __init__(self, root: Root) -> None:
        self._root = root
        self._known: dict[tuple[str, ...], list[_Entry]] = {}

    def entries(self, names: tuple[str, ...], path: str | None = None) -> list[_Entry]:
        """The entries of a folder by the names on its way; none of one that cannot be listed, unless a ``path`` that
        the caller wrote names it: that raises ToolError."""
        if (known := self._known.get(names)) is None:
            try:
                known = _entries(self._root, path or "/".join(names) or ".", 1)
            except ToolError:
                if path is not None:
                    raise
                known = []
            known.sort(key=lambda entry: (not entry.is_folder, entry.names))
            self._known[names] = known
        return known


def _opened_folders(base: tuple[str, ...], folders: _Folders, depth: int, limit: int) -> set[tuple[str, ...]]:
    """The folders whose content fits: breadth first, each whole or not at all; ``base`` always."""
    opened = {base}
    room = limit - len(folders.entries(base))
    waiting = deque(folders.entries(base))
    while waiting and room > 0:
        entry = waiting.popleft()
        if entry.is_folder and len(entry.names) - len(base) < depth:
            inside = folders.entries(entry.names)
            if len(inside) <= room:
                opened.add(entry.names)
                room -= len(inside)
                waiting.extend(inside)
    return opened


def _lines(base: tuple[str, ...], folders: _Folders, opened: set[tuple[str, ...]]) -> Iterator[str]:
    waiting = folders.entries(base)[::-1]
    while waiting:
        entry = waiting.pop()
        line = "  " * (len(entry.names) - len(base) - 1) + printable(entry.names[-1])
        if not entry.is_folder:
            yield line
        elif entry.names in opened or not (inside := folders.entries(entry.names)):
            yield f"{line}/"
            waiting += folders.entries(entry.names)[::-1]
        else:
            yield f"{line}/ ({_count(len(inside))})"


def _count(number: int, kind: str = "") -> str:
    return f"{number:,} {kind}{'entry' if number == 1 else 'entries'}"


def _entries(root: Root, path: str, depth: int | None) -> list[_Entry]:
    """All files and folders beneath ``path`` to ``depth`` levels, sorted. Only names are looked at, none is opened.

    The walker goes by path, so it may be led astray; each name counts only if it is in the folder that ``Root`` opens.
    """
    try:
        os.close(root.open(path, os.O_RDONLY | os.O_DIRECTORY))
        place = root.place(path)
        found, has_undecodable = _walked(root, place, depth)
    except OSError as error:
        raise ToolError(f"'{printable(path)}' cannot be listed: {error.strerror or error}.") from error
    above = () if place == "." else tuple(place.split("/"))
    insides: dict[tuple[str, ...], list[str]] = {above: []}
    for way in found:
        insides.setdefault(way[:-1], []).append(way[-1])
    entries = [entry for folder, inside in insides.items() for entry in _present(root, folder, inside)]
    if has_undecodable:
        folders = [above, *(entry.names for entry in entries if entry.is_folder)]
        entries += [entry for folder in folders for entry in _undecodable(root, folder)]
    return sorted(entries, key=lambda entry: entry.names)


def _walked(root: Root, place: str, depth: int | None) -> tuple[list[tuple[str, ...]], bool]:
    """What the walker tells of, by the names on the way from the root, and whether it met names that are not UTF-8."""
    import rignore

    base = root.path / place
    walker = rignore.walk(base, ignore_hidden=False, overrides=_LEFT_OUT, max_depth=depth)
    above = () if place == "." else tuple(place.split("/"))
    found: list[tuple[str, ...]] = []
    has_undecodable = False
    while True:
        try:
            relative = str(next(walker))[len(str(base)) :].strip("/")
        except StopIteration:
            return found, has_undecodable
        except ValueError:
            has_undecodable = True
        except OSError:
            continue
        except BaseException as error:
            # The walker panics, which is no Exception, when a folder is swapped for something else beneath it.
            if type(error).__name__ != "PanicException":
                raise
            raise OSError(errno.EAGAIN, "it is being changed at this moment; try again") from None
        else:
            if relative:
                found.append((*above, *relative.split("/")))


def _present(root: Root, folder: tuple[str, ...], inside: Iterable[str]) -> Iterator[_Entry]:
    """Those of the names ``inside`` that are files or folders in ``folder``: no links, no devices, nothing gone."""
    try:
        fd = root.open("/".join(folder) or ".", os.O_RDONLY | os.O_DIRECTORY)
    except (OSError, ToolError):
        return
    try:
        for name in inside:
            try:
                mode = os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode
            except OSError:
                continue
            if stat.S_ISDIR(mode) or stat.S_ISREG(mode):
                yield _Entry((*folder, name), stat.S_ISDIR(mode))
    finally:
        os.close(fd)


def _undecodable(root: Root, folder: tuple[str, ...]) -> list[_Entry]:
    """The files in ``folder`` whose names are not UTF-8, which the walker cannot tell of."""
    undecodable = [name for name in names(root, "/".join(folder) or ".") if is_undecodable(name)]
    return [entry for entry in _present(root, folder, undecodable) if not entry.is_folder]
