"""The benchmarks of the hands: searching, listing, editing and commands, beside a program that is their floor."""

import asyncio
import os
import resource
import subprocess
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median

from marvin_server.edits import formats
from marvin_server.edits.verify import verify
from marvin_server.workspace import listing
from marvin_server.workspace.checkpoints import Checkpoints
from marvin_server.workspace.confine import Root
from marvin_server.workspace.process import Processes, shell_argv
from marvin_server.workspace.search import search

RUNS = 5
EDITS, LINES = 1_000, 50_000
RG = ("rg", "--no-config", "--hidden", "--glob=!.git")


def grow(folder: Path, files: int) -> Path:
    """A repository of that many source files, fifty in a folder."""
    for number in range(files):
        file = folder / f"package_{number // 1_000}" / f"module_{number // 50 % 20}" / f"file_{number % 50}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(f"def function_{number}_{line}(value): return value * {line}\n" for line in range(30)))
    subprocess.run(["git", "init", "--quiet", folder], check=True)
    return folder


async def searching(folder: Path) -> str:
    """``code_grep``'s search beside ripgrep alone, for a word that one file has."""

    async def ours() -> None:
        found = await search(Processes(), Root(folder), "function_7777_7", environ=dict(os.environ))
        assert len(found.lines) == 1

    return await _beside(ours, (*RG, "--line-number", "function_7777_7", "."), folder)


async def listing_all(folder: Path) -> str:
    """``tree`` beside ``rg --files``."""

    async def ours() -> None:
        listing.tree(Root(folder))

    return await _beside(ours, (*RG, "--files", "."), folder)


async def _beside(ours: Callable[[], Awaitable[None]], floor: tuple[str, ...], folder: Path) -> str:
    ratios: list[float] = []
    times: list[float] = []
    for run in range(RUNS + 1):
        started = time.perf_counter()
        await ours()
        spent = time.perf_counter() - started
        started = time.perf_counter()
        await asyncio.to_thread(subprocess.run, floor, cwd=folder, stdout=subprocess.DEVNULL, check=True)
        if run:
            ratios.append(spent / (time.perf_counter() - started))
            times.append(spent)
    return f"{median(ratios):5.2f} × rg ({min(ratios):.2f}-{max(ratios):.2f}), {median(times) * 1000:.0f} ms"


def editing() -> str:
    """One patch of 1,000 hunks, read and fitted to a file of 50,000 lines."""
    lines = [f"    value_{number} = compute({number % 97})\n" for number in range(LINES)]
    hunks = [
        f"@@\n {lines[at - 1]}-{lines[at]}+    changed_{at} = 0\n {lines[at + 1]}"
        for at in range(25, LINES - 1, LINES // EDITS)
    ]
    patch = f"*** Begin Patch\n*** Update File: file.py\n{''.join(hunks)}*** End Patch"
    text = "".join(lines)
    times: list[float] = []
    for _ in range(RUNS):
        started = time.perf_counter()
        [change] = verify(formats.parse(patch), {"file.py": text}.get)
        times.append(time.perf_counter() - started)
        assert change.new is not None
        assert change.new.count("changed_") == len(hunks)
    return f"{median(times) * 1000:5.0f} ms for {len(hunks):,} edits"


async def output_of_a_command(folder: Path) -> str:
    """How much memory 1 GB of a command's output takes: the growth of this process's peak."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.perf_counter()
    await Processes().run(
        shell_argv("head -c 1G /dev/zero | tr '\\0' x", dict(os.environ)),
        cwd=folder,
        environ=dict(os.environ),
        timeout=60,
        emit=lambda _: None,
    )
    spent = time.perf_counter() - started
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    return f"{grown / 1024:5.1f} MB more, {spent:.1f} s"


def checkpoint(folder: Path) -> str:
    """A checkpoint of 20,000 files after one has changed; the first of all, which reads each, beside it."""
    root = grow(folder / "kept", 20_000)
    checkpoints = Checkpoints(folder / "state", root.resolve(), os.environ)
    times: list[float] = []
    for run in range(RUNS + 1):
        (root / "changed").write_text(f"{run}\n")
        started = time.perf_counter()
        checkpoints.snapshot()
        times.append(time.perf_counter() - started)
    return f"{median(times[1:]) * 1000:5.0f} ms (the first: {times[0]:.1f} s)"


def report(folder: Path, tell: Callable[[str, str, str], None]) -> None:
    """Measure everything in ``folder``; ``tell`` gets name, target and figure of each."""
    tell("1 GB of command output", "constant memory", asyncio.run(output_of_a_command(folder)))
    tell("1,000 edits, 50,000 lines", "-", editing())
    tell("warm checkpoint, 20,000 files", "under 300 ms", checkpoint(folder))
    large = grow(folder / "large", 100_000)
    tell("code_grep, 100,000 files", "at most 1.3 × rg", asyncio.run(searching(large)))
    tell("tree, 100,000 files", "at most 4 × rg --files", asyncio.run(listing_all(large)))
