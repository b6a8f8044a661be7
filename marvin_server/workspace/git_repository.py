"""A git repository of the workspace: where it is, its configuration, and how git is asked and told."""

import asyncio
import os
import posixpath
import re
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from marvin_server.errors import PermissionNeeded, ToolError
from marvin_server.sanitise import one_line
from marvin_server.workspace import git_hardened
from marvin_server.workspace.confine import Guard
from marvin_server.workspace.git_places import history
from marvin_server.workspace.names import printable, protection
from marvin_server.workspace.process import Completed, Processes

T = TypeVar("T")

_QUESTION_SECONDS = 30.0
_CHANGE_SECONDS = 120.0
_GRACE_SECONDS = 5.0
_OUTPUT = 50_000
_NAMES = 10_000_000
_ARGUMENTS = 60_000
_STDOUT_ALONE = ("/bin/sh", "-c", 'exec "$0" "$@" 2>/dev/null')
_WITHOUT_WARNINGS = ("-c", "core.safecrlf=false")
_LOCKED = re.compile(r"Unable to create '(.+\.lock)': File exists")
_UNMATCHED = re.compile(r"pathspec '(?::\(top,literal\))?(.+)' did not match any file")


class Repository(Struct, frozen=True):
    """The repository of a folder, with its configuration as it was when ``opened``.

    ``root`` is the workspace's; ``worktree`` holds the repository's files, ``git_dir`` and ``common_dir`` (the same
    but for a linked worktree) its history. ``config`` has the last value of every key of the person's and the
    repository's configuration, None for a key without one. ``permits`` says yes to the path of a PermissionNeeded,
    ``guard`` names more paths that need one.

    Every method that runs git raises ToolError when git is missing, refuses or takes too long.
    """

    processes: Processes
    root: Path
    worktree: Path
    git_dir: Path
    common_dir: Path
    environ: Mapping[str, str]
    permits: Callable[[str], bool]
    guard: Guard | None
    config: Mapping[str, str | None]

    async def ask(self, *arguments: str, limit: int = _OUTPUT, index: Path | None = None) -> str:
        """What git says to a question; more than ``limit`` bytes lose their middle, after 30 s git is ended.

        ``index`` is a file to use in place of the repository's index.
        """
        return (await self.asked(*arguments, limit=limit, index=index)).output

    async def asked(self, *arguments: str, limit: int = _OUTPUT, index: Path | None = None) -> Completed:
        """As ``ask``, with how much is left out."""
        completed = await self._run(arguments, limit=limit, index=index)
        if completed.exit_code != 0:
            raise refusal(completed, _QUESTION_SECONDS)
        return completed

    async def answers(self, *arguments: str) -> str | None:
        """The one line that git answers, None when it says no (exit code 1 or more)."""
        completed = await self._run(arguments, stdout_alone=True)
        return completed.output.strip() if completed.exit_code == 0 else None

    async def names(self, *arguments: str, index: Path | None = None) -> list[str]:
        """The items, each ended by a NUL, that git lists, warnings left out; bytes that are not UTF-8 are surrogate
        escapes, so that a name is the file's own. Raises ToolError above 10 MB of them."""
        completed = await self._run(arguments, limit=_NAMES, index=index, stdout_alone=True, errors="surrogateescape")
        if completed.exit_code != 0:
            await self.ask(*arguments, index=index)
            raise refusal(completed, _QUESTION_SECONDS)
        if completed.omitted_bytes:
            raise ToolError("That is too many files to look through at once. Name fewer paths.")
        return completed.output.split("\0")[:-1]

    async def change(self, *arguments: str) -> Completed:
        """Run a git command that changes the repository; its exit code is for the caller to judge.

        It has 120 s. One that is cancelled gets five seconds to finish, so that nothing is left half done.
        """
        keys = await self._submodule_keys()
        return await finished(self._run(arguments, seconds=_CHANGE_SECONDS, more=(), keys=keys))

    async def commit_named(self, revision: str) -> str:
        """The full hash of the commit that ``revision`` names, which may be no range, file or option."""
        found = None
        if not revision.startswith("-") and "\0" not in revision:
            arguments = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
            found = await self.answers(*arguments)
        if not found:
            raise ToolError(f"'{one_line(revision, 200)}' is no commit here. Name a hash, a branch or a tag.")
        return found

    def spec(self, path: str | None) -> str:
        """The pathspec (gitglossary(7)) of exactly ``path``, which is relative to the root, or of everything."""
        if path is None:
            return ":(top)"
        top = self.worktree.relative_to(self.root).as_posix()
        inside = posixpath.relpath(path, top)
        if inside.split("/")[0] == "..":
            raise ToolError(f"'{printable(path)}' is not in the git repository at '{printable(top)}'.")
        return ":(top)" if inside == "." else literal(inside)

    def protection(self, path: str, *, writing: bool) -> str | None:
        """Why ``path``, relative to the root, needs a question first, or None when it needs none or got its yes."""
        reason = protection(path, writing=writing) or (self.guard and self.guard(path, writing))
        return None if reason is None or self.permits(path) else reason

    def from_root(self, name: str) -> str:
        """The file ``name`` of the worktree, relative to the workspace's root."""
        return (self.worktree / name).relative_to(self.root).as_posix()

    async def _submodule_keys(self) -> list[str]:
        """The keys of ``.gitmodules``, wherever git could read it from."""
        blobs = [await self.answers("rev-parse", "--verify", "--quiet", f"{tree}:.gitmodules") for tree in ("", "HEAD")]
        places = [("--blob", blob) for blob in blobs if blob]
        if os.path.lexists(self.worktree / ".gitmodules"):
            places.append(("--file", ".gitmodules"))
        return [key for place in places for key in await self.names("config", "-z", "--name-only", *place, "--list")]

    async def _run(
        self,
        arguments: Sequence[str],
        *,
        limit: int = _OUTPUT,
        seconds: float = _QUESTION_SECONDS,
        index: Path | None = None,
        stdout_alone: bool = False,
        errors: str = "replace",
        more: Sequence[str] = _WITHOUT_WARNINGS,
        keys: Sequence[str] = (),
    ) -> Completed:
        environ = self.environ if index is None else {**self.environ, "GIT_INDEX_FILE": str(index)}
        git = [git_hardened.program(environ), *git_hardened.options([*self.config, *keys]), *more, *arguments]
        argv = [*_STDOUT_ALONE, *git] if stdout_alone else git
        return await self.processes.run(
            argv, cwd=self.worktree, environ=environ, timeout=seconds, errors=errors, limit=limit
        )


