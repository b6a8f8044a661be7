"""What a commit, a checkout or the end of a branch would do: shown to a person before it is done, and changing nothing.

All functions raise what the deed itself would raise before it begins.
"""

import asyncio
import hashlib
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import Struct
from msgspec.structs import replace

from marvin_server.errors import ToolError
from marvin_server.sanitise import one_line
from marvin_server.workspace import names
from marvin_server.workspace.git_branches import checked_name
from marvin_server.workspace.git_checkout import destination, restoring
from marvin_server.workspace.git_commit import nothing_to_commit, selected
from marvin_server.workspace.git_repository import Repository, batches, literal, refusal
from marvin_server.workspace.git_state import head, operation

_STAT = 10_000  # bytes
_SWAPPED = ("-R", "--src-prefix=b/", "--dst-prefix=a/")
_PLAIN = ("--no-color", "--no-ext-diff", "--no-textconv", "--no-relative", "--src-prefix=a/", "--dst-prefix=b/")


class Foreseen(Struct, frozen=True):
    """``text`` is for the person, its diffs at most 50 KB long; ``state`` changes with anything that the deed would
    do, also with what the text leaves out, where it is not ``is_whole``."""

    text: str
    state: str
    is_whole: bool = True


async def of_commit(repository: Repository, message: str, *, paths: Sequence[str], everything: bool) -> Foreseen:
    """The commit that ``git_commit.commit`` would make: where, the changed files, and the diff, without that of files
    that are not to be read. ``state`` has the hash of its tree."""
    selection = await selected(repository, message, paths=paths, everything=everything)
    now = await head(repository)
    with TemporaryDirectory(prefix="marvin-") as folder:
        staging = await asyncio.to_thread(_staging, repository, Path(folder))
        if paths:
            await staging.ask("read-tree", now.commit or "--empty")
        for batch in batches(selection.files):
            done = await staging.change(
                "-c", "core.looseCompression=0", "update-index", "--add", "--remove", "--", *batch
            )
            if done.exit_code != 0:
                raise refusal(done)
        tree = (await staging.ask("write-tree")).strip()
        since = ("diff", "--cached", *_PLAIN, "--submodule=short", "--ignore-submodules=dirty")
        changed = await staging.names(*since, "--name-only", "--no-renames", "-z")
        if not changed and operation(repository) is None:
            raise nothing_to_commit(selection)
        stat = await staging.ask(*since, "--stat=120", limit=_STAT)
        hidden = [name for name in changed if staging.protection(staging.from_root(name), writing=False)]
        diff = await staging.asked(*since, "--", ":(top)", *(literal(name, "top,exclude,literal") for name in hidden))
    where = f"on {one_line(now.branch)}" if now.branch else "on no branch"
    text = f"Commits {where}, {f'after {now.commit[:12]}' if now.commit else 'as the first commit'}:\n{stat}"
    if selection.left_out:
        text += f"[stays out: {_listed(selection.left_out)}]\n"
    if hidden:
        text += f"[committed too, but not shown: {_listed(hidden)}]\n"
    is_whole = not hidden and not diff.omitted_bytes
    return Foreseen(f"{text}\n{diff.output}", f"{now.branch} {now.commit} {tree}", is_whole)


async def of_restore(repository: Repository, paths: Sequence[str], revision: str | None) -> Foreseen:
    """What ``git_checkout.restore`` would change in the files: lines with a minus are lost."""
    plan = await restoring(repository, paths, revision)
    diff, is_whole = "", True
    if plan.touched:
        what = ("diff", *_PLAIN, *_SWAPPED, "--diff-filter=d", "--ignore-submodules=all")
        shown = await repository.asked(*what, *plan.against, "--", *plan.specs)
        diff, is_whole = shown.output, not shown.omitted_bytes
    text = f"Restores from {plan.where} {_count(plan.touched)}:\n{diff}" if plan.touched else "Nothing differs.\n"
    if plan.left_out:
        text += f"[left out, as protected: {_listed(plan.left_out)}]\n"
    index = await repository.names("ls-files", "--stage", "-z", "--", *plan.specs)
    files = await asyncio.to_thread(_states, repository.worktree, plan.touched)
    return Foreseen(text, _digest(plan.source or "", *index, *files), is_whole)


async def of_switch(repository: Repository, branch: str | None, create: bool, revision: str | None) -> Foreseen:
    """What a switch to ``branch`` (to be made, with ``create``), else to the commit ``revision``, would change."""
    now = await head(repository)
    remote = None
    if branch is not None and not create:
        target, remote = await destination(repository, branch)
    else:
        target = now.commit if revision is None else await repository.commit_named(revision)
    made = "" if branch is None or not (create or remote) else f"Makes the branch {checked_name(branch)}"
    made += f", which follows {remote}. " if remote else ". " if made else ""
    start = f"{one_line(now.branch or 'no branch')} ({now.commit[:12] if now.commit else 'no commit yet'})"
    text = f"{made}Switches from {start} to {branch or 'no branch'} ({target[:12] if target else 'no commit yet'}).\n"
    if target and now.commit and target != now.commit:
        changes = (*_PLAIN, "--ignore-submodules=all", "--stat=120", now.commit, target)
        text += await repository.ask("diff", *changes, "--", limit=_STAT)
    return Foreseen(text, f"{now.branch} {now.commit} {target} {remote}")


async def of_deletion(repository: Repository, branch: str) -> Foreseen:
    """Where ``branch`` is that would be deleted, and its commits that no other branch has."""
    ref = f"refs/heads/{checked_name(branch)}"
    place = await repository.answers("rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}")
    if not place:
        raise ToolError(f"There is no branch '{branch}'.")
    plain = ("log", "--no-color", "--no-show-signature", "--format=%h %s")
    latest = await repository.ask(*plain, "--max-count=1", place, "--")
    others = ("--not", "HEAD", f"--exclude={branch}", "--branches", "--remotes", "--tags")
    alone = await repository.ask(*plain, place, *others, "--", limit=_STAT)
    held = f"Commits that would be on no branch:\n{alone}" if alone else "All its commits are on other branches too.\n"
    return Foreseen(f"Deletes the branch {branch}, which is at {one_line(latest)}\n{held}", place)


def _staging(repository: Repository, folder: Path) -> Repository:
    """``repository`` with a copy of its index in ``folder``, and all objects that are made there too.

    The copy is as old as the index: by that git knows which files may have changed since in the same tick.
    """
    objects, index = folder / "objects", folder / "index"
    (objects / "info").mkdir(parents=True)
    (objects / "info" / "alternates").write_bytes(os.fsencode(repository.common_dir / "objects") + b"\n")
    if (repository.git_dir / "index").exists():
        shutil.copy2(repository.git_dir / "index", index)
    places = {"GIT_INDEX_FILE": str(index), "GIT_OBJECT_DIRECTORY": str(objects)}
    return replace(repository, environ={**repository.environ, **places})


def _states(worktree: Path, files: Sequence[str]) -> list[str]:
    """A text for each of ``files`` that changes whenever the file does."""
    found: list[str] = []
    for name in files:
        try:
            status = (worktree / name).lstat()
        except OSError:
            found.append(f"{name} missing")
        else:
            found.append(f"{name} {status.st_mode} {status.st_ino} {status.st_size} {status.st_ctime_ns}")
    return found


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()


def _count(files: Sequence[str]) -> str:
    return "one file" if len(files) == 1 else f"{len(files):,} files"


def _listed(files: Sequence[str]) -> str:
    shown = ", ".join(names.printable(name) for name in files[:20])
    return f"{shown} and {len(files) - 20} more" if len(files) > 20 else shown
