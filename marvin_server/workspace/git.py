"""Questions to git: what changed, what is recorded, who wrote a line. Nothing but git itself runs (git_hardened.py).

All functions raise ToolError as ``Repository`` does. Paths are relative to the workspace's root. What they return is
capped as a command's output is.
"""

import os

from marvin_server.errors import ToolError
from marvin_server.sanitise import one_line, printable
from marvin_server.workspace import names
from marvin_server.workspace.git_repository import Repository, literal
from marvin_server.workspace.git_state import operation

_SECRETS = (
    ":(top,exclude,icase,glob)**/.env",
    ":(top,exclude,icase,glob)**/.env.*",
    ":(top,exclude,icase,glob)**/.env/**",
)
_DIFF = ("--no-color", "--no-ext-diff", "--no-textconv", "--no-relative", "--src-prefix=a/", "--dst-prefix=b/")
_LOG = ("--no-color", "--no-show-signature", "--no-patch", "--date=short")
_COMMIT = "--format=commit %H%nparents %p%nauthor %an <%ae>%ndate %ad%n%n%B"


async def status(repository: Repository) -> str:
    """The branch and the changed files, in git's format ``--porcelain=v1 --branch``, and a line for an operation that
    was begun."""
    lines = await repository.ask(
        "status", "--porcelain=v1", "--branch", "--untracked-files=normal", "--ignore-submodules=all"
    )
    begun = operation(repository)
    return printable(lines) + (f"[a {begun} is in progress]\n" if begun else "")


async def diff(
    repository: Repository,
    *,
    staged: bool = False,
    path: str | None = None,
    revision: str | None = None,
    summary: bool = False,
) -> str:
    """The changes as a unified diff, or as a ``summary`` of the lines added and removed in each file.

    ``.env`` files and others that are guarded are left out, and a last line names those that changed. A
    file that git's attributes call binary is only said to differ. ``revision`` is a commit to compare with, or a range.

    Raises ToolError for a ``path`` that neither the folder nor the history has. Of all questions only this one may
    write: git refreshes the file times that its index remembers.
    """
    scope = ("--cached",) if staged else ()
    found = await _patch(repository, ("diff", *scope), _revision(revision), path, summary)
    if not found and path is not None and revision is None and not os.path.lexists(repository.root / path):
        await _require_history(repository, path)
    return found


async def log(repository: Repository, *, limit: int = 20, path: str | None = None, revision: str | None = None) -> str:
    """The newest ``limit`` commits that ``revision`` (a commit or a range) leads to, HEAD unless told otherwise.

    One a line: hash, date, author, names of it, subject.
    """
    count = f"--max-count={limit}"
    lines = ("log", count, *_LOG, "--format=%h %ad %an:%d %s", *_revision(revision), "--", repository.spec(path))
    return printable(await repository.ask(*lines))


async def show(repository: Repository, revision: str, *, path: str | None = None, summary: bool = False) -> str:
    """The commit ``revision``: hash, parents, author, date, message, and its changes as ``diff`` shows them.

    A merge is compared with its first parent.
    """
    commit = await repository.commit_named(revision)
    about = await repository.ask("log", "--max-count=1", *_LOG, _COMMIT, commit, "--")
    since = ("show", "--format=", "--diff-merges=first-parent")
    return f"{printable(about).rstrip()}\n\n{await _patch(repository, since, (commit,), path, summary)}"


async def _patch(
    repository: Repository, command: tuple[str, ...], since: tuple[str, ...], path: str | None, summary: bool
) -> str:
    spec = repository.spec(path)
    what = (*command, *_DIFF, "--ignore-submodules=all")
    form = ("--stat=120",) if summary else ()
    changed = await repository.names(*what, "--name-only", "--no-renames", "-z", *since, "--", spec)
    left_out = [name for name in changed if repository.protection(repository.from_root(name), writing=False)]
    beyond = (literal(name, "top,exclude,literal") for name in left_out if not _is_special(name))
    patch = await repository.ask(*what, *form, *since, "--", spec, *_SECRETS, *beyond)
    if shown := [name for name in changed if _is_special(name) and name not in left_out]:
        patch += await repository.ask(*what, *form, *since, "--", *map(literal, shown))
    if left_out:
        patch += f"[left out: {', '.join(map(names.printable, left_out))}]\n"
    return patch


def _is_special(name: str) -> bool:
    """Whether ``_SECRETS`` may cover the file."""
    return "/.env" in f"/{name.casefold()}"


async def _require_history(repository: Repository, path: str) -> None:
    if not await log(repository, limit=1, path=path):
        raise ToolError(f"File not found: '{names.printable(path)}', neither in the folder nor in the history.")


def _revision(revision: str | None) -> tuple[str, ...]:
    if revision is None:
        return ()
    if revision.startswith("-") or not revision:
        shown = one_line(revision, 200)
        raise ToolError(f"'{shown}' is not a revision. Name a commit, branch, tag or range such as HEAD~2..HEAD.")
    return ("--end-of-options", revision)