async def opened(
    processes: Processes,
    root: Path,
    directory: str,
    environ: Mapping[str, str],
    permits: Callable[[str], bool],
    *,
    guard: Guard | None = None,
) -> Repository:
    """The repository that the folder ``directory`` (relative to the workspace's ``root``) lies in.

    It is the nearest one from there up to the root; its files are those around its ``.git``, whatever
    ``core.worktree`` says. The person's own git configuration stays in force (ignored files, line endings, safe
    directories), but programs that any configuration names are not run: hooks, fsmonitor, pagers, editors, external
    diffs, textconv, content filters (so a file under git-lfs may show as modified), signing, transports; submodules
    are left alone. Of ``environ`` every GIT_* variable and the relative folders of PATH are dropped.

    Raises ToolError when there is no repository, or when its configuration names programs in a way that cannot be
    switched off; PermissionNeeded (``outside_path``) when a part of its history is kept outside ``root``, as that of
    a linked worktree is, and ``permits`` does not say yes to the real path.
    """
    worktree = _worktree(root, directory)
    git_dir, common_dir, outside = await asyncio.to_thread(history, worktree / ".git", root)
    for place in outside:
        if not permits(str(place)):
            reason = f"the history of the git repository at '{worktree}' is kept there, outside the workspace"
            raise PermissionNeeded("outside_path", str(place), reason)
    hardened = git_hardened.variables(environ, worktree)
    bare = Repository(processes, root, worktree, git_dir, common_dir, hardened, permits, guard, {})
    listed = await bare.names("config", "--list", "-z", "--show-scope")
    config: dict[str, str | None] = {}
    for scope, entry in zip(listed[::2], listed[1::2], strict=True):
        key, has_value, value = entry.partition("\n")
        if scope != "command":
            config[key] = value if has_value else None
    return replace(bare, config=config)


async def finished(work: Coroutine[Any, Any, T]) -> T:
    """What ``work`` returns. When this is cancelled, ``work`` has five seconds to finish before it is cancelled too."""
    running = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait({running}, timeout=_GRACE_SECONDS)
        running.cancel()
        await asyncio.wait({running})
        raise


def literal(name: str, magic: str = "top,literal") -> str:
    """The pathspec of exactly the file ``name`` of the worktree."""
    return f":({magic}){name}"


def batches(names: Sequence[str]) -> list[list[str]]:
    """``names`` in pieces that fit a command line."""
    pieces: list[list[str]] = []
    room = 0
    for name in names:
        room -= len(os.fsencode(name)) + 20
        if room < 0:
            pieces.append([])
            room = _ARGUMENTS
        pieces[-1].append(name)
    return pieces


def refusal(completed: Completed, seconds: float = _CHANGE_SECONDS) -> ToolError:
    """What to say of a git command that failed, in one line and with advice where there is some."""
    if completed.timed_out:
        return ToolError(f"git took longer than {seconds:.0f} s and was ended. Ask for less, for example for one path.")
    if locked := _LOCKED.search(completed.output):
        return ToolError(_about_lock(locked[1]))
    if unmatched := _UNMATCHED.search(completed.output):
        return ToolError(f"'{one_line(unmatched[1])}' is no file that git knows or may add: missing, or ignored.")
    if "promisor remote" in completed.output or re.search(r"transport '.*' not allowed", completed.output):
        return ToolError(
            "Objects of this partial clone are missing and would have to be fetched, which is not done here. "
            "Run the git command with run_command."
        )
    lines = [line for line in completed.output.splitlines() if line and not line.startswith(("warning: ", "hint: "))]
    said = next((line for line in lines if line.startswith(("fatal: ", "error: "))), lines[0] if lines else "")
    reason = said.removeprefix("fatal: ").removeprefix("error: ") or f"exit code {completed.exit_code}"
    return ToolError(f"git refused: {one_line(reason)}")


def _worktree(root: Path, directory: str) -> Path:
    folder = root / directory
    while not os.path.lexists(folder / ".git"):
        if folder == root:
            raise ToolError(
                f"Not a git repository: '{printable(directory)}', nor any folder above it in the workspace. "
                "Run 'git init' to make one."
            )
        folder = folder.parent
    return folder


def _about_lock(path: str) -> str:
    age = "at this moment"
    with suppress(OSError):
        age = f"for {max(0, time.time() - Path(path).stat().st_mtime):.0f} s"
    return (
        f"'{one_line(path)}' has been there {age}: another git process is at work in this repository, or one has "
        "crashed. Nothing was changed. Wait and try again; when no git runs any more, the person may delete the file."
    )
