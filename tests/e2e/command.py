"""The installed ``marvin`` command, run as a person or a pipeline runs it."""

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from tests.patience import SECONDS

COST_PREFIX = "MARVIN_COST:"


@dataclass(frozen=True, slots=True)
class Completed:
    """A finished run. The texts are decoded as they are, line ends included; a byte that is no UTF-8 is a surrogate.

    ``exit_code`` is minus the signal's number when a signal ended it. ``cost`` is the object of the MARVIN_COST line,
    None unless that is the last line on stderr.
    """

    exit_code: int
    stdout: str
    stderr: str

    @property
    def cost(self) -> dict[str, Any] | None:
        *_, last = self.stderr.splitlines() or [""]
        return json.loads(last.removeprefix(COST_PREFIX)) if last.startswith(COST_PREFIX) else None


class Running:
    """A ``marvin`` that still runs, in a process group of its own. Waits are bounded by ``timeout`` seconds."""

    def __init__(self, process: subprocess.Popen[bytes], stderr: IO[bytes]) -> None:
        self._process = process
        self._stderr = stderr
        self._stdout = b""

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def stderr(self) -> str:
        """What has come on stderr so far."""
        return _text(os.pread(self._stderr.fileno(), os.fstat(self._stderr.fileno()).st_size, 0))

    def read_until(self, text: str, timeout: float = SECONDS) -> str:
        """All of stdout so far, as soon as ``text`` is in it. Raises ``AssertionError`` when it never comes."""
        deadline = time.monotonic() + timeout
        while text.encode() not in self._stdout:
            if not self._read(deadline):
                raise AssertionError(f"{text!r} did not come; stdout: {_text(self._stdout)!r}; stderr: {self.stderr!r}")
        return _text(self._stdout)

    def write(self, text: str) -> None:
        """Type ``text`` into its stdin, which ``start`` must have left open."""
        assert self._process.stdin is not None
        self._process.stdin.write(text.encode())
        self._process.stdin.flush()

    def close_stdin(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()

    def close_stdout(self) -> None:
        """Stop reading, as ``head -1`` does."""
        assert self._process.stdout is not None
        self._process.stdout.close()

    def send_signal(self, number: signal.Signals) -> None:
        """Send a signal to the command alone, not to its children."""
        self._process.send_signal(number)

    def wait(self, timeout: float = SECONDS) -> Completed:
        """The finished run; what is still open of stdin is closed first. Raises ``AssertionError`` when it goes on."""
        if self._process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.close()
        deadline = time.monotonic() + timeout
        while self._read(deadline):
            pass
        try:
            exit_code = self._process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            message = f"marvin still runs after {timeout} s; stdout: {_text(self._stdout)!r}; stderr: {self.stderr!r}"
            raise AssertionError(message) from None
        return Completed(exit_code, _text(self._stdout), self.stderr)

    def close(self) -> None:
        """Kill what is left of its process group, and let go of the pipes."""
        with contextlib.suppress(ProcessLookupError, PermissionError):  # macOS: PermissionError when all have ended
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._stderr):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()

    def _read(self, deadline: float) -> bool:
        """Take in more of stdout; false at its end or when the time is over."""
        stdout = self._process.stdout
        if stdout is None or stdout.closed:
            return False
        ready, _, _ = select.select([stdout], [], [], max(0.0, deadline - time.monotonic()))
        part = os.read(stdout.fileno(), 65_536) if ready else b""
        self._stdout += part
        return bool(part)


class Marvin:
    """Runs the ``marvin`` beside the running Python, and ends what is still running when it is closed."""

    def __init__(self, cwd: Path) -> None:
        self._cwd = cwd
        self._started: list[Running] = []

    def __call__(
        self,
        *args: str | Path,
        stdin: str | bytes | None = None,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        timeout: float = SECONDS,
    ) -> Completed:
        """Run to the end with ``stdin`` as standard input (None: empty); ``env`` is added to the environment."""
        with tempfile.TemporaryFile() as given:
            given.write(stdin.encode() if isinstance(stdin, str) else stdin or b"")
            given.seek(0)
            return self._start(args, given, env, cwd).wait(timeout)

    def start(self, *args: str | Path, env: Mapping[str, str] | None = None, cwd: Path | None = None) -> Running:
        """Start it with an open pipe as standard input, for tests that read, type, signal or kill."""
        return self._start(args, subprocess.PIPE, env, cwd)

    def close(self) -> None:
        for running in self._started:
            running.close()

    def _start(
        self, args: tuple[str | Path, ...], stdin: int | IO[bytes], env: Mapping[str, str] | None, cwd: Path | None
    ) -> Running:
        stderr = tempfile.TemporaryFile()  # noqa: SIM115 - the Running closes it
        process = subprocess.Popen(
            [Path(sys.executable).with_name("marvin"), *args],
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=stderr,
            cwd=cwd or self._cwd,
            env={**os.environ, **(env or {})},
            start_new_session=True,
        )
        running = Running(process, stderr)
        self._started.append(running)
        return running


def _text(part: bytes) -> str:
    return part.decode("utf-8", "surrogateescape")
