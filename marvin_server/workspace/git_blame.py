"""Who wrote which line of a file, from git's own blame."""

import re
from datetime import UTC, datetime

from msgspec import Struct

from marvin_server.errors import PermissionNeeded
from marvin_server.sanitise import one_line, printable
from marvin_server.workspace.git_repository import Repository, literal

MOST_LINES = 1_000
_PORCELAIN = 20_000_000
_ENTRY = re.compile(r"([0-9a-f]{40,64}) \d+ (\d+)(?: \d+)?")


class BlamedLine(Struct, frozen=True):
    """A line of the file, counted from 1, and the commit that it came with: ``commit`` is a short hash, made of zeros
    for what is not committed yet; ``date`` is the author's own, as in 2024-05-06."""

    commit: str
    date: str
    author: str
    number: int
    text: str


async def blame(
    repository: Repository, path: str, *, start: int = 1, end: int | None = None, revision: str | None = None
) -> list[BlamedLine]:
    """The lines ``start`` to ``end`` (at most 1,000) of ``path``, as it is on disk or at ``revision``.

    Raises PermissionNeeded (``protected_path``) for a ``.env`` file and others that are guarded, ToolError as
    ``Repository`` does and for a line past the end.
    """
    if reason := repository.protection(path, writing=False):
        raise PermissionNeeded("protected_path", path, reason)
    last = min(end or start + MOST_LINES - 1, start + MOST_LINES - 1)
    since = [] if revision is None else [await repository.commit_named(revision)]
    name = repository.spec(path).removeprefix(literal(""))
    text = await repository.ask(
        "blame", "--porcelain", "--no-textconv", f"-L{start},{last}", *since, "--", name, limit=_PORCELAIN
    )
    return parse(text)


def parse(porcelain: str) -> list[BlamedLine]:
    """The lines of git-blame(1)'s porcelain format, in which a commit is described where it is met first."""
    lines: list[BlamedLine] = []
    commits: dict[str, dict[str, str]] = {}
    commit, number = "", 0
    for line in porcelain.split("\n"):
        if line.startswith("\t"):
            about = commits.get(commit, {})
            author = one_line(about.get("author", ""), 60)
            lines.append(BlamedLine(commit[:8], _date(about), author, number, printable(line[1:].removesuffix("\r"))))
        elif entry := _ENTRY.fullmatch(line):
            commit, number = entry[1], int(entry[2])
            commits.setdefault(commit, {})
        elif commit:
            key, _, value = line.partition(" ")
            commits[commit][key] = value
    return lines


def _date(about: dict[str, str]) -> str:
    try:
        zone = datetime.strptime(about["author-tz"], "%z").tzinfo or UTC
        return datetime.fromtimestamp(int(about["author-time"]), zone).strftime("%Y-%m-%d")
    except (KeyError, ValueError, OverflowError, OSError):
        return "unknown"
