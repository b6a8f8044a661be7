"""The branches of a repository: list, make, rename, and delete those that are merged."""

from marvin_server.errors import ToolError
from marvin_server.sanitise import one_line, printable
from marvin_server.workspace.git_repository import Repository, refusal
from marvin_server.workspace.git_state import head

_FORM = "%(if)%(HEAD)%(then)%(HEAD)%(else) %(end) %(refname:short) %(objectname:short) %(committerdate:short)"
_FOLLOWS = "%(if)%(upstream)%(then) [%(upstream:short)%(if)%(upstream:track)%(then) %(upstream:track,nobracket)%(end)]"


async def listing(repository: Repository) -> str:
    """The local branches, then those of remotes, one a line: ``*`` for the one that is checked out, name, hash, date,
    what it follows and how far they are apart, subject."""
    now = await head(repository)
    form = f"--format={_FORM}{_FOLLOWS}%(end) %(contents:subject)"
    branches = await repository.ask("for-each-ref", "--sort=refname", form, "refs/heads", "refs/remotes")
    detached = f"* (HEAD is detached at {now.commit[:12]})\n" if now.branch is None and now.commit else ""
    unborn = f"[the first commit will make {one_line(now.branch)}]\n" if now.branch and not now.commit else ""
    return detached + printable(branches) + unborn


async def create(repository: Repository, branch: str, revision: str | None = None) -> str:
    """Make ``branch`` at the commit ``revision``, else at HEAD, without going to it."""
    name = checked_name(branch)
    start = await repository.commit_named(revision or "HEAD")
    await _change(repository, "--no-track", "--", name, start)
    return f"Created branch {name} at {start[:12]}.\n"


async def rename(repository: Repository, branch: str, new_name: str) -> str:
    """Give ``branch`` a ``new_name``, which no other branch may have."""
    old, new = checked_name(branch), checked_name(new_name)
    await _change(repository, "--move", "--", old, new)
    return f"Renamed branch {old} to {new}.\n"


async def delete(repository: Repository, branch: str) -> str:
    """Delete ``branch`` when what it follows, or else HEAD, has all its commits; say where it was."""
    name = checked_name(branch)
    place = await repository.answers("rev-parse", "--verify", "--quiet", f"refs/heads/{name}^{{commit}}")
    if not place:
        raise ToolError(f"There is no branch '{name}'.")
    done = await repository.change("branch", "--quiet", "--delete", "--", name)
    if done.exit_code == 0:
        return f"Deleted branch {name} (it was at {place[:12]}).\n"
    if "not fully merged" not in done.output:
        raise refusal(done)
    raise ToolError(
        f"Branch '{name}' (at {place[:12]}) has commits that are merged nowhere else, so it is not deleted. "
        f"Merge it first; only the person should force it: git branch -D {name}."
    )


def checked_name(branch: str) -> str:
    """``branch`` when a branch may be called so (git-check-ref-format(1)). Raises ToolError."""
    parts = branch.split("/")
    allowed = (
        branch not in {"", "@", "HEAD"}
        and branch.isprintable()
        and not branch.startswith(("-", "refs/"))
        and not branch.endswith(".")
        and not any(part == "" or part.startswith(".") or part.endswith(".lock") for part in parts)
        and not any(sign in branch for sign in (" ", "~", "^", ":", "?", "*", "[", "\\", "..", "@{"))
    )
    if not allowed:
        raise ToolError(f"No branch can be called '{one_line(branch, 200)}'. Use letters, digits, '-', '_' and '/'.")
    return branch


async def _change(repository: Repository, *arguments: str) -> None:
    done = await repository.change("branch", "--quiet", *arguments)
    if done.exit_code != 0:
        raise refusal(done)
