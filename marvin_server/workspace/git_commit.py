"""Makes a commit of what is staged, of named paths, or of all tracked changes; no hook, signature or filter runs."""

from collections.abc import Sequence
from contextlib import suppress

from msgspec import Struct

from marvin_server.errors import PermissionNeeded, ToolError
from marvin_server.sanitise import one_line, printable
from marvin_server.workspace import names
from marvin_server.workspace.git_filters import refuse_to_store
from marvin_server.workspace.git_repository import Repository, batches, finished, literal, refusal
from marvin_server.workspace.git_state import head, hooks_not_run, operation
from marvin_server.workspace.process import Completed

_LONGEST_MESSAGE = 50_000
_CHANGES = ("diff", "--name-only", "--no-renames", "--ignore-submodules=all", "-z")
_HOOKS = ("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit")
_NO = frozenset({"", "0", "false", "no", "off"})
_NOTHING = ("nothing to commit", "nothing added to commit", "no changes added to commit")
_IDENTITY = ("tell me who you are", "auto-detection is disabled", "empty ident name")


class Selection(Struct, frozen=True):
    """What of the working tree goes into a commit: pathspecs, the changed files, those of them that are new to git,
    and what stays out."""

    specs: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    new: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


async def commit(repository: Repository, message: str, *, paths: Sequence[str] = (), everything: bool = False) -> str:
    """Commit and say what was done: the hash, the branch, the files, what was left out, and hooks that were not run.

    Without ``paths`` and ``everything`` the commit has what is staged. ``paths`` (relative to the root; folders too)
    are committed as they are on disk, new files included, whatever else is staged stays so; ``everything`` adds all
    changes of files that git knows. ``.env`` files, and others that are not to be read, are left out of a folder and
    of everything.

    Raises PermissionNeeded (``protected_path``) for a ``.env`` file in ``paths``, and ToolError, with nothing
    changed, when there is nothing to commit, for an empty message, while files are in conflict or a rebase is in
    progress, when the person's configuration wants commits signed, when a content filter applies to a file, and when
    git does not know who the person is.
    """
    selection = await selected(repository, message, paths=paths, everything=everything)
    how = ("--include" if everything else "--only", "--", *selection.specs) if selection.specs else ()
    quietly = ("commit", "--quiet", "--no-verify", "--no-gpg-sign", "--cleanup=whitespace", f"--message={message}")
    try:
        for batch in batches([literal(name) for name in selection.new]):
            await _changed(repository, selection, "add", "--intent-to-add", "--", *batch)
        await _changed(repository, selection, *quietly, *how)
    except BaseException:
        with suppress(ToolError):
            await finished(_withdraw(repository, selection.new))
        raise
    return await _report(repository, selection.left_out)


async def selected(repository: Repository, message: str, *, paths: Sequence[str], everything: bool) -> Selection:
    """What ``commit`` would take from the working tree. Raises what it does before it changes anything."""
    _check_message(message)
    await _check_state(repository, partial=bool(paths))
    if everything:
        return await _everything(repository)
    return await _named(repository, paths) if paths else Selection()


def nothing_to_commit(selection: Selection) -> ToolError:
    """What to say when the commit would be empty."""
    what = "no change there." if selection.specs else "nothing is staged. Name paths, or all."
    left_out = ", ".join(map(names.printable, selection.left_out))
    return ToolError(f"Nothing to commit: {what}" + (f" Left out: {left_out}." if left_out else ""))


def _check_message(message: str) -> None:
    if not message.strip():
        raise ToolError("A commit needs a message. Say in its first line what the change does.")
    if "\0" in message or len(message) > _LONGEST_MESSAGE:
        raise ToolError(f"A commit message has no NUL characters and at most {_LONGEST_MESSAGE:,} characters.")


