"""The sandbox of bubblewrap (bwrap(1)): mount, process, IPC, host name and network namespaces of the command's own."""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from marvin_server.workspace.sandbox import Confinement, Directory, Wrapped
from marvin_server.workspace.sandbox_folder import furnish, variables
from marvin_server.workspace.sandbox_places import runtime_needs

_PROBE_TIMEOUT = 5.0
_NAMESPACES = ("--unshare-pid", "--unshare-ipc", "--unshare-uts", "--die-with-parent", "--new-session")
# What root needs to unpack, install and build as it is used to; none of these undoes a mount or leaves a namespace.
_ROOT_CAPABILITIES = (
    *("CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID", "CAP_KILL", "CAP_SETGID", "CAP_SETUID"),
)
_PRIVATE_PLACES = ("/tmp", "/var/tmp")  # noqa: S108
_RUNTIME = "/run"  # sockets of services and desktops, root's own included
# bubblewrap kills what is left when its command ends. As without it, that gets a moment to finish and is told of.
_LEADER = """
exec 3>&2 2>/dev/null
trap : TERM
if [ "$(stat -Lc %d:%i .)" != "$1" ]; then
  echo 'The working directory is another one inside the sandbox: it was moved. Nothing was run.' >&3; exit 126
fi
shift
if ! command -v "$1" >/dev/null; then echo "$1: not found inside the sandbox" >&3; exit 127; fi
"$@" 2>&3 3>&-
code=$?
settle() {
  pause=$1
  for _ in 1 2 3 4 5 6 7 8 9 10; do
    set -- /proc/[0-9]*; left=$(($# - 2)); [ $left -gt 0 ] || return; sleep $pause
  done
}
settle 0.02
[ $left -gt 0 ] || exit $code
count=$left
kill -TERM -1
settle 0.05
if [ $count = 1 ]; then echo; echo '[1 background process was ended]'
else echo; echo "[$count background processes were ended]"; fi
exit $code
"""


class Bubblewrap(Struct, frozen=True):
    """The sandbox that the program ``program`` makes."""

    program: str
    name: str = "bubblewrap"
    limits: tuple[str, ...] = ()
    refusal: re.Pattern[str] = re.compile(r"Read-only file system|EROFS|Device or resource busy|EBUSY")

    @contextmanager
    def wrap(self, argv: Sequence[str], directory: Directory, confinement: Confinement) -> Generator[Wrapped]:
        """See ``Sandbox.wrap``."""
        words = [self.program, *_options(confinement), "--chdir", directory.path, "--"]
        yield Wrapped(
            [*words, "/bin/sh", "-c", _LEADER, "sh", directory.identity, *argv],
            variables("/tmp", confinement.cache),  # noqa: S108 - it is the command's own
            has_leader=True,
        )


def probe(path: str) -> Bubblewrap | str:
    """bubblewrap, if it is on ``path`` and may make the namespaces; else why not."""
    program = shutil.which("bwrap", path=path)
    if program is None:
        return "bubblewrap is not installed"
    with tempfile.TemporaryDirectory(prefix="marvin-") as folder:
        furnish(folder)
        command = [program, *_options(Confinement((), folder)), "--", "/bin/sh", "-c", ":"]
        try:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_PROBE_TIMEOUT, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"bubblewrap cannot be started: {error}"
    if done.returncode:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines() or [f"exit code {done.returncode}"]
        return f"bubblewrap does not work here: {lines[-1].removeprefix('bwrap: ')}"
    return Bubblewrap(program)


def _options(confinement: Confinement) -> list[str]:
    """The options of bwrap; later mounts lie on earlier ones, so those above come first."""
    mounts: dict[str, tuple[str, ...]] = {"/": ("--ro-bind", "/", "/")}
    folders = [_RUNTIME] if Path(_RUNTIME).is_dir() else []
    for place in _PRIVATE_PLACES:
        if os.path.realpath(place) == place and Path(place).is_dir():
            mounts[place] = ("--bind", confinement.tmp, place)
    mounts |= {place: ("--ro-bind", place, place) for place in runtime_needs()}
    for place in (*map(os.path.dirname, confinement.fixed), *confinement.roots, confinement.cache):
        # A folder that is no mount could be renamed, and with it what is fixed in it: Git's is mounted on itself.
        if place in confinement.roots or place == confinement.cache or Path(place).name == ".git":
            mounts[place] = ("--bind", place, place)
    mounts |= {place: ("--ro-bind", place, place) for place in confinement.fixed}
    for place in confinement.hidden:
        if Path(place).is_dir():
            folders.append(place)
        mounts[place] = ("--ro-bind", confinement.empty, place)
    mounts |= {place: ("--tmpfs", place) for place in folders if place not in confinement.roots}
    mounts |= {"/dev": ("--dev", "/dev"), "/proc": ("--proc", "/proc")}
    options = [word for place in sorted(mounts, key=_depth) for word in mounts[place]]
    # Root needs no capability to write the kernel's settings in /proc/sys.
    folders = ["/proc", *(place for place in folders if mounts[place][0] == "--tmpfs")]
    options += [word for place in folders for word in ("--remount-ro", place)]
    options += _NAMESPACES
    if not confinement.network:
        options.append("--unshare-net")
    options += ("--cap-drop", "ALL")
    if os.geteuid() == 0:
        options += [word for capability in _ROOT_CAPABILITIES for word in ("--cap-add", capability)]
    return options


def _depth(place: str) -> int:
    return len(Path(place).parts)
