"""A person's machine in small for the attacks: a home with keys, Marvin's own folders, a workspace and what is beside.

It must not lie in /tmp, of which commands see only their own.
"""

import asyncio
import os
import tempfile
from pathlib import Path

from marvin_server.workspace.process import Completed, Processes, shell_argv
from marvin_server.workspace.sandbox_session import Access, SessionSandbox
from tests.patience import SECONDS

SECRET = "5ecret-9f1c"
CHECKOUT = Path(__file__).parents[3]
SEEN_INSIDE = (CHECKOUT / ".cache", Path("/opt"), Path("/srv"))
_FILES = {
    "home/.ssh/id_ed25519": SECRET,
    "home/.netrc": SECRET,
    "home/.config/gh/hosts.yml": SECRET,
    "home/.profile": "export EDITOR=vi\n",
    "home/.docker/config.json": SECRET,
    "marvin/data/profiles/default/marvin.db": SECRET,
    "other/file": "mine\n",
    "work/source.py": "print('hello')\n",
    "work/.env.example": "TOKEN=\n",
}


def folder_seen_inside() -> str:
    """A new folder outside /tmp; the caller removes it."""
    for place in SEEN_INSIDE:
        place_of_its_own = place.resolve().parts[1:2] != ("tmp",)
        if place_of_its_own and place.parent.is_dir() and os.access(place.parent, os.W_OK):
            place.mkdir(exist_ok=True)
            return tempfile.mkdtemp(prefix="marvin-test-", dir=place)
    raise AssertionError(f"these tests need a folder that is not in /tmp: none of {SEEN_INSIDE} can be written")


class Place:
    """The folders beneath ``base``; ``backends`` is the PATH by which the sandbox is chosen."""

    def __init__(self, base: Path, backends: str) -> None:
        self.base = base
        self.home, self.work, self.other = base / "home", base / "work", base / "other"
        for name, text in _FILES.items():
            self.write(name, text)
        self.environ = {"PATH": os.environ["PATH"], "HOME": str(self.home), "LC_ALL": "C.UTF-8"}
        self.store = base / "marvin" / "data" / "profiles" / "default" / "marvin.db"
        self.backends = backends
        self._open: list[SessionSandbox] = []

    def write(self, name: str, text: str) -> Path:
        path = self.base / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def sandbox(self, *, network: bool = False, more_roots: tuple[Path, ...] = ()) -> SessionSandbox:
        access = Access(lambda: self.work, more_roots, lambda: (self.base / "marvin" / "data",), network)
        sandbox = SessionSandbox(access, {"PATH": self.backends}, self.base / "cache", required=True)
        self._open.append(sandbox)
        return sandbox

    async def start(self, processes: Processes, command: str) -> asyncio.Task[Completed]:
        """``command`` without a time-out, once its first output has come."""
        up = asyncio.Event()
        running = asyncio.create_task(
            processes.run(
                shell_argv(command, self.environ),
                cwd=self.work,
                environ=self.environ,
                timeout=None,
                emit=lambda _: up.set(),
                sandbox=self.sandbox(),
            )
        )
        await asyncio.wait_for(up.wait(), SECONDS)
        return running

    async def run(
        self,
        command: str,
        *,
        sandbox: SessionSandbox | None = None,
        timeout: float = SECONDS,
        environ: dict[str, str] | None = None,
        limit: int = 50_000,
    ) -> Completed:
        """Run ``command`` by bash in the workspace."""
        environ = {**self.environ, **(environ or {})}
        return await Processes().run(
            shell_argv(command, environ),
            cwd=self.work,
            environ=environ,
            timeout=timeout,
            limit=limit,
            sandbox=sandbox or self.sandbox(),
        )

    def outside(self) -> dict[str, tuple[object, ...]]:
        """Everything but the workspace and the sandbox's own folder: what each file is and holds."""
        found: dict[str, tuple[object, ...]] = {}
        for path in sorted(self.base.rglob("*")):
            relative = path.relative_to(self.base)
            if relative.parts[0] not in {"work", "cache"}:
                status = path.lstat()
                text = path.read_text() if path.is_file() else None
                found[str(relative)] = (status.st_mode, status.st_uid, status.st_nlink, text)
        return found

    def close(self) -> None:
        for sandbox in self._open:
            sandbox.close()
