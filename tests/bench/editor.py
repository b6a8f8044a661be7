"""The benchmarks of ``marvin lsp``: its start beside a bare pygls server, and what an editor feels while it works."""

import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from marvin_server import paths
from marvin_server.lsp.framing import Frames, decode, encode
from marvin_server.messages import Message, Text, user_message
from marvin_server.session.store import Store
from tests.servers.model_server import ThreadedModelServer
from tests.servers.scenarios import deltas, says

MARVIN = Path(sys.executable).with_name("marvin")
BARE = Path(__file__).with_name("bare_lsp.py")
INITIALIZE = {
    "processId": None,
    "rootUri": None,
    "capabilities": {"experimental": {"marvin": {"protocolVersion": 1}}},
}
PAIRS = 15
SESSIONS, RATE, SECONDS, FLUSH_MS = 100, 100, 30, 33
ENTRIES = 50_000
_MOMENT = re.compile(rb"\b(1\d{18})\b")


class Client:
    """An editor that knows when each message came. It reads while ``reading`` is set."""

    def __init__(self, command: list[str | Path], home: Path, url: str = "http://127.0.0.1:9/v1") -> None:
        environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "MARVIN_HOME": str(home / "marvin"),
            "MARVIN_PROVIDER": "openai-compat",
            "OPENAI_COMPAT_URL": url,
            "OPENAI_COMPAT_API_KEY": "sk-bench",
            "OPENAI_COMPAT_MODEL": "test-model",
        }
        self.started = time.perf_counter()
        self.process = subprocess.Popen(
            command, env=environ, cwd=home, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self.home = home
        self.arrivals: list[tuple[int, bytes]] = []
        self._changed = threading.Condition()
        self._last_id = 0
        self.reading = threading.Event()
        self.reading.set()
        threading.Thread(target=self._read, daemon=True).start()

    def send(self, method: str, params: Any, *, request: bool = True) -> int:
        self._last_id += 1
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        assert self.process.stdin is not None
        self.process.stdin.write(encode({**message, "id": self._last_id} if request else message))
        self.process.stdin.flush()
        return self._last_id

    def until(self, found: Callable[[bytes], bool], seconds: float = 60) -> tuple[int, bytes]:
        """The first message that is wanted, with the moment when it came."""
        with self._changed:
            if self._changed.wait_for(lambda: any(found(body) for _, body in self.arrivals), seconds):
                return next(arrival for arrival in self.arrivals if found(arrival[1]))
        raise TimeoutError

    def event(self, kind: str, session_id: str) -> int:
        """The moment when the first event of this type came."""
        words = (f'"{kind}"'.encode(), session_id.encode())
        return self.until(lambda body: all(word in body for word in words))[0]

    def ask(self, method: str, params: Any) -> Any:
        return self.answer(self.send(method, params))

    def answer(self, request_id: int) -> Any:
        """The result of a request; pygls writes its JSON with spaces."""
        heads = (b'"id":%d,' % request_id, b'"id": %d,' % request_id)
        _, body = self.until(lambda body: any(head in body[:80] for head in heads))
        return decode(body)["result"]

    def initialize(self) -> float:
        """Seconds from the start of the process to the answer."""
        self.ask("initialize", INITIALIZE)
        spent = time.perf_counter() - self.started
        self.send("initialized", {}, request=False)
        return spent

    def session(self) -> str:
        return self.ask("marvin/session/new", {"cwd": str(self.home)})["session"]["id"]

    def start_turn(self, session_id: str) -> int:
        said = [{"type": "text", "text": "go"}]
        return self.send("marvin/turn/start", {"sessionId": session_id, "input": said, "whenBusy": "queue"})

    def turn(self, session_id: str) -> None:
        self.answer(self.start_turn(session_id))

    def leave(self) -> tuple[float, float]:
        """Seconds of processor time and MB of memory that the server has taken."""
        self.ask("shutdown", {})
        self.send("exit", {}, request=False)
        _, _, usage = os.wait4(self.process.pid, 0)
        self.process.returncode = 0
        return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024

    def _read(self) -> None:
        frames = Frames()
        assert self.process.stdout is not None
        while self.reading.wait() and (chunk := os.read(self.process.stdout.fileno(), 1 << 20)):
            at = time.time_ns()
            bodies = [(at, body) for body in frames.feed(chunk)]
            with self._changed:
                self.arrivals += bodies
                self._changed.notify_all()


def starting(home: Path) -> str:
    """``initialize`` answered, beside a bare pygls server, pair by pair."""

    def spent(command: list[str | Path]) -> float:
        client = Client(command, home)
        seconds = client.initialize()
        client.process.kill()
        client.process.wait()
        return seconds

    commands: tuple[list[str | Path], ...] = ([MARVIN, "lsp"], [sys.executable, BARE])
    pairs = [[spent(command) for command in commands] for _ in range(PAIRS + 1)][1:]
    ratios = [ours / bare for ours, bare in pairs]
    ours, bare = (median(times) * 1000 for times in zip(*pairs, strict=True))
    return f"{median(ratios):5.2f} × pygls ({min(ratios):.2f}-{max(ratios):.2f}), {ours:.0f} ms to {bare:.0f} ms"


@contextmanager
def clock(sessions: int) -> Generator[str]:
    """The URL of a model that tells the time to so many sessions."""
    command = [sys.executable, "-m", "tests.bench.clock", str(RATE), str(SECONDS), "--for", str(sessions)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def streaming(home: Path) -> tuple[str, str]:
    """How late deltas are, and what it costs, with many sessions that stream at once."""
    with clock(SESSIONS) as url:
        client = Client([MARVIN, "lsp"], home, url)
        client.initialize()
        for session_id in [client.session() for _ in range(SESSIONS)]:
            client.turn(session_id)
        began = time.perf_counter()
        ended = seen = 0
        while ended < SESSIONS:
            time.sleep(0.5)
            come = client.arrivals[seen:]
            seen += len(come)
            ended += sum(body.count(b'"turn.finished"') for _, body in come)
        streamed = time.perf_counter() - began
        late = [
            (at - int(moment)) / 1e6
            for at, body in client.arrivals
            if b'"message.delta"' in body and b'"message.finished"' not in body
            for moment in _MOMENT.findall(body)
        ]
        assert len(late) >= SESSIONS * RATE * SECONDS * 0.99, len(late)
        seconds, memory = client.leave()
    worst = quantiles(late, n=100)[98]
    return (
        f"p99 {worst - FLUSH_MS:5.1f} ms beyond the flush, median {median(late):.1f} ms",
        f"{seconds / streamed:5.2f} cores, {memory:.0f} MB",
    )


def slow_reader(home: Path) -> str:
    """A client stops reading while 10,000 deltas come; another session's turn then still reaches its model at once."""
    waits: list[float] = []
    for _ in range(5):
        with ThreadedModelServer([says("hi"), deltas(10_000, piece=4096), says("hi")]) as server:
            client = Client([MARVIN, "lsp"], home, server.url)
            client.initialize()
            quiet, loud = client.session(), client.session()
            client.turn(quiet)
            client.event("turn.finished", quiet)
            client.reading.clear()
            client.start_turn(loud)
            server.wait_for_request(2)
            started = time.time_ns()
            client.start_turn(quiet)
            waits.append((server.wait_for_request(3).arrived_ns - started) / 1e6)
            client.reading.set()
            client.leave()
    return f"{median(waits):5.1f} ms (at most {max(waits):.1f})"


def newest_page(home: Path) -> str:
    """``session/load`` of a long session, in a process that has not seen it before."""
    store = Store.open(paths.find({"MARVIN_HOME": str(home / "marvin")}).database("default"))
    session_id = store.create_session(str(home), "openai-compat", "test-model", "long").id
    parent: str | None = None
    for number in range(ENTRIES // 2):
        for message in (user_message(f"question {number}"), Message("assistant", (Text(f"answer {number}"),))):
            store.append(session_id, message, parent)
            parent = message.id
    store.close()
    times: list[float] = []
    for _ in range(5):
        client = Client([MARVIN, "lsp"], home)
        client.initialize()
        started = time.perf_counter()
        loaded = client.ask("marvin/session/load", {"sessionId": session_id})
        times.append((time.perf_counter() - started) * 1000)
        assert loaded["items"]
        client.leave()
    return f"{median(times):5.1f} ms (at most {max(times):.1f})"


def cancelling(home: Path) -> str:
    """``turn/cancel`` acknowledged, and the turn's end told, while a model streams."""
    with ThreadedModelServer([deltas(100_000, gap=0.001)]) as server:
        client = Client([MARVIN, "lsp"], home, server.url)
        client.initialize()
        acknowledged: list[float] = []
        finished: list[float] = []
        for _ in range(5):
            session_id = client.session()
            client.turn(session_id)
            client.event("message.delta", session_id)
            started = time.time_ns()
            client.ask("marvin/turn/cancel", {"sessionId": session_id})
            acknowledged.append((time.time_ns() - started) / 1e6)
            finished.append((client.event("turn.finished", session_id) - started) / 1e6)
        client.leave()
    return f"{median(acknowledged):5.1f} ms, the turn's end after {median(finished):.1f} ms"


def report(folder: Path, tell: Callable[[str, str, str], None]) -> None:
    """Tell name, target and figure of every benchmark; they work in ``folder``."""
    tell("initialize answered", "at most 1.3 × pygls", starting(folder))
    late, cost = streaming(folder)
    tell("100 sessions, 100 deltas/s each", "p99 under 20 ms", late)
    tell("its cost", "under 1 core, 350 MB", cost)
    tell("a turn beside a client that stalls", "no stall", slow_reader(folder))
    tell("newest page of 50,000 entries", "under 200 ms", newest_page(folder))
    tell("cancel acknowledged", "under 100 ms", cancelling(folder))
