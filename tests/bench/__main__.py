"""``make bench``: how fast and how small Marvin is, beside a bare httpx script that runs in turn with it.

Both run in an environment of their own, with the wheel installed as a person installs it. A ratio is taken pair by
pair, and its median is what counts: the machine's speed drifts, the ratio does not.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from tests.bench import assembly, editor, hands
from tests.servers.model_server import ThreadedModelServer
from tests.servers.reply import Call
from tests.servers.scenarios import calls, deltas, says

ROOT = Path(__file__).parents[2]
ENVIRONMENT = ROOT / ".cache" / "bench"
BARE = Path(__file__).with_name("bare.py")
PAIRS = 15


@dataclass(frozen=True, slots=True)
class Run:
    """One finished process. Times are in seconds from its start, memory in MB."""

    first_request: float
    first_output: float
    last_output: float
    ended: float
    memory: float
    output: bytes
    reads: Sequence[tuple[int, bytes]]


def install() -> Path:
    """The Python of a fresh environment that holds the wheel and nothing of the development tools."""
    python = ENVIRONMENT / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", ENVIRONMENT], check=True)
    quiet = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*quiet, ROOT], check=True)
    subprocess.run([*quiet, "--force-reinstall", "--no-deps", ROOT], check=True)
    return python


def measure(command: Sequence[str | Path], server: ThreadedModelServer, home: Path) -> Run:
    """Run ``command`` and watch it from outside."""
    before = len(server.requests)
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "MARVIN_HOME": str(home / "marvin"),
        "OPENAI_COMPAT_URL": server.url,
        "OPENAI_COMPAT_API_KEY": "sk-bench",
        "OPENAI_COMPAT_MODEL": "test-model",
    }
    started = time.time_ns()
    process = subprocess.Popen(
        command, env=environ, cwd=home, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert process.stdout is not None
    reads: list[tuple[int, bytes]] = []
    while part := os.read(process.stdout.fileno(), 1 << 20):
        reads.append((time.time_ns(), part))
    _, status, usage = os.wait4(process.pid, 0)
    ended = time.time_ns()
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stdout.close()
    assert process.returncode == 0, f"{command} ended with {process.returncode}"
    return Run(
        first_request=(server.requests[before].arrived_ns - started) / 1e9,
        first_output=(reads[0][0] - started) / 1e9,
        last_output=(reads[-1][0] - started) / 1e9,
        ended=(ended - started) / 1e9,
        memory=usage.ru_maxrss / 1024,
        output=b"".join(part for _, part in reads),
        reads=reads,
    )


class Bench:
    """The two contestants, run in turn."""

    def __init__(self, python: Path, server: ThreadedModelServer, home: Path) -> None:
        self._server = server
        self._home = home
        self._python = python
        self._marvin = [python.with_name("marvin"), "--non-interactive", "--provider", "openai-compat"]

    def marvin(self) -> Run:
        return measure([*self._marvin, "--prompt", "Say hello"], self._server, self._home)

    def bare(self, rounds: int = 1) -> Run:
        return measure([self._python, BARE, self._server.url, str(rounds)], self._server, self._home)

    def pairs(self, count: int = PAIRS) -> list[tuple[Run, Run]]:
        """``count`` pairs of (Marvin, bare), after one of each that does not count."""
        self.marvin()
        self.bare()
        return [(self.marvin(), self.bare()) for _ in range(count)]


def ratio(pairs: Sequence[tuple[Run, Run]], figure: Callable[[Run], float]) -> str:
    """Both medians and the median of the ratios."""
    ours, floors = [figure(ours) for ours, _ in pairs], [figure(bare) for _, bare in pairs]
    ratios = [a / b for a, b in zip(ours, floors, strict=True)]
    span = f"({min(ratios):.2f}-{max(ratios):.2f})"
    return f"{median(ratios):5.2f} × bare {span}, {median(ours) * 1000:.0f} ms to {median(floors) * 1000:.0f} ms"


def report(name: str, target: str, figure: str) -> None:
    print(f"{name:34}  target {target:22}  {figure}", flush=True)


def main() -> None:
    python = install()
    with tempfile.TemporaryDirectory() as folder, ThreadedModelServer([says("Hello")]) as server:
        bench = Bench(python, server, Path(folder))
        pairs = bench.pairs()
        report("start to first request", "at most 1.2 × bare", ratio(pairs, lambda run: run.first_request))
        report("whole process", "-", ratio(pairs, lambda run: run.ended))
        leaving = median((run.ended - run.last_output) * 1000 for run, _ in pairs)
        report("last output to end of process", "-", f"{leaving:5.1f} ms")
        body = max(len(request.body) for request in server.requests)
        report("first request's body", "under 12,000 bytes", f"{body:,} bytes")

        server.play([deltas(20_000, piece=65_536)])
        pairs = bench.pairs(5)
        assert pairs[0][0].output.strip() == pairs[0][1].output.strip()
        speeds = [
            (bare.last_output - bare.first_request) / (ours.last_output - ours.first_request) for ours, bare in pairs
        ]
        rate = 20_000 / median(ours.last_output - ours.first_request for ours, _ in pairs)
        report("20,000 deltas", "at least 0.6 × bare", f"{median(speeds):5.2f} × bare, {rate:,.0f} deltas/s")
        memory = max(ours.memory for ours, _ in pairs)
        report("memory after 20,000 deltas", "under 80 MB", f"{memory:5.1f} MB (bare {pairs[0][1].memory:.1f} MB)")

        call = calls(Call("get_working_dir", "{}"))
        own: list[float] = []
        for _ in range(5):
            server.play([call, says("Done.")])
            short = bench.marvin().ended
            server.play([*[call] * 49, says("Done.")])
            ours = bench.marvin().ended - short
            server.play([says("Done.")])
            floor = bench.bare(50).ended - bench.bare(2).ended
            own.append((ours - floor) / 48 * 1000)
        report("one more round of a tool loop", "under 5 ms", f"{median(own):5.2f} ms above a bare request")

        server.play([deltas(200, gap=0.004)])
        late: list[float] = []
        for _ in range(3):
            run = bench.marvin()
            writes = server.requests[-1].writes
            at = [moment for moment, part in run.reads for _ in range(part.decode().count(" ") or 1)]
            late += [(out - written) / 1e6 for out, written in zip(at, writes, strict=False)]
        report("a delta's way to stdout", "median under 0.6 ms", f"{median(late):5.2f} ms median")
        assembly.report(Path(folder) / "assembly", report)
        hands.report(Path(folder), report)
        home = Path(folder) / "editor"
        home.mkdir()
        editor.report(home, report)


if __name__ == "__main__":
    main()
