"""The repository that holds a workspace's checkpoints: Marvin's own, outside of the workspace, used by git's plumbing.

It has settings, an index and objects that nobody else uses. The person's own repository lends nothing but its
``.gitignore`` files and ``info/exclude``, and is never written.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO

from marvin_server.errors import CheckpointError
from marvin_server.workspace.checkpoint_objects import Objects, make_private
from marvin_server.workspace.confine import write_all

KEPT_DAYS = 30
_LOOK_SECONDS, _WRITE_SECONDS = 20.0, 60.0
_LOCK_SECONDS = 10.0
_LISTED_BYTES = 50_000_000
_DAY = 86_400.0
# Contents are kept byte for byte: no line end setting, attribute or filter is in force, and nothing but git runs.
_CONFIG = """\
[core]
	repositoryformatversion = 0
	bare = false
	autocrlf = false
	safecrlf = false
	attributesFile = /dev/null
	excludesFile = /dev/null
	hooksPath = /dev/null
	fsmonitor = false
	fsync = loose-object,pack
	fsyncMethod = batch
	looseCompression = 1
[pack]
	compression = 1
[gc]
	auto = 0
	packRefs = false
	cruftPacks = false
[maintenance]
	auto = false
"""
_ATTRIBUTES = "* -text -eol -filter -ident -working-tree-encoding\n"


class Refused(CheckpointError):
    """Git could not do it, as for a file that went or was locked away at that moment: trying again may help."""


class CheckpointRepository:
    """The repository for the checkpoints of the workspace ``root``, in a folder of its own in ``base``.

    ``rights`` is a file beside git's index, for the permissions that git does not remember. Of ``environ`` only PATH
    counts. Every method raises CheckpointError for what stands in its way.
    """

    def __init__(self, base: Path, root: Path, environ: Mapping[str, str]) -> None:
        folders = [folder for folder in environ.get("PATH", os.defpath).split(os.pathsep) if folder.startswith("/")]
        self.root = root
        self.place = base / hashlib.sha256(os.fsencode(root)).hexdigest()[:32]
        self._base = base
        self._path = os.pathsep.join(folders)
        self._program = shutil.which("git", path=self._path)
        # A workspace in a folder of a repository is ignored by the rules of all of it.
        self._top = next((each for each in (root, *root.parents) if os.path.lexists(each / ".git")), root)
        self.prefix = root.relative_to(self._top).as_posix()
        # Names in git's index begin at the top, so that each prefix needs an index of its own.
        suffix = "" if self.prefix == "." else f"-{hashlib.sha256(os.fsencode(self.prefix)).hexdigest()[:8]}"
        self._index, self.rights = self.place / f"index{suffix}", self.place / f"rights{suffix}"
        self.objects = Objects(self.place / "objects", self._git if self._program else None)

    @property
    def exclusions(self) -> tuple[str, ...]:
        """The options of ``ls-files`` for the ignore rules of the person's repository."""
        own = self._top / ".git" / "info" / "exclude"
        return ("--exclude-standard", *((f"--exclude-from={own}",) if own.is_file() else ()))

    @property
    def is_untidy(self) -> bool:
        """Whether ``tidy`` was not called for a day; of a store that it has never seen, whether it is a day old."""
        for place in (self.place / "tidied", self.place):
            with suppress(OSError):
                return time.time() - place.stat().st_mtime > _DAY
        return False

    def prepare(self) -> None:
        """Make the repository when there is none. Raises CheckpointError, also when there is no git."""
        self._git()
        files = {"config": _CONFIG, "info/attributes": _ATTRIBUTES, "HEAD": "ref: refs/heads/none\n", "tidied": ""}
        try:
            for folder in (self.place, self.place / "info", self.place / "objects", self.place / "refs"):
                make_private(folder)
            for name, text in files.items():
                if not (self.place / name).exists():
                    replace(self.place / name, text)
            os.utime(self.place)
        except OSError as error:
            raise CheckpointError(f"{self.place}: {error.strerror}") from error

    @contextmanager
    def lock(self) -> Generator[int]:
        """Keep other processes out while the block runs: the descriptor that holds the lock, which a git that goes on
        after a kill of Marvin keeps too. Raises CheckpointError when that takes over 10 s."""
        try:
            fd = os.open(self.place / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise CheckpointError(f"{self.place}: {error.strerror}") from error
        try:
            deadline = time.monotonic() + _LOCK_SECONDS
            while True:
                try:
                    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > deadline:
                        raise CheckpointError(f"another marvin is busy with the checkpoints of {self.root}") from None
                    time.sleep(0.01)
            self._index.with_name(f"{self._index.name}.lock").unlink(missing_ok=True)
            yield fd
        finally:
            os.close(fd)

    def forget_index(self) -> None:
        """Begin anew with looking at every file; what was kept stays."""
        for place in (self._index, self.rights):
            place.unlink(missing_ok=True)

    def ask(self, arguments: Sequence[str], names: Sequence[bytes] = (), lock: int | None = None) -> list[bytes]:
        """What git answers, as the pieces that NULs end, when it is given ``names``; one that writes is given ``lock``.

        Raises Refused when git fails, CheckpointError when it takes over 20 s (60 s to write) or says over 50 MB.
        """
        with self.asking(arguments, names, lock) as answer:
            return answer()

    @contextmanager
    def asking(
        self, arguments: Sequence[str], names: Sequence[bytes] = (), lock: int | None = None
    ) -> Generator[Callable[[], list[bytes]]]:
        """As ``ask``, beside something else: what is yielded waits for the answer."""
        argv, environ = self._git()
        with ExitStack() as stack:
            try:
                given, said, errors = (stack.enter_context(tempfile.TemporaryFile(buffering=0)) for _ in range(3))
                write_all(given.fileno(), b"".join(name + b"\0" for name in names))
                given.seek(0)
            except OSError as error:
                raise CheckpointError(f"{tempfile.gettempdir()}: {error.strerror}") from error
            try:
                process = subprocess.Popen(
                    [*argv, *arguments],
                    env=environ,
                    cwd=self.root,
                    stdin=given,
                    stdout=said,
                    stderr=errors,
                    pass_fds=() if lock is None else (lock,),
                    process_group=0,  # a Ctrl+C is for Marvin, which wants this done
                )
            except OSError as error:
                raise CheckpointError(f"git cannot be started in {self.root}: {error.strerror}") from error
            with process:
                try:
                    seconds = _LOOK_SECONDS if lock is None else _WRITE_SECONDS
                    yield lambda: _answer(process, said, errors, seconds)
                finally:
                    process.kill()

    def tidy(self, kept: Sequence[str]) -> None:
        """Have git pack the store and drop what no checkpoint in ``kept`` needs, without waiting for it; and remove the
        stores of workspaces in which nobody has worked for 30 days."""
        now = time.time()
        with suppress(OSError, CheckpointError):
            (self.place / "tidied").touch()
            self.prepare()
            argv, environ = self._git()
            refs = "".join(f"{each} refs/kept/{each}\n" for each in sorted(set(kept)))
            replace(self.place / "packed-refs", f"# pack-refs with: sorted\n{refs}")
            for other in self._base.iterdir():
                if now - other.stat().st_mtime > KEPT_DAYS * _DAY:
                    shutil.rmtree(other, ignore_errors=True)
            command = [*argv, "gc", "--quiet", "--prune=1.hour.ago"]
            quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            running = {"env": environ, "cwd": self.place, "check": False, "start_new_session": True, **quiet}
            threading.Thread(target=subprocess.run, args=(command,), kwargs=running, daemon=True).start()

    def _git(self) -> tuple[list[str], dict[str, str]]:
        if self._program is None:
            raise CheckpointError("git is not installed")
        return [self._program, "--no-pager"], {
            "PATH": self._path,
            "LC_ALL": "C",
            "GIT_DIR": str(self.place),
            "GIT_INDEX_FILE": str(self._index),
            "GIT_WORK_TREE": str(self._top),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_ATTR_NOSYSTEM": "1",
        }


def replace(place: Path, text: str) -> None:
    """Give the file its whole new text, at once. Raises OSError."""
    spare = place.with_name(f"{place.name}.{os.getpid()}.{threading.get_ident()}")
    spare.write_text(text)
    spare.replace(place)


def _answer(process: subprocess.Popen[bytes], said: IO[bytes], errors: IO[bytes], seconds: float) -> list[bytes]:
    try:
        code = process.wait(seconds)
    except subprocess.TimeoutExpired:
        raise CheckpointError(f"looking through the files took over {seconds:.0f} s") from None
    if code != 0:
        errors.seek(0)
        lines = errors.read(10_000).decode(errors="replace").strip().splitlines()
        raise Refused(f"git could not keep the files: {lines[-1] if lines else f'exit code {code}'}")
    if said.seek(0, os.SEEK_END) > _LISTED_BYTES:
        raise CheckpointError("there are too many files to list")
    said.seek(0)
    return [piece for piece in said.read().split(b"\0") if piece]
