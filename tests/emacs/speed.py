"""``python -m tests.emacs.speed`` measures how long a long stream and a large edit hold up Emacs' main loop, and how
soon what is typed meanwhile is on the screen.
"""

import fcntl
import os
import pty
import select
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path

from tests.emacs.model import answer
from tests.emacs.test_emacs import HERE, INIT, MARVIN, ROOT, emacs
from tests.servers.model_server import ThreadedModelServer

_WIDTH, _HEIGHT = 120, 36
_SECONDS = 60
_PAUSE = 0.05
_LETTERS = "äöüßéèêàâîïôûçñøåæðþ"


def measured(version: str, folder: Path) -> list[str]:
    """A line each for the stream, the edit and the typing, in an Emacs of this major version."""
    repository = folder / "repository"
    (repository / "shop").mkdir(parents=True)
    (repository / "shop" / "basket.py").write_text("def total(prices):\n    return sum(prices)\n")
    subprocess.run(("git", "init", "--quiet", repository), check=True)
    with ThreadedModelServer(answer) as server:
        environ = {
            **os.environ,
            "LC_ALL": "C.UTF-8",
            "TERM": "xterm-256color",
            "HOME": str(folder),
            "MARVIN_HOME": str(folder / "marvin"),
            "LLM_PROVIDER": "openai-compat",
            "OPENAI_COMPAT_URL": server.url,
            "OPENAI_COMPAT_API_KEY": "sk-test",
            "OPENAI_COMPAT_MODEL": "test-model",
            "MARVIN_TEST_COMMAND": str(MARVIN),
            "MARVIN_TEST_REPOSITORY": str(repository),
            "MARVIN_TEST_PYTHON": sys.executable,
            "MARVIN_TEST_ROOT": str(ROOT),
        }
        files = [word for file in (INIT, HERE / "driving.el", HERE / "speed.el") for word in ("-l", file)]
        command = (emacs(version), "-Q", "--batch", *files, "-f", "ert-run-tests-batch-and-exit")
        done = subprocess.run(command, cwd=repository, env=environ, capture_output=True, text=True, check=True)
        typed = _typed(version, repository, environ)
    lines = [*(line for line in done.stderr.splitlines() if line.endswith(" ms at most")), typed]
    return [f"Emacs {version}, {line}" for line in lines]


class _Terminal:
    """Emacs on a terminal of its own, of which only what is written anew is looked at."""

    def __init__(self, command: tuple[str | Path, ...], folder: Path, environ: dict[str, str]) -> None:
        self.keyboard, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", _HEIGHT, _WIDTH, 0, 0))
        within = ("setsid", "--ctty", "--wait", *command)
        self._process = subprocess.Popen(
            within, cwd=folder, env=environ, stdin=terminal, stdout=terminal, stderr=terminal
        )
        os.close(terminal)
        self.written = ""

    def types(self, keys: str) -> None:
        self.written = ""
        os.write(self.keyboard, keys.encode())

    def reads(self, seconds: float) -> None:
        """Take what is written within this time, at least once if there is something."""
        if select.select([self.keyboard], [], [], seconds)[0]:
            self.written += os.read(self.keyboard, 65_536).decode(errors="replace")

    def until(self, text: str) -> float:
        """How many milliseconds it took until ``text`` was written."""
        began = time.perf_counter()
        while text not in self.written:
            assert time.perf_counter() - began < _SECONDS, f"no {text!r} in {self.written[-2000:]!r}"
            self.reads(0.01)
        return 1000 * (time.perf_counter() - began)

    def close(self) -> None:
        os.close(self.keyboard)
        self._process.kill()
        self._process.wait()


def _typed(version: str, repository: Path, environ: dict[str, str]) -> str:
    """Type a letter that is nowhere else every 50 ms below an answer that is streamed, and tell when each was seen."""
    lisp = f'(setq marvin-command (list "{MARVIN}" "lsp") create-lockfiles nil)'
    command = (emacs(version), "-nw", "-Q", "-l", INIT, "--eval", lisp, "shop/basket.py")
    terminal = _Terminal(command, repository, environ)
    try:
        terminal.until("basket.py")
        terminal.types("\x03mm")
        terminal.until("RET sends")
        terminal.types("\x181Much\r")
        terminal.until("word1")
        seen: list[float] = []
        while "word49999" not in terminal.written:
            letter = _LETTERS[len(seen) % len(_LETTERS)]
            terminal.types(letter)
            seen.append(terminal.until(letter))
            rest = time.perf_counter() + _PAUSE
            while (left := rest - time.perf_counter()) > 0:
                terminal.reads(left)
            if len(seen) % len(_LETTERS) == 0:
                os.write(terminal.keyboard, b"\n")
        slowest = f"{max(seen):.0f} ms at most"
        return f"typing meanwhile: {len(seen)} letters, median {statistics.median(seen):.0f} ms, {slowest}"
    finally:
        terminal.close()


if __name__ == "__main__":
    for each in ("28", "30"):
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
            print("\n".join(measured(each, Path(place))), flush=True)
