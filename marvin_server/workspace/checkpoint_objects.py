"""Contents and folders by their hash, in git's own format, so that git can fill and tidy the same store.

Loose objects (gitformat-loose(5): zlib of a header and the content) are written and read without git; packed ones,
which only git makes, are read through it.
"""

import hashlib
import json
import os
import stat
import subprocess
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from marvin_server.errors import CheckpointError

EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
_FOLDER, _LINK, _PLAIN, _PROGRAM = "40000", "120000", "100644", "100755"
_FILES, _MODES = "files", "modes"
PERMISSIONS = 0o777


class FileState(Struct, frozen=True):
    """A file as a checkpoint has it: ``mode`` as in ``st_mode`` (a regular file or a symbolic link, and permissions),
    ``id`` the hash of its content, or of where the link points."""

    mode: int
    id: str

    @property
    def is_link(self) -> bool:
        return stat.S_ISLNK(self.mode)


Difference = tuple[FileState | None, FileState | None]


def state(content: bytes, mode: int) -> FileState:
    """The state of a file with this content, or of a link that points there."""
    kept = stat.S_IFLNK if stat.S_ISLNK(mode) else stat.S_IFREG | mode & PERMISSIONS
    return FileState(kept, _hashed("blob", content))


def usual(mode: int) -> int:
    """The permissions that git remembers of a regular file with these: 0644, or 0755 when its owner may run it."""
    return 0o755 if mode & 0o100 else 0o644


def make_private(folder: Path) -> None:
    """Make ``folder`` and those above it that are missing, for this user alone. Raises OSError."""
    for each in reversed([folder, *folder.parents]):
        if not each.exists():
            each.mkdir(0o700, exist_ok=True)


