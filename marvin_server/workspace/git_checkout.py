"""Switches branches and restores files. A switch overwrites nothing that was not committed, a restore nothing that git
does not know; no filter runs."""

from collections.abc import Sequence

from msgspec import Struct

from marvin_server.errors import PermissionNeeded, ToolError
from marvin_server.sanitise import one_line
from marvin_server.workspace import names
from marvin_server.workspace.git_branches import checked_name
from marvin_server.workspace.git_filters import refuse_to_write
from marvin_server.workspace.git_repository import Repository, literal, refusal
from marvin_server.workspace.git_state import head, hooks_not_run
from marvin_server.workspace.git_untracked import in_the_way
from marvin_server.workspace.process import Completed

_SHOWN = 10
_OBJECTS = 10_000_000
_UNTRACKED = ("untracked working tree files would be ", "would lose untracked files in them")
_SWITCH = ("switch", "--quiet", "--no-overwrite-ignore", "--no-recurse-submodules")


class Checkout(Struct, frozen=True):
    """``text`` says what was done; ``paths``, relative to the root and as they can be shown, are the files that git
    wrote or removed."""

    text: str
    paths: tuple[str, ...] = ()


class Restoring(Struct, frozen=True):
    """What a restore would write: the files ``touched``, by ``specs``, from the commit ``source`` (None: the index)."""

    specs: tuple[str, ...]
    source: str | None
    touched: tuple[str, ...]
    left_out: tuple[str, ...]

    @property
    def where(self) -> str:
        """The source, in words."""
        return "the index" if self.source is None else self.source[:12]

    @property
    def against(self) -> tuple[str, ...]:
        """The source, as git-diff(1) takes it."""
        return () if self.source is None else (self.source,)


async def switch(repository: Repository, branch: str) -> Checkout:
    """Go to ``branch``; one that only a single remote has is made, and follows it.

    Raises PermissionNeeded (``protected_path``) when a protected file would be written, and ToolError, with nothing
    changed, when there is no such branch, when local changes would be overwritten, or when a content filter applies
    to a file that would be written.
    """
    name = checked_name(branch)
    target, remote = await destination(repository, name)
    if remote is None:
        return await _switched(repository, target, ("--no-guess", name), f"Switched to branch {name}.")
    arguments = ("--track", "--create", name, remote)
    return await _switched(repository, target, arguments, f"Switched to a new branch {name} that follows {remote}.")


async def destination(repository: Repository, branch: str) -> tuple[str, str | None]:
    """The commit that a switch to ``branch`` leads to, and the remote's branch that it would follow when there is no
    branch of that name yet. Raises ToolError when there is neither."""
    name = checked_name(branch)
    if target := await repository.answers("rev-parse", "--verify", "--quiet", f"refs/heads/{name}^{{commit}}"):
        return target, None
    remote = await _remote_branch(repository, name)
    return await repository.commit_named(remote), remote


async def create(repository: Repository, branch: str, revision: str | None = None) -> Checkout:
    """Make ``branch`` at the commit ``revision``, else at HEAD, and go to it. Raises as ``switch`` does."""
    name = checked_name(branch)
    text = f"Switched to a new branch {name}."
    if revision is None:
        done = await repository.change(*_SWITCH, "--create", name)
        return Checkout(text + _after(repository, done, name))
    target = await repository.commit_named(revision)
    return await _switched(repository, target, ("--create", name, target), text)


async def detach(repository: Repository, revision: str) -> Checkout:
    """Go to the commit ``revision`` without a branch. Raises as ``switch`` does."""
    target = await repository.commit_named(revision)
    text = f"HEAD is detached at {target[:12]}: commits made here belong to no branch."
    return await _switched(repository, target, ("--detach", target), text)


async def restore(repository: Repository, paths: Sequence[str], revision: str | None = None) -> Checkout:
    """Put the files ``paths`` (folders too) back as they are in the index, or as they were at the commit ``revision``.

    Only the working tree changes: the index stays, and files that the source does not have stay. Protected files
    within a folder are left out. Raises PermissionNeeded (``protected_path``) for a protected file in ``paths``, and
    ToolError, with nothing changed, for a path that the source does not have, when something that the index does not
    have would be overwritten or removed, and when a content filter applies.
    """
    plan = await restoring(repository, paths, revision)
    options = ("--quiet", "--worktree", "--overlay", *(f"--source={commit}" for commit in plan.against))
    done = await repository.change("restore", *options, "--", *plan.specs)
    if done.exit_code != 0:
        raise refusal(done)
    touched, where = plan.touched, plan.where
    text = f"Restored from {where}: {_listed(touched)}.\n" if touched else f"Nothing differs from {where}.\n"
    if plan.left_out:
        text += f"[left out, as protected: {_listed(plan.left_out)}]\n"
    return Checkout(text, _shown(repository, touched))


