"""Read-only questions to git, asked so that no repository, however hostile its configuration, can run a program."""

import os
import posixpath
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from marvin_server.errors import PermissionNeeded, ToolError
from marvin_server.workspace.names import printable, protection
from marvin_server.workspace.process import Completed, Processes

_TIMEOUT = 30.0
_OUTPUT = 50_000
_NAMES = 10_000_000
_OPTIONS = ("--no-pager", "--no-optional-locks")
_SETTINGS = (
    "core.fsmonitor=",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "core.editor=false",
    "core.askPass=false",
    "core.sshCommand=false",
    "core.gitProxy=false",
    "core.alternateRefsCommand=false",
    "core.quotePath=false",
    "core.safecrlf=false",
    "credential.helper=",
    "diff.external=",
    "diff.ignoreSubmodules=all",
    "log.showSignature=false",
    "i18n.logOutputEncoding=UTF-8",
    "gpg.program=false",
    "gpg.ssh.program=false",
    "gpg.x509.program=false",
    "protocol.allow=never",
    "safe.bareRepository=explicit",
    "submodule.recurse=false",
    "status.submoduleSummary=false",
)
_ENVIRON = {
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C.UTF-8",
}
_SECRETS = (
    ":(top,exclude,icase,glob)**/.env",
    ":(top,exclude,icase,glob)**/.env.*",
    ":(top,exclude,icase,glob)**/.env/**",
)
_DIFF = ("--no-color", "--no-ext-diff", "--no-textconv", "--no-relative", "--src-prefix=a/", "--dst-prefix=b/")


