"""Checkpoints of a workspace: all its files as they are at a moment, kept outside of it, so that they can come back."""

import json
import os
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from marvin_server.errors import CheckpointError
from marvin_server.workspace.checkpoint_objects import EMPTY_TREE, PERMISSIONS, usual
from marvin_server.workspace.checkpoint_repository import CheckpointRepository, Refused, replace
from marvin_server.workspace.names import folded, is_ticket, printable, protection
from marvin_server.workspace.sandbox_places import secret_places

LARGEST = 10_000_000
_MOST_FILES = 100_000
_MOST_BYTES = 1_000_000_000
_PACKED_FROM = 500


class Snapshot(Struct, frozen=True):
    """``id`` is the checkpoint's. ``not_kept`` has a line for each file (or folder that is a repository of its own)
    that was left out though nothing ignores it, with the reason."""

    id: str
    not_kept: tuple[str, ...]


class Checkpoints:
    """The checkpoints of the workspace ``root`` in ``repository``, a folder of their own in ``base``; ``objects`` has
    all that was kept. Nothing is kept of ``own``, the folders where Marvin's own files live.

    Every method raises CheckpointError, and takes some time: run it in a thread.
    """

    def __init__(self, base: Path, root: Path, environ: Mapping[str, str], own: Iterable[Path] = ()) -> None:
        self.root = root
        self.repository = CheckpointRepository(base, root, environ)
        self._environ = environ
        self._own = (base, *own)
        self.objects = self.repository.objects

    def snapshot(self) -> Snapshot:
        """Keep all files as they are now.

        Left out are ignored files, those over 10 MB, unreadable or special ones, ``.env`` files, places where a home
        keeps keys and logins, tickets, and folders that are repositories of their own. Raises CheckpointError without
        git, for more than 100,000 files or 1 GB of new content, when git takes too long, and while another process is
        at it for over 10 s.
        """
        self.repository.prepare()
        with self.repository.lock() as lock:
            with suppress(Refused):  # as for a file that went while it was read
                return self._taken(lock)
            with suppress(Refused):
                return self._taken(lock)
            self.repository.forget_index()
            return self._taken(lock)

    def ignored(self) -> tuple[str, ...]:
        """What is left out because it is ignored; a folder, with ``/`` at its end, stands for all in it."""
        self.repository.prepare()
        names = self.repository.ask(
            ("ls-files", "-z", "--others", "--ignored", "--directory", *self.repository.exclusions)
        )
        return tuple(os.fsdecode(name) for name in names)

    def _taken(self, lock: int) -> Snapshot:
        modes = _read(self.repository.rights)
        private = self._private()
        keep, drop, not_kept = list[bytes](), list[bytes](), list[str]()
        real = {"": True}
        size = 0
        for raw, is_known in self._candidates().items():
            path = os.fsdecode(raw)
            modes.pop(path, None)
            status, reason = self._look(path) if self._is_real(path.rpartition("/")[0], real) else (None, "")
            if status is not None and f"{path}/".startswith(private):
                reason = "logins, keys or Marvin's own files are there"
            if reason:
                not_kept.append(f"{printable(path)}: {reason}")
            if status is None or reason:
                drop += [raw] if is_known else []
                continue
            keep.append(raw)
            size += status.st_size
            rights = status.st_mode & PERMISSIONS
            if stat.S_ISREG(status.st_mode) and rights != usual(rights):
                modes[path] = rights
        if len(keep) > _MOST_FILES or size > _MOST_BYTES:
            raise CheckpointError(
                f"{self.root} has {len(keep):,} files of {size / 1e6:,.0f} MB that git does not ignore, over the "
                f"limit of {_MOST_FILES:,} and {_MOST_BYTES / 1e6:,.0f} MB; a .gitignore file helps"
            )
        if keep or drop:
            self._note(modes, keep, drop, lock)
        return Snapshot(self.objects.checkpoint(self._tree(lock), modes), tuple(not_kept))

    def _candidates(self) -> dict[bytes, bool]:
        """The files that may have changed since the last checkpoint, and whether that one has them."""
        ask, asking = self.repository.ask, self.repository.asking
        with asking(("diff-files", "-z", "--name-only", "--relative", "--ignore-submodules=all")) as changed:
            others = ask(("ls-files", "-z", "--others", *self.repository.exclusions))
            return dict.fromkeys(others, False) | dict.fromkeys(changed(), True)

    def _private(self) -> tuple[str, ...]:
        """The folders and files beneath the root of which nothing is kept, each with ``/`` at its end."""
        places = [Path(place) for place in secret_places(self._environ)] + [place.resolve() for place in self._own]
        return tuple(
            f"{place.relative_to(self.root).as_posix()}/"
            for place in places
            if place != self.root and place.is_relative_to(self.root)
        )

    def _is_real(self, folder: str, known: dict[str, bool]) -> bool:
        """Whether no symbolic link is on the way to ``folder``; ``known`` has the answers so far."""
        if folder not in known:
            is_link = (self.root / folder).is_symlink()
            known[folder] = not is_link and self._is_real(folder.rpartition("/")[0], known)
        return known[folder]

    def _look(self, path: str) -> tuple[os.stat_result | None, str]:
        """The status of a file, or of a link itself, when it is there; and why it is not kept, if it is not."""
        try:
            status = os.lstat(self.root / path)
        except OSError:
            return None, ""
        reason = ""
        if path.endswith("/"):
            reason = "a repository of its own"
        elif "~" in path and any(folded(name) == ".git" for name in path.split("/")):
            reason = "some systems take its name for Git's own folder"
        elif is_ticket(path):
            reason = "it belongs to the ticket system"
        elif secret := protection(path, writing=False):
            reason = secret
        elif stat.S_ISDIR(status.st_mode):
            return None, ""  # in place of a file; what is in it is listed by itself
        elif not stat.S_ISREG(status.st_mode):
            reason = "" if stat.S_ISLNK(status.st_mode) else "no regular file"
        elif status.st_size > LARGEST:
            reason = f"{status.st_size / 1e6:,.0f} MB, over the limit of {LARGEST / 1e6:.0f} MB"
        elif not os.access(self.root / path, os.R_OK):
            reason = "it cannot be read"
        return status, reason

    def _note(self, modes: dict[str, int], keep: list[bytes], drop: list[bytes], lock: int) -> None:
        """Bring the index up to date."""
        try:
            # Before the index: after a kill in between, these files are candidates again.
            replace(self.repository.rights, json.dumps(modes))
        except OSError as error:
            raise CheckpointError(f"{self.repository.rights}: {error.strerror}") from error
        if drop:
            self.repository.ask(("update-index", "-z", "--force-remove", "--stdin"), drop, lock)
        if keep:
            # One pack is written several times faster than many files.
            packed = ("-c", "core.bigFileThreshold=1") if len(keep) > _PACKED_FROM else ()
            self.repository.ask(
                (*packed, "update-index", "-z", "--add", "--remove", "--replace", "--stdin"), keep, lock
            )

    def _tree(self, lock: int) -> str:
        ask, prefix = self.repository.ask, self.repository.prefix
        if prefix == ".":
            written = ask(("write-tree",), (), lock)
        elif ask(("ls-files", "-z", "--cached", "--", ".")):
            written = ask(("write-tree", f"--prefix={prefix}/"), (), lock)
        else:
            return EMPTY_TREE  # git has no tree for a prefix without files
        return written[0].decode().strip()


def _read(rights_file: Path) -> dict[str, int]:
    """The permissions that are not the usual ones, by path; none when they were never written."""
    try:
        return json.loads(rights_file.read_text())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise CheckpointError(
            f"{rights_file} cannot be read ({error}): remove the folder {rights_file.parent}"
        ) from error
