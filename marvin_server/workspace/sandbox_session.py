"""The sandbox of one session: what its commands may touch is found anew before each, and told when it stopped one."""

import asyncio
import os
import re
import shutil
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from marvin_server.errors import ToolError
from marvin_server.workspace.names import printable

if TYPE_CHECKING:
    from marvin_server.workspace.sandbox import Confinement, Directory, Sandbox
    from marvin_server.workspace.sandbox_folder import PrivateFolder

_SURVEY_SECONDS = 2.0
_UNREACHABLE = (
    r"Network is unreachable|ENETUNREACH|[Nn]ame resolution|Could not resolve host|EAI_AGAIN|ENOTFOUND|dns error"
    r"|Name or service not known|No address associated|nodename nor servname|Connection refused|ECONNREFUSED"
)


class Access(Struct, frozen=True):
    """What a session's commands may do beyond reading.

    They write beneath ``root()``, the workspace's root at that moment, and beneath ``more_roots`` (those that exist).
    ``secrets()`` are files and folders that are hidden from them, besides all that ``sandbox_places`` knows of.
    """

    root: Callable[[], Path]
    more_roots: Sequence[Path] = ()
    secrets: Callable[[], Sequence[Path]] = tuple
    network: bool = False


class Confined(Struct, frozen=True):
    """How a command is started so that it is confined.

    With ``has_leader`` the sandbox's own process comes first: see ``sandbox.Wrapped``. ``remarks`` takes the exit code
    and the output, and gives lines to add to the latter.
    """

    argv: Sequence[str]
    environ: Mapping[str, str]
    pass_fds: Sequence[int]
    has_leader: bool
    remarks: Callable[[int | None, str], Sequence[str]]


class SessionSandbox:
    """Confines the commands of one session, with the best sandbox that ``environ`` has.

    ``place`` is where the session's private folder is made for its first command; ``close`` removes it. Where no
    sandbox works, commands run as they are, unless one is ``required``. Finding out takes some milliseconds, once.
    """

    def __init__(self, access: Access, environ: Mapping[str, str], place: Path, *, required: bool = False) -> None:
        self._access = access
        self._environ = environ
        self._place = place
        self._required = required
        self._private: PrivateFolder | None = None
        self._making = threading.Lock()
        self._found: frozenset[str] = frozenset()  # a command that fills the workspace makes no secret forgotten

    @property
    def state(self) -> str:
        """What holds for a command, in a few words for a person."""
        if (sandbox := self._sandbox()) is None:
            return "none"
        return f"{sandbox.name}, {'with' if self._access.network else 'without'} network"

    @property
    def problem(self) -> str | None:
        """Why no sandbox works here; None when one does."""
        from marvin_server.workspace.sandbox import best_sandbox

        return "; ".join(best_sandbox(self._environ).problems) if self._sandbox() is None else None

    async def confine(
        self, stack: ExitStack, argv: Sequence[str], cwd: int | Path, environ: Mapping[str, str]
    ) -> Confined | None:
        """``argv`` in the folder ``cwd`` (a path, or its descriptor), to be started while ``stack`` is open.

        None where no sandbox works and none is required. Takes as long as looking through the workspace does, 2 s at
        most. Raises ToolError when there is no such program, no place for the private folder, or no sandbox though one
        is required.
        """
        sandbox = self._sandbox()
        if sandbox is None:
            if self._required:
                raise ToolError(f"Not run: a sandbox is required (--sandbox on), and none works here: {self.problem}.")
            return None
        program = shutil.which(argv[0], path=environ.get("PATH", os.defpath))
        if program is None:
            raise ToolError(f"The command cannot be started: {argv[0]}: No such file or directory.")
        look = await asyncio.to_thread(self._look, environ)
        wrapped = stack.enter_context(sandbox.wrap([program, *argv[1:]], _directory(cwd), look.confinement))
        kept = {name: value for name, value in environ.items() if name not in look.sockets}

        def remarks(exit_code: int | None, output: str) -> list[str]:
            return [*_changes(look), *_advice(sandbox, look, exit_code, output)]

        return Confined(wrapped.argv, {**kept, **wrapped.variables}, wrapped.pass_fds, wrapped.has_leader, remarks)

    def close(self) -> None:
        """Remove the private folder with its caches."""
        if self._private is not None:
            self._private.close()
            self._private = None

    def _sandbox(self) -> "Sandbox | None":
        from marvin_server.workspace.sandbox import best_sandbox

        return best_sandbox(self._environ).sandbox

    def _look(self, environ: Mapping[str, str]) -> "_Look":
        from marvin_server.workspace.sandbox import Confinement
        from marvin_server.workspace.sandbox_folder import PrivateFolder
        from marvin_server.workspace.sandbox_places import secret_places, sockets
        from marvin_server.workspace.sandbox_survey import guarded, survey

        with self._making:
            try:
                self._private = self._private or PrivateFolder(self._place)
            except OSError as error:
                raise ToolError(f"The sandbox has no room for its files: {self._place}: {error.strerror}.") from error
        access = self._access
        roots = [os.path.realpath(root) for root in (access.root(), *access.more_roots) if root.is_dir()]
        found = survey(roots, _SURVEY_SECONDS)
        self._found |= found.secrets
        agents = sockets(environ)
        own = {str(place.resolve()) for place in access.secrets() if place.exists()}
        hidden = {*secret_places(environ), *filter(os.path.lexists, self._found), *agents.values(), *own}
        hidden.difference_update(roots)
        confinement = Confinement(
            roots=tuple(roots),
            private=str(self._private.path),
            hidden=tuple(sorted(place for place in hidden if _is_in_view(place, hidden, roots))),
            fixed=tuple(sorted(place for place in found.fixed if _is_in_view(place, hidden, roots))),
            network=access.network,
        )
        return _Look(confinement, frozenset(agents), guarded(roots, found.fixed), found.complete)


