"""What is in the workspace: an ignore-aware walk, a tree for people and models, and a short list for error messages."""

import os
import stat
from collections import deque
from collections.abc import Iterator

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


def tree(root: Root, path: str = ".", depth: int = 3, limit: int = 200) -> str:
    """The folder ``path`` as an indented list: folders first, as ``name/``, to ``depth`` levels and ``limit`` lines.

    A folder whose content is left out says how many entries it has; shallow folders are opened before deep ones.
    It leaves out what ``walk`` leaves out, and raises the same.
    """
    base = () if (place := root.place(path)) == "." else tuple(place.split("/"))
    content: dict[tuple[str, ...], list[_Entry]] = {base: []}
    for entry in _entries(root, path, depth + 1):
        content.setdefault(entry.names[:-1], []).append(entry)
    for entries in content.values():
        entries.sort(key=lambda entry: (not entry.is_folder, entry.names))
    opened = _opened_folders(base, content, depth, limit)
    lines = _lines(base, content, opened)
    if len(lines) > limit:
        lines[limit:] = [f"… {_count(len(lines) - limit, 'more ')}"]
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


def _opened_folders(
    base: tuple[str, ...], content: dict[tuple[str, ...], list[_Entry]], depth: int, limit: int
) -> set[tuple[str, ...]]:
    """The folders whose content fits: breadth first, each whole or not at all; ``base`` always."""
    opened = {base}
    room = limit - len(content[base])
    waiting = deque(content[base])
    while waiting:
        entry = waiting.popleft()
        inside = content.get(entry.names, [])
        if len(entry.names) - len(base) < depth and len(inside) <= room:
            opened.add(entry.names)
            room -= len(inside)
            waiting.extend(inside)
    return opened


def _lines(
    base: tuple[str, ...], content: dict[tuple[str, ...], list[_Entry]], opened: set[tuple[str, ...]]
) -> list[str]:
    lines: list[str] = []
    waiting = content[base][::-1]
    while waiting:
        entry = waiting.pop()
        line = "  " * (len(entry.names) - len(base) - 1) + printable(entry.names[-1])
        inside = content.get(entry.names, [])
        if not entry.is_folder:
            lines.append(line)
        elif entry.names in opened or not inside:
            lines.append(f"{line}/")
            waiting += inside[::-1]
        else:
            lines.append(f"{line}/ ({_count(len(inside))})")
    return lines


def _count(number: int, kind: str = "") -> str:
    return f"{number:,} {kind}{'entry' if number == 1 else 'entries'}"


def _entries(root: Root, path: str, depth: int | None) -> list[_Entry]:
    """All files and folders beneath ``path`` to ``depth`` levels, sorted. Only names are looked at, none is opened."""
    import rignore

    try:
        os.close(root.open(path, os.O_RDONLY | os.O_DIRECTORY))
        place = root.place(path)
        walker = rignore.walk(root.path / place, ignore_hidden=False, overrides=_LEFT_OUT, max_depth=depth)
    except OSError as error:
        raise ToolError(f"'{printable(path)}' cannot be listed: {error.strerror}.") from error
    entries: list[_Entry] = []
    has_undecodable = False
    while True:
        try:
            found = next(walker)
        except StopIteration:
            break
        except ValueError:
            has_undecodable = True
        except OSError:
            continue
        else:
            entries += _entry(root, str(found))
    if has_undecodable:
        for folder in [entry for entry in entries if entry.is_folder]:
            entries += _undecodable(root, folder)
    above = () if place == "." else tuple(place.split("/"))
    return sorted((entry for entry in entries if entry.names != above), key=lambda entry: entry.names)


def _entry(root: Root, path: str) -> list[_Entry]:
    """The file or folder at the absolute ``path``, if it is one: links, devices and what is gone are none."""
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return []
    if not stat.S_ISDIR(mode) and not stat.S_ISREG(mode):
        return []
    relative = path[len(str(root.path)) :].strip("/")
    return [_Entry(tuple(relative.split("/")) if relative else (), stat.S_ISDIR(mode))]


def _undecodable(root: Root, folder: _Entry) -> list[_Entry]:
    """The files in ``folder`` whose names are not UTF-8, which the walker cannot tell of."""
    path = root.path.joinpath(*folder.names)
    try:
        with os.scandir(path) as inside:
            names = [entry.name for entry in inside if is_undecodable(entry.name)]
    except OSError:
        return []
    found = [entry for name in names for entry in _entry(root, f"{path}/{name}")]
    return [entry for entry in found if not entry.is_folder]
