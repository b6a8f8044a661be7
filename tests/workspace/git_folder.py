"""A folder with a real git repository, for tests."""

import os
import subprocess
from collections.abc import Awaitable, Mapping
from pathlib import Path

from marvin_server.workspace.git_repository import Repository, opened
from marvin_server.workspace.process import Processes
from tests.patience import SECONDS


class GitFolder:
    """``folder``/work with the branches main (two commits, checked out) and feature (one commit from the first)."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "work"
        self.root.mkdir(parents=True)
        self.environ = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
        self.permitted: set[str] = set()
        self.git("init", "--quiet", "--initial-branch=main")
        for key, value in (("user.name", "Ann"), ("user.email", "ann@example.org")):
            self.git("config", key, value)
        self.commit("First", {"a.txt": "one\n", "b.txt": "two\n", "sub/c.txt": "three\n"})
        self.git("switch", "--quiet", "--create", "feature")
        self.commit("Feature", {"a.txt": "ONE\n", "new.txt": "new\n"})
        self.git("switch", "--quiet", "main")
        self.commit("Second", {"b.txt": "2\n"})

    def git(self, *arguments: str, check: bool = True) -> str:
        """What plain git prints, with the person's settings in force."""
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.root,
            env=self.environ,
            check=check,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            stdin=subprocess.DEVNULL,
        )
        return done.stdout

    def commit(self, message: str, files: Mapping[str, str]) -> None:
        """Commit everything that is there, with ``files`` written before."""
        self.write(files)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", message)

    def write(self, files: Mapping[str, str]) -> None:
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def read(self, *names: str) -> list[str]:
        return [(self.root / name).read_text() for name in names]

    def head(self) -> str:
        """The short hash and the subject of the commit that is checked out."""
        return self.git("log", "-1", "--format=%h %s").strip()

    def status(self) -> str:
        return self.git("status", "--porcelain")

    def opened(self) -> Awaitable[Repository]:
        return opened(Processes(), self.root, ".", self.environ, self.permitted.__contains__)