class Objects:
    """The objects in the folder ``place``. ``git`` is the argv and environment with which git works on them, None
    where there is no git. Every method raises ``CheckpointError`` for what is missing, damaged or cannot be written."""

    def __init__(self, place: Path, git: Callable[[], tuple[list[str], Mapping[str, str]]] | None) -> None:
        self._place = place
        self._git = git
        self._reader: subprocess.Popen[bytes] | None = None

    def close(self) -> None:
        """End the git that reads packed objects."""
        if self._reader is not None:
            with self._reader as reader:
                reader.kill()
            self._reader = None

    def keep(self, content: bytes) -> str:
        """Store a file's content, durably, and give its id."""
        return self._write("blob", content)

    def content(self, blob: str) -> bytes:
        """What was kept by this id."""
        return self._read("blob", blob)

    def checkpoint(self, files: str, modes: Mapping[str, int]) -> str:
        """Store a checkpoint: the tree of all files, and the permissions of those whose are not the ``usual`` ones."""
        rights = self.keep(json.dumps(modes, sort_keys=True).encode()) if modes else self.keep(b"{}")
        return self._write("tree", _entry(_FOLDER, _FILES, files) + _entry(_PLAIN, _MODES, rights))

    def checkpoint_of(self, states: Mapping[str, FileState | None]) -> str:
        """Store a checkpoint that knows of the files in ``states`` alone; None is one that is not there."""
        there = {path: each for path, each in states.items() if each is not None}
        regular = {path: stat.S_IMODE(each.mode) for path, each in there.items() if not each.is_link}
        modes = {path: mode for path, mode in regular.items() if mode != usual(mode)}
        return self.checkpoint(self._folder({tuple(path.split("/")): each for path, each in there.items()}), modes)

    def differences(self, before: str, after: str) -> dict[str, Difference]:
        """The files in which two checkpoints differ, each as it was in both of them."""
        (files, modes), (new_files, new_modes) = self._parts(before), self._parts(after)
        found = {
            path: (_state(old, modes.get(path)), _state(new, new_modes.get(path)))
            for path, old, new in self._compared(files, new_files, "")
        }
        for path in modes.keys() | new_modes.keys():
            if path not in found and modes.get(path) != new_modes.get(path):
                old, new = self._find(files, path), self._find(new_files, path)
                if old and new:
                    found[path] = (_state(old, modes.get(path)), _state(new, new_modes.get(path)))
        return {path: (old, new) for path, (old, new) in sorted(found.items()) if old != new}

    def _parts(self, checkpoint: str) -> tuple[str, dict[str, int]]:
        parts = self._tree(checkpoint)
        try:
            return parts[_FILES][1], json.loads(self.content(parts[_MODES][1]))
        except (KeyError, ValueError) as error:
            raise CheckpointError(f"{checkpoint} in {self._place} is no checkpoint") from error

    def _compared(self, old: str, new: str, folder: str) -> "Iterator[tuple[str, _Entry | None, _Entry | None]]":
        """The files in which two trees differ, as their entries in both."""
        if old == new:
            return
        before, after = self._tree(old), self._tree(new)
        for name in before.keys() | after.keys():
            entries = before.get(name), after.get(name)
            if entries[0] == entries[1]:
                continue
            folders = [entry[1] if entry and entry[0] == _FOLDER else EMPTY_TREE for entry in entries]
            yield from self._compared(folders[0], folders[1], f"{folder}{name}/")
            files = [entry if entry and entry[0] != _FOLDER else None for entry in entries]
            if files != [None, None]:
                yield f"{folder}{name}", files[0], files[1]

    def _find(self, tree: str, path: str) -> "_Entry | None":
        """The entry of the file ``path`` in a tree."""
        *folders, name = path.split("/")
        for folder in folders:
            tree = self._tree(tree).get(folder, (_FOLDER, EMPTY_TREE))[1]
        return self._tree(tree).get(name)

    def _folder(self, states: "Mapping[tuple[str, ...], FileState]") -> str:
        """Store the tree of the files in ``states``, by the names on their way."""
        entries: dict[str, tuple[str, str]] = {}
        inside: dict[str, dict[tuple[str, ...], FileState]] = {}
        for (name, *rest), each in states.items():
            if rest:
                inside.setdefault(name, {})[tuple(rest)] = each
            else:
                entries[name] = (_git_mode(each.mode), each.id)
        entries |= {name: (_FOLDER, self._folder(inner)) for name, inner in inside.items()}
        ordered = sorted(entries, key=lambda name: os.fsencode(f"{name}/" if entries[name][0] == _FOLDER else name))
        return self._write("tree", b"".join(_entry(entries[name][0], name, entries[name][1]) for name in ordered))

    def _tree(self, tree: str) -> "dict[str, _Entry]":
        if tree == EMPTY_TREE:
            return {}
        rest, entries = self._read("tree", tree), dict[str, _Entry]()
        while rest:
            head, _, rest = rest.partition(b"\0")
            mode, _, name = head.partition(b" ")
            entries[os.fsdecode(name)] = (mode.decode(), rest[:20].hex())
            rest = rest[20:]
        return entries

    def _write(self, kind: str, content: bytes) -> str:
        name = _hashed(kind, content)
        place = self._place / name[:2] / name[2:]
        try:
            if place.exists():
                os.utime(place)  # so that git's tidying takes it for new
                return name
            make_private(place.parent)
            spare = place.with_name(f"tmp_obj_{os.urandom(8).hex()}")
            try:
                with os.fdopen(
                    os.open(spare, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o400), "wb"
                ) as file:
                    file.write(zlib.compress(b"%s %d\0" % (kind.encode(), len(content)) + content, 1))
                    file.flush()
                    os.fsync(file)
                spare.replace(place)
            except BaseException:
                spare.unlink(missing_ok=True)
                raise
        except OSError as error:
            raise CheckpointError(f"{self._place}: {error.strerror}") from error
        return name

    def _read(self, kind: str, name: str) -> bytes:
        try:
            head, _, content = zlib.decompress((self._place / name[:2] / name[2:]).read_bytes()).partition(b"\0")
            found = head.partition(b" ")[0].decode()
        except FileNotFoundError:
            found, content = self._packed(name)
        except (OSError, zlib.error) as error:
            raise CheckpointError(f"{self._place}: {name} cannot be read ({error})") from error
        if found != kind or _hashed(kind, content) != name:
            raise CheckpointError(f"{self._place}: {name} is missing or damaged")
        return content

    def _packed(self, name: str) -> tuple[str, bytes]:
        """The kind and content of an object that git has packed."""
        if self._git is None:
            raise CheckpointError(f"{self._place}: {name} can only be read with git, which is not installed")
        if self._reader is None:
            argv, environ = self._git()
            command = [*argv, "cat-file", "--batch"]
            self._reader = subprocess.Popen(
                command, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
        asked, answers = self._reader.stdin, self._reader.stdout
        assert asked
        assert answers
        with suppress(BrokenPipeError):
            asked.write(f"{name}\n".encode())
            asked.flush()
        _, kind, size, *_ = [*answers.readline().split(), b"missing", b"missing", b"missing"]
        if not size.isdigit() or kind == b"missing":
            return "", b""
        return kind.decode(), answers.read(int(size) + 1)[:-1]


_Entry = tuple[str, str]  # git's mode, in octal digits, and an id


def _hashed(kind: str, content: bytes) -> str:
    return hashlib.sha1(b"%s %d\0" % (kind.encode(), len(content)) + content, usedforsecurity=False).hexdigest()


def _entry(mode: str, name: str, object_id: str) -> bytes:
    return b"%s %s\0%s" % (mode.encode(), os.fsencode(name), bytes.fromhex(object_id))


def _git_mode(mode: int) -> str:
    if stat.S_ISLNK(mode):
        return _LINK
    return _PROGRAM if usual(mode) == 0o755 else _PLAIN


def _state(entry: _Entry | None, permissions: int | None) -> FileState | None:
    if entry is None:
        return None
    mode, blob = entry
    if mode == _LINK:
        return FileState(stat.S_IFLNK, blob)
    if permissions is None:
        permissions = 0o755 if mode == _PROGRAM else 0o644
    return FileState(stat.S_IFREG | permissions, blob)
