"""The stage in a terminal of its own, and what a person can do with the terminal around it."""

import os
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from tests.nvim.terminal import Terminal
from tests.patience import SECONDS

ROOT = Path(__file__).parents[3]
# A shell with job control, which says so when the program is stopped, and has it go on once it is continued.
_SHELL = 'set -m; "$@"; while [ $? = 148 ]; do echo stopped; fg >/dev/null; done'


class Stage(Terminal):
    """The terminal; ``folder`` is the one that it was given."""

    folder: Path

    def tmux(self, *words: str) -> str:
        """Have tmux do something in this terminal."""
        return self._run(*words)

    @property
    def cursor(self) -> str:
        """Its column and its line."""
        return self._run("display-message", "-p", "-t", "s", "#{cursor_x},#{cursor_y}")

    def resize(self, columns: int, lines: int) -> None:
        """Change the size of the terminal."""
        self._run("resize-window", "-t", "s", "-x", str(columns), "-y", str(lines))


@contextmanager
def stage(kind: str, folder: Path, columns: int = 80, lines: int = 24, **environ: str) -> Generator[Stage]:
    """The stage with a view of this kind, once its prompt is there. It leaves a line in ``folder/report``."""
    variables = {
        "LC_ALL": "C.UTF-8",
        "COLORTERM": "truecolor",
        "REPORT": str(folder / "report"),
        "HOME": os.environ["HOME"],
        **environ,
    }
    command = ("bash", "-c", _SHELL, "bash", sys.executable, "-m", "tests.cli.view.stage", kind)
    with Stage(command, ROOT, variables, folder, columns, lines) as terminal:
        terminal.see(r"(?m)^[›>]")
        yield terminal


def paste(terminal: Stage, folder: Path, text: str) -> None:
    """Paste, as a terminal does for a program that asks for brackets around it."""
    file = folder / "paste"
    file.write_text(text)
    terminal.tmux("load-buffer", str(file))
    terminal.tmux("paste-buffer", "-p", "-t", "s")


def scrollback(terminal: Stage) -> str:
    """All that the terminal keeps, with what is on the screen."""
    return terminal.tmux("capture-pane", "-p", "-J", "-S", "-", "-t", "s")


def pid(terminal: Stage) -> int:
    """The process of the stage: the child of the shell."""
    shell = terminal.tmux("display-message", "-p", "-t", "s", "#{pane_pid}").strip()
    return int(Path(f"/proc/{shell}/task/{shell}/children").read_text().split()[0])


def report(folder: Path) -> str:
    """What the stage has left at its end."""
    file = folder / "report"
    deadline = time.monotonic() + SECONDS
    while not (file.exists() and file.read_text().endswith("\n")):
        assert time.monotonic() < deadline, "the stage has not ended"
        threading.Event().wait(0.02)
    return file.read_text()