class _Look(Struct, frozen=True):
    """What was found before a command: variables that name ``sockets``, and how ``guarded`` saw protected files."""

    confinement: "Confinement"
    sockets: Collection[str]
    guarded: Mapping[str, object]
    is_complete: bool


def _changes(look: _Look) -> list[str]:
    from marvin_server.workspace.sandbox_survey import guarded

    now = guarded(look.confinement.roots, look.guarded)
    paths = sorted(path for path in {*now, *look.guarded} if now.get(path) != look.guarded.get(path))
    return [f"[changed while this ran, although protected: {', '.join(map(printable, paths))}]"] if paths else []


def _advice(sandbox: "Sandbox", look: _Look, exit_code: int | None, output: str) -> list[str]:
    lines: list[str] = []
    if not look.is_complete:
        lines.append(f"[{sandbox.name}: the workspace is too large to look through: its deeper .env files were open]")
    network = look.confinement.network
    if exit_code and (sandbox.refusal.search(output) or (not network and re.search(_UNREACHABLE, output))):
        lines.append(
            f"[{sandbox.name}: commands write beneath the workspace and $TMPDIR only, not to protected files there"
            f"{'' if network else ', and have no network'}. The person can allow more (settings sandbox_roots and "
            "sandbox_network) or go without (--sandbox off).]"
        )
    return lines


def _directory(cwd: int | Path) -> "Directory":
    from marvin_server.workspace.sandbox import Directory

    status = os.fstat(cwd) if isinstance(cwd, int) else cwd.stat()
    path = Path(f"/proc/self/fd/{cwd}") if isinstance(cwd, int) else cwd
    return Directory(os.path.realpath(path), f"{status.st_dev}:{status.st_ino}")


def _is_in_view(place: str, hidden: Collection[str], roots: Collection[str]) -> bool:
    """Whether ``place`` lies in no hidden folder, or in a root that lies in one."""
    above = next((path for path in map(str, Path(place).parents) if path in hidden or path in roots), None)
    return above not in hidden
