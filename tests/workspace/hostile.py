"""Every git tool let loose on every hostile repository; ``python -m tests.workspace.hostile`` prints what ran.

Plain git meets a copy of each, so that nobody takes a dead trap for a safe tool.
"""

import asyncio
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

from marvin_server.errors import ToolError
from marvin_server.tools.base import Patches, Toolbox, ToolContext, ToolOutput
from marvin_server.workspace.confine import Root
from marvin_server.workspace.process import Processes
from marvin_server.workspace.workspace import Workspace
from tests.workspace.hostile_repositories import KINDS, Kind, Lair

Arguments = Mapping[str, Any]


def _story() -> Iterator[tuple[str, Arguments] | Mapping[str, str]]:
    """Files to write, and tool calls, in an order in which each call has something to do."""
    yield {"a.txt": "1\n", "sub/c.txt": "3\n", "fresh.txt": "fresh\n"}
    for what in ({}, {"staged": True}, {"revision": "feature"}, {"summary": True, "path": "sub"}):
        yield "git_diff", what
    yield "git_status", {}
    yield "git_log", {"limit": 5, "revision": "main"}
    yield "git_show", {}
    yield "git_blame", {"path": "a.txt"}
    yield "git_checkout", {"paths": ["a.txt"]}
    yield "git_commit", {"message": "Named", "paths": ["sub", "fresh.txt"]}
    yield {"a.txt": "11\n"}
    yield "git_commit", {"message": "All", "all": True}
    yield "git_branch", {"action": "create", "name": "spare"}
    yield "git_branch", {"action": "rename", "name": "spare", "new_name": "other"}
    yield "git_branch", {"action": "delete", "name": "other"}
    yield "git_list_branches", {}
    yield "git_checkout", {"branch": "feature"}
    yield "git_checkout", {"branch": "main"}
    yield "git_checkout", {"branch": "topic", "create": True, "revision": "HEAD~1"}
    yield "git_checkout", {"paths": ["b.txt"], "revision": "HEAD~1"}
    yield "git_commit", {"message": "Nothing staged"}
    yield "git_checkout", {"paths": ["b.txt"]}
    yield "git_checkout", {"revision": "HEAD~1"}


STORY = tuple(_story())
CALLS = sum(isinstance(step, tuple) for step in STORY)
_NOTHING_STAGED = STORY.index(("git_commit", {"message": "Nothing staged"}))


@dataclass(frozen=True, slots=True)
class Encounter:
    """What came of a story: the traps that were set, those that were sprung, and the tools that refused to work."""

    traps: int
    sprung: Sequence[str]
    refused: frozenset[str]


async def call(lair: Lair, name: str, arguments: Arguments, environ: Mapping[str, str]) -> str | None:
    """What a git tool answers, None when it refuses or asks; a question to the person is answered by no."""
    module = import_module(f"marvin_server.tools.git.{name}")
    # The git tools want nothing of their session.
    session = cast("Toolbox", None)
    patches = cast("Callable[[], Patches]", None)
    context = ToolContext(Workspace(Root(lair.root)), Processes(), session, environ, lambda text: None, patches)
    try:
        answer = await getattr(module, name).run(module.Params(**arguments), context)
    except ToolError:
        return None
    return answer.text if isinstance(answer, ToolOutput) else answer


async def meet(kind: Kind, folder: Path) -> Encounter:
    """Let every git tool loose on a repository of this kind."""
    lair = Lair(folder)
    kind.plant(lair)
    environ = {**lair.environ, **kind.environ(lair)}
    before = lair.sprung()
    refused: set[str] = set()
    for number, step in enumerate(STORY):
        if not isinstance(step, tuple):
            lair.write(step)
        elif await call(lair, *step, environ) is None and number != _NOTHING_STAGED:
            refused.add(step[0])
    return Encounter(len(lair.traps), [trap for trap in lair.sprung() if trap not in before], frozenset(refused))


def meet_plainly(kind: Kind, folder: Path) -> Sequence[str]:
    """The traps that plain git springs."""
    lair = Lair(folder)
    kind.plant(lair)
    lair.environ |= {name: value for name, value in kind.environ(lair).items() if value != "/nowhere"}
    lair.write({"a.txt": "1\n", "b.txt": "2\n", "fresh.txt": "fresh\n"})
    for command in (
        *(
            ("status",),
            ("diff",),
            ("-p", "log"),
            ("-p", "branch"),
            ("blame", "a.txt"),
            ("add", "fresh.txt"),
            ("fetch", "evil"),
        ),
        *(
            ("commit", "-a"),
            ("commit", "-am", "All"),
            ("commit", "-am", "All", "--no-gpg-sign"),
            ("checkout", "feature"),
        ),
        *(("checkout", "HEAD~1", "--", "b.txt"), ("commit", "-am", "More"), ("merge", "main"), ("commit", "--amend")),
        *(("add", "-p"), ("repack", "-ad"), ("gc", "--auto"), ("switch", "-f", "main")),
    ):
        lair.git(*command, check=False)
    start_up = folder / "start-up"
    if start_up.exists():
        subprocess.run(["/bin/sh", str(start_up)], env=lair.environ, check=False, capture_output=True)
    return lair.sprung()


def table(folder: Path) -> tuple[str, bool]:
    """What ran, kind by kind, as a Markdown table; and whether nothing ran and only the expected tools refused."""
    rows = ["| kind of trap | traps | plain git springs | tool calls | Marvin springs |\n|---|---|---|---|---|\n"]
    is_clean = True
    totals = [0, 0, 0, 0]
    for number, kind in enumerate(KINDS):
        met = asyncio.run(meet(kind, folder / f"{number}-marvin"))
        plainly = meet_plainly(kind, folder / f"{number}-plain")
        counts = [met.traps, len(plainly), CALLS, len(met.sprung)]
        totals = [total + count for total, count in zip(totals, counts, strict=True)]
        is_clean = is_clean and not met.sprung and met.refused == kind.refused
        rows.append(f"| {kind.name} | {' | '.join(map(str, counts))} |\n")
    rows.append(f"| **all** | {' | '.join(map(str, totals))} |\n")
    return "".join(rows), is_clean


def main() -> None:
    """Print the table; exit 1 when anything ran."""
    with TemporaryDirectory() as folder:
        text, is_clean = table(Path(folder))
    sys.stdout.write(text)
    sys.exit(0 if is_clean else 1)


if __name__ == "__main__":
    main()