async def _check_state(repository: Repository, *, partial: bool) -> None:
    begun = operation(repository)
    if begun == "rebase":
        raise ToolError(
            "A rebase is in progress, which makes the commits itself. Finish it with run_command: "
            "'git rebase --continue' after the conflicts are resolved and staged, or 'git rebase --abort'."
        )
    if conflicts := await repository.names(*_CHANGES, "--diff-filter=U"):
        shown = ", ".join(map(names.printable, dict.fromkeys(conflicts)))
        raise ToolError(
            f"These files are in conflict: {shown}. Resolve them, then stage them with run_command: git add."
        )
    if partial and begun in {"merge", "cherry-pick", "revert"}:
        raise ToolError(f"A {begun} is in progress, which is committed as a whole: call git_commit without paths.")
    if _is_on(repository.config.get("commit.gpgsign", "no")):
        raise ToolError(
            "The configuration wants commits to be signed (commit.gpgSign), which needs a program that is not run "
            "here, and an unsigned commit is not made in its place. Commit with run_command: git commit."
        )


def _is_on(value: str | None) -> bool:
    """As git-config(1) reads a boolean: a key without a value is true."""
    return value is None or value.lower() not in _NO


async def _everything(repository: Repository) -> Selection:
    changed = await repository.names(*_CHANGES)
    left_out = tuple(name for name in changed if _secret(repository, name))
    files = _others(changed, left_out)
    await refuse_to_store(repository, files)
    return Selection((":(top)", *_without(left_out)), files, (), left_out)


async def _named(repository: Repository, paths: Sequence[str]) -> Selection:
    for path in paths:
        if reason := repository.protection(path, writing=False):
            raise PermissionNeeded("protected_path", path, f"{reason}, and a commit would keep it for good")
    specs = [repository.spec(path) for path in paths]
    changed = await repository.names(*_CHANGES, "--", *specs)
    changed += await repository.names(*_CHANGES, "--cached", "--", *specs)
    new = await repository.names("ls-files", "-z", "--others", "--exclude-standard", "--", *specs)
    found = list(dict.fromkeys([*changed, *new]))
    left_out = tuple(name for name in found if name.endswith("/") or _secret(repository, name))
    files = _others(found, left_out)
    await refuse_to_store(repository, files)
    return Selection((*specs, *_without(left_out)), files, _others(new, left_out), left_out)


def _others(files: Sequence[str], left_out: Sequence[str]) -> tuple[str, ...]:
    without = set(left_out)
    return tuple(name for name in files if name not in without)


def _secret(repository: Repository, name: str) -> bool:
    return repository.protection(repository.from_root(name), writing=False) is not None


def _without(left_out: Sequence[str]) -> list[str]:
    return [literal(name, "top,exclude,literal") for name in left_out if not name.endswith("/")]


async def _changed(repository: Repository, selection: Selection, *arguments: str) -> None:
    done = await repository.change(*arguments)
    if done.exit_code != 0:
        raise _failure(selection, done)


async def _withdraw(repository: Repository, new: Sequence[str]) -> None:
    """Make those of the files ``new`` unknown to git again that were only announced to it, and not committed since."""
    for batch in batches([literal(name) for name in new]):
        announced = await repository.names(*_CHANGES, "--diff-filter=A", "--", *batch)
        for part in batches([literal(name) for name in announced]):
            await repository.change("rm", "--cached", "--quiet", "--ignore-unmatch", "--force", "--", *part)


def _failure(selection: Selection, done: Completed) -> ToolError:
    if any(words in done.output for words in _NOTHING):
        return nothing_to_commit(selection)
    if any(words in done.output for words in _IDENTITY):
        return ToolError(
            "git does not know who makes this commit. The person can say so: git config --global user.name 'Name', "
            "and git config --global user.email 'name@example.org'."
        )
    return refusal(done)


async def _report(repository: Repository, left_out: Sequence[str]) -> str:
    now = await head(repository)
    where = f"on {one_line(now.branch)}" if now.branch else "on no branch (HEAD is detached; git_branch can make one)"
    subject = await repository.answers("log", "--max-count=1", "--no-show-signature", "--format=%h %s")
    files = await repository.ask(
        *("log", "--max-count=1", "--no-color", "--no-show-signature", "--format="),
        *("--name-status", "--no-renames", "--diff-merges=first-parent", "--ignore-submodules=all"),
    )
    lines = f"Committed {where}: {one_line(subject or '')}\n{printable(files)}"
    if left_out:
        lines += f"[left out: {', '.join(map(names.printable, left_out))}]\n"
    return lines + hooks_not_run(repository, _HOOKS)