async def restoring(repository: Repository, paths: Sequence[str], revision: str | None = None) -> Restoring:
    """What ``restore`` would do. Raises what it does before it changes anything."""
    for path in paths:
        _ask(repository, path, "restoring writes it")
    specs = [repository.spec(path) for path in paths]
    source = None if revision is None else await repository.commit_named(revision)
    plan = Restoring((), source, (), ())
    changed = await repository.names(
        *("diff", "--name-only", "--no-renames", "--diff-filter=a", "--ignore-submodules=all", "-z"),
        *(*plan.against, "--", *specs),
    )
    left_out = tuple(name for name in changed if _protected(repository, repository.from_root(name)))
    touched = tuple(name for name in changed if name not in left_out)
    if lost := await in_the_way(repository, touched):
        raise ToolError(
            f"Not in git, and would be lost by restoring from {plan.where}: {_listed(lost)}. Nothing was changed. "
            "Move them away first, or name fewer paths."
        )
    await _require_objects(repository, source)
    await refuse_to_write(repository, touched, source)
    excludes = [literal(name, "top,exclude,literal") for name in left_out]
    return Restoring((*specs, *excludes), source, touched, left_out)


async def _switched(repository: Repository, target: str, arguments: Sequence[str], text: str) -> Checkout:
    now = await head(repository)
    if now.commit is None:
        changed = await repository.names("ls-tree", "-r", "--name-only", "--full-tree", "-z", target)
    else:
        changed = await repository.names("diff-tree", "-r", "--name-only", "--no-renames", "-z", now.commit, target)
    paths = tuple(map(repository.from_root, changed))
    for path in paths:
        _ask(repository, path, f"switching to {target[:12]} changes it")
    await _require_objects(repository, target)
    await refuse_to_write(repository, changed, target)
    done = await repository.change(*_SWITCH, *arguments)
    count = f" {len(paths)} {'file' if len(paths) == 1 else 'files'} changed." if paths else ""
    return Checkout(text + count + _after(repository, done, target[:12]), _shown(repository, changed))


async def _require_objects(repository: Repository, tree: str | None) -> None:
    """Raise ToolError when a partial clone lacks files of ``tree``, which git would leave out without failing."""
    is_partial = any(key == "extensions.partialclone" or key.endswith(".promisor") for key in repository.config)
    if tree is None or not is_partial:
        return
    walk = ("rev-list", "--objects", "--no-object-names", "--missing=print", "--no-walk", tree)
    if "\n?" in await repository.ask(*walk, limit=_OBJECTS):
        raise ToolError(
            f"This is a partial clone, and files of {tree[:12]} would have to be fetched, which is not done here. "
            "Nothing was changed. Use git with run_command."
        )


def _after(repository: Repository, done: Completed, target: str) -> str:
    if done.exit_code == 0 and "error: " not in done.output:
        return "\n" + hooks_not_run(repository, ("post-checkout",))
    lines = done.output.splitlines()
    files = [line[1:] for line in lines if line.startswith("\t")]
    is_untracked = any(words in done.output for words in _UNTRACKED)
    if not files or not (is_untracked or "would be overwritten" in done.output):
        raise refusal(done)
    kind = "Untracked files" if is_untracked else "Local changes"
    advice = "Commit them, move them away or restore them first."
    raise ToolError(
        f"{kind} would be overwritten by {one_line(target)}: {_listed(files)}. Nothing was changed. {advice}"
    )


async def _remote_branch(repository: Repository, name: str) -> str:
    remotes = await repository.answers("for-each-ref", "--format=%(refname)", f"refs/remotes/*/{name}")
    found = (remotes or "").split()
    if len(found) == 1:
        return found[0]
    if found:
        raise ToolError(f"Several remotes have '{name}': {', '.join(found)}. Create it with one of them as revision.")
    raise ToolError(f"There is no branch '{name}'. List them with git_list_branches, or set create to make it.")


def _ask(repository: Repository, path: str, why: str) -> None:
    if asked := _protected(repository, path):
        reason = repository.protection(asked, writing=True)
        raise PermissionNeeded("protected_path", asked, f"{reason}, and {why}")


def _protected(repository: Repository, path: str) -> str | None:
    """The shortest beginning of ``path`` that is protected from writing, unless one of them got a yes."""
    parts = path.split("/")
    beginnings = ["/".join(parts[: end + 1]) for end in range(len(parts))]
    if any(repository.permits(each) for each in beginnings):
        return None
    return next((each for each in beginnings if repository.protection(each, writing=True)), None)


def _shown(repository: Repository, files: Sequence[str]) -> tuple[str, ...]:
    return tuple(names.printable(repository.from_root(name)) for name in files)


def _listed(files: Sequence[str]) -> str:
    shown = ", ".join(names.printable(name) for name in files[:_SHOWN])
    return f"{shown} and {len(files) - _SHOWN} more" if len(files) > _SHOWN else shown
