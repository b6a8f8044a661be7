"""The sandbox of Landlock (landlock(7)): rules on files, TCP and signals that a process puts on itself for good.

It grants rights by folder and all beneath it, so it cannot take a file out of a root that may be written.
"""

import os
import re
import sys
from collections.abc import Collection, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct

from marvin_server.workspace.sandbox import Confinement, Directory, Wrapped
from marvin_server.workspace.sandbox_folder import variables
from marvin_server.workspace.sandbox_places import runtime_needs

_LEAST_ABI = 4  # Linux 6.7: the first that knows of TCP
_SIGNALS_ABI, _SOCKETS_ABI, _UDP_ABI = 6, 9, 10
_CHILD = Path(__file__).with_name("landlock_child.py")
_ROOT_CAPABILITIES = "0,1,3,4,5,6,7"  # as bubblewrap's: chown, dac_override, fowner, fsetid, kill, setgid, setuid
_HIDDEN = ("/tmp", "/var/tmp", "/run", "/dev")  # noqa: S108
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_ALWAYS = (
    "hide .env files beneath the workspace",
    "keep .git/hooks, .git/config and protected files in the workspace as they are; a change is told afterwards",
    "keep commands from changing the mode, owner or times of your files elsewhere",
)


class Landlock(Struct, frozen=True):
    """The sandbox of a kernel with this version of Landlock's interface."""

    abi: int
    name: str = "Landlock"
    refusal: re.Pattern[str] = re.compile(r"Permission denied|EACCES|Operation not permitted|EPERM|cross-device|EXDEV")

    @property
    def limits(self) -> tuple[str, ...]:
        """See ``Sandbox.limits``."""
        by_abi = (
            (_UDP_ABI, "cut off UDP when it cuts off the network"),
            (_SOCKETS_ABI, "keep commands from local sockets, such as Docker's"),
            (_SIGNALS_ABI, "keep commands from signalling your other processes"),
        )
        return (*_ALWAYS, *(limit for abi, limit in by_abi if self.abi < abi))

    @contextmanager
    def wrap(self, argv: Sequence[str], directory: Directory, confinement: Confinement) -> Generator[Wrapped]:
        """See ``Sandbox.wrap``; the command is started in ``directory`` as it is, which nobody can move away."""
        from landlockpy import AccessFS, AccessNet, Ruleset, Scope

        reading = AccessFS.READ_FILE | AccessFS.EXECUTE
        writing = ~(AccessFS.IOCTL_DEV | AccessFS.MAKE_CHAR | AccessFS.MAKE_BLOCK)
        network = AccessNet.NONE if confinement.network else None
        with Ruleset(handled_net=network, scoped=Scope.ABSTRACT_UNIX_SOCKET | Scope.SIGNAL) as ruleset:
            ruleset.allow_path("/", AccessFS.READ_DIR)
            for place in (*_all_but("/", {*_HIDDEN, *confinement.hidden}), *runtime_needs()):
                with suppress(FileNotFoundError):
                    ruleset.allow_path(place, reading)
            for place in _DEVICES:
                ruleset.allow_path(place, AccessFS.READ_FILE | AccessFS.WRITE_FILE)
            for place in (*confinement.roots, confinement.tmp, confinement.cache):
                ruleset.allow_path(place, writing)
            fd = ruleset.fileno()
            words = [sys.executable, "-I", "-S", str(_CHILD), str(fd), _ROOT_CAPABILITIES, *argv]
            yield Wrapped(words, variables(confinement.tmp, confinement.cache), (fd,))


def probe(_path: str) -> Landlock | str:
    """Landlock, if this kernel has enough of it and the package that speaks with it is there; else why not."""
    try:
        from landlockpy import abi_version
    except ImportError:
        return "Landlock needs the extra: pip install 'marvin-assistant[sandbox]'"
    try:
        abi = abi_version()
    except OSError as error:
        return f"Landlock does not work here: {error.strerror}"
    if abi < _LEAST_ABI:
        return "Landlock: this kernel has none" if not abi else f"Landlock: this kernel is too old for it (ABI {abi})"
    return Landlock(abi)


def _all_but(folder: str, hidden: Collection[str]) -> Iterator[str]:
    """The fewest folders and files beneath ``folder`` that hold everything but ``hidden``."""
    prefix = folder.rstrip("/") + "/"
    if not any(place.startswith(prefix) for place in hidden):
        yield folder
        return
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.path in hidden or entry.is_symlink():
                continue
            if entry.is_dir(follow_symlinks=False):
                yield from _all_but(entry.path, hidden)
            else:
                yield entry.path