class Git(Struct, frozen=True):
    """The repository that the folder ``directory`` (relative to the workspace's ``root``) lies in.

    It is the nearest one from there up to the root; its files are those around its ``.git``, whatever
    ``core.worktree`` says. The person's own git configuration stays in force (ignored files, safe directories), but
    programs that any configuration names are not run: hooks, fsmonitor, pagers, external diffs, textconv, content
    filters (so a file under git-lfs may show as modified), signature checks, transports; submodules are left out.
    ``environ`` loses every GIT_* variable. A history that is kept outside ``root``, as a linked worktree's is, raises
    PermissionNeeded (``outside_path``) unless ``permits`` says yes to its real path.

    All methods raise ToolError when there is no repository, when git is missing or refuses, and after 30 s. Paths
    are relative to the root. What they return is capped as a command's output is.
    """

    processes: Processes
    root: Path
    directory: str
    environ: Mapping[str, str]
    permits: Callable[[str], bool]

    async def status(self) -> str:
        """The branch and the changed files, in git's format ``--porcelain=v1 --branch``."""
        return await self._ask(
            "status", "--porcelain=v1", "--branch", "--untracked-files=normal", "--ignore-submodules=all"
        )

    async def diff(self, *, staged: bool = False, path: str | None = None, revision: str | None = None) -> str:
        """The changes as a unified diff; ``.env`` files are left out, as reading them is a question of its own, and a
        last line names those that changed. A file that git's attributes call binary is only said to differ.

        Raises ToolError for a ``path`` that neither the folder nor the history has. Of all three only this one may
        write: git refreshes the file times that its index remembers.
        """
        scope = ("--cached",) if staged else ()
        what = ("diff", *_DIFF, "--ignore-submodules=all", *scope)
        since, spec = _revision(revision), self._spec(path)
        diff = await self._ask(*what, *since, "--", spec, *_SECRETS)
        names = await self._ask(*what, "--name-only", "--no-renames", "-z", *since, "--", spec, limit=_NAMES)
        special = [name for name in names.split("\0") if "/.env" in f"/{name.casefold()}"]
        samples = [name for name in special if not protection(name, writing=False)]
        if samples:
            diff += await self._ask(*what, *since, "--", *(f":(top,literal){name}" for name in samples))
        if left_out := ", ".join(printable(name) for name in special if name not in samples):
            diff += f"[left out: {left_out}]\n"
        if not diff and path is not None and revision is None and not os.path.lexists(self.root / path):
            await self._require_history(path)
        return diff

    async def log(self, *, limit: int = 20, path: str | None = None) -> str:
        """The newest ``limit`` commits, one a line: hash, date, author, names of it, subject."""
        form = ("--no-color", "--no-show-signature", "--no-patch", "--date=short", "--format=%h %ad %an:%d %s")
        return await self._ask("log", f"--max-count={limit}", *form, "--", self._spec(path))

    async def _require_history(self, path: str) -> None:
        if not await self.log(limit=1, path=path):
            raise ToolError(f"File not found: '{printable(path)}', neither in the folder nor in the history.")

    async def _ask(self, *arguments: str, limit: int = _OUTPUT) -> str:
        worktree = self._worktree()
        completed = await self._git(worktree, *await self._filters_off(worktree), *arguments, limit=limit)
        if completed.exit_code != 0:
            raise _refusal(completed)
        return completed.output

    async def _filters_off(self, worktree: Path) -> list[str]:
        """The options that empty every content filter of any configuration; naming them runs nothing."""
        completed = await self._git(worktree, "config", "-z", "--name-only", "--get-regexp", r"^filter\.")
        if completed.exit_code not in {0, 1}:
            raise _refusal(completed)
        keys = [entry.rpartition("\n")[2] for entry in completed.output.split("\0")]
        names = sorted({key[len("filter.") :].rpartition(".")[0] for key in keys if key.startswith("filter.")})
        if completed.omitted_bytes or any("=" in name or "\ufffd" in name for name in names):
            raise ToolError("This repository configures content filters that cannot be switched off; git is not run.")
        return [
            option
            for name in names
            for setting in ("clean=", "smudge=", "process=", "required=false")
            for option in ("-c", f"filter.{name}.{setting}")
        ]

    async def _git(self, worktree: Path, *arguments: str, limit: int = _OUTPUT) -> Completed:
        kept = {name: value for name, value in self.environ.items() if not name.startswith("GIT_")}
        environ = {**kept, **_ENVIRON, "GIT_WORK_TREE": str(worktree), "GIT_CEILING_DIRECTORIES": str(worktree.parent)}
        settings = [option for setting in _SETTINGS for option in ("-c", setting)]
        return await self.processes.run(
            ["git", *_OPTIONS, *settings, *arguments], cwd=worktree, environ=environ, timeout=_TIMEOUT, limit=limit
        )

    def _worktree(self) -> Path:
        folder = self.root / self.directory
        while not os.path.lexists(folder / ".git"):
            if folder == self.root:
                raise ToolError(
                    f"Not a git repository: '{self.directory}', nor any folder above it in the workspace. "
                    "Run 'git init' to make one."
                )
            folder = folder.parent
        for place in _history(folder / ".git"):
            if not place.is_relative_to(self.root) and not self.permits(str(place)):
                reason = f"the history of the git repository at '{folder}' is kept there, outside the workspace"
                raise PermissionNeeded("outside_path", str(place), reason)
        return folder

    def _spec(self, path: str | None) -> str:
        """The pathspec (gitglossary(7)) of exactly ``path``, or of everything."""
        if path is None:
            return ":(top)"
        top = self._worktree().relative_to(self.root).as_posix()
        inside = posixpath.relpath(path, top)
        if inside.split("/")[0] == "..":
            raise ToolError(f"'{path}' is not in the git repository at '{top}'.")
        return ":(top)" if inside == "." else f":(top,literal){inside}"


def _history(dot_git: Path) -> list[Path]:
    """The real folders in which a repository's history is (gitrepository-layout(5), "gitdir" and "commondir")."""
    folder = dot_git
    with suppress(OSError, ValueError):
        if dot_git.is_file():
            folder = dot_git.parent / dot_git.read_text(errors="surrogateescape").removeprefix("gitdir:").strip()
        common = (folder / "commondir").read_text(errors="surrogateescape").strip()
        return [folder.resolve(), (folder / common).resolve()]
    return [folder.resolve()]


def _revision(revision: str | None) -> tuple[str, ...]:
    if revision is None:
        return ()
    if revision.startswith("-") or not revision:
        raise ToolError(f"'{revision}' is not a revision. Name a commit, branch, tag or range such as HEAD~2..HEAD.")
    return ("--end-of-options", revision)


def _refusal(completed: Completed) -> ToolError:
    if completed.timed_out:
        return ToolError(f"git took longer than {_TIMEOUT:.0f} s. Ask for less, for example for one path.")
    lines = [line.removeprefix("fatal: ") for line in completed.output.splitlines()]
    return ToolError(f"git refused: {lines[0] if lines else f'exit code {completed.exit_code}'}")
