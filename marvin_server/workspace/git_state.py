"""Where a repository stands: its branch, an operation that was begun, and the hooks that are not run here."""

import os
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from marvin_server.workspace.git_repository import Repository
from marvin_server.workspace.names import printable

_OPERATIONS = {
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
    "MERGE_HEAD": "merge",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
    "BISECT_LOG": "bisect",
}


class Head(Struct, frozen=True):
    """``branch`` is None when HEAD is detached, ``commit`` (a full hash) while there is no commit yet."""

    branch: str | None
    commit: str | None


async def head(repository: Repository) -> Head:
    """What HEAD names."""
    branch = await repository.answers("symbolic-ref", "--quiet", "--short", "HEAD")
    return Head(branch, await repository.answers("rev-parse", "--verify", "--quiet", "HEAD^{commit}"))


def operation(repository: Repository) -> str | None:
    """The operation that was begun and is neither finished nor given up, by its git command."""
    begun = (name for file, name in _OPERATIONS.items() if os.path.lexists(repository.git_dir / file))
    return next(begun, None)


def hooks_not_run(repository: Repository, events: Sequence[str]) -> str:
    """A line that names the repository's hooks for ``events``, which are never run here; empty when it has none."""
    folder = _hooks_folder(repository)
    found = [event for event in events if os.access(folder / event, os.X_OK)]
    found += [
        f"hook.{key[len('hook.') : -len('.command')]}"
        for key in repository.config
        if key.startswith("hook.") and key.endswith(".command")
    ]
    if not found:
        return ""
    names = printable(", ".join(found))
    return f"[not run: the hooks {names} ({printable(str(folder))}). If they matter, run them with run_command.]\n"


def _hooks_folder(repository: Repository) -> Path:
    """As git-config(1) says of ``core.hooksPath``."""
    configured = repository.config.get("core.hookspath")
    if not configured:
        return repository.common_dir / "hooks"
    if configured.startswith("~/"):
        return Path(repository.environ.get("HOME", "/")) / configured[2:]
    return repository.worktree / configured
