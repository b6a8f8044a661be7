"""The benchmark of what the model is told before a conversation: read before each turn, put together in each round.

The session has 240,000 characters of instructions and pinned files, and 20 skills; nothing changes between turns.
"""

import asyncio
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from statistics import median

from marvin_server import settings
from marvin_server.providers import selection
from marvin_server.session.instructions import CONVENTIONS
from marvin_server.session.opening import OpenSession, open_session
from marvin_server.session.store import Store

TURNS = 100
# Files that were just written are read again, as a change might not show in their times.
SETTLED = 2.5
_LINE = "Keep functions small, name what they do – and why – and let a test say what must not change, as in café.py.\n"


def _prose(characters: int) -> str:
    return "".join(f"{number}. {_LINE}" for number in range(characters // len(_LINE) + 1))[:characters]


def _grow(folder: Path) -> Path:
    """Everything that a prompt can be made of; the workspace."""
    workspace, config = folder / "workspace", folder / "home" / "config"
    files = {config / name: 15_000 for name in CONVENTIONS}
    files |= {config / f"instructions{place}.md": 15_000 for place in (workspace, folder)}
    files |= {workspace / name: 16_000 for name in ("AGENTS.md", "CLAUDE.md", ".marvin/spec.md")}
    files |= {workspace / f"pin_{number}.md": 11_000 for number in range(5)}
    for number, (file, size) in enumerate(files.items()):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{number}\n{_prose(size)}", encoding="utf-8")
    for number in range(20):
        skill = config / "skills" / f"skill-{number}" / "SKILL.md"
        skill.parent.mkdir(parents=True)
        skill.write_text(f"---\nname: skill-{number}\ndescription: {_LINE.strip()}\n---\n\n{_prose(4000)}")
    return workspace


async def _measured(opened: OpenSession) -> tuple[list[float], list[float], int]:
    """Milliseconds of processor time before each turn and in each round, and the length of the prompt in characters."""
    await opened.context.pin([f"pin_{number}.md" for number in range(5)])
    await asyncio.sleep(SETTLED)
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(TURNS + 1):
        started = time.process_time()
        await opened.context.settle(lambda _: None)
        settled = time.process_time()
        _ = opened.context.prompt
        times[0].append((settled - started) * 1000)
        times[1].append((time.process_time() - settled) * 1000)
    characters = len(opened.context.prompt.text)
    await opened.session.close()
    return times[0][1:], times[1][1:], characters


def measure(folder: Path) -> tuple[list[float], list[float], int]:
    """As ``_measured``, of a session in ``folder``, which is made."""
    workspace = _grow(folder)
    environ = {"MARVIN_HOME": str(folder / "home"), "HOME": str(folder), "PATH": "/usr/bin:/bin"}
    loaded = replace(settings.load({"approve": "none"}, environ), trust=True)
    with closing(Store.open(loaded.paths.database("default"))) as store:
        opened = open_session(loaded, selection.stand_in(), store, workspace, rounds=1)
        return asyncio.run(_measured(opened))


def report(folder: Path, tell: Callable[[str, str, str], None]) -> None:
    """Measure in ``folder``; ``tell`` gets name, target and figure."""
    turns, rounds, characters = measure(folder)
    each = f"{median(turns):5.1f} ms of processor time, {median(rounds):.2f} ms in each round"
    tell(f"a prompt of {characters:,} characters", "under 10 ms", each)
