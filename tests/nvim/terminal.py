"""A terminal of its own, by tmux, in which a program is seen and typed at as by a person."""

import re
import subprocess
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from tests.patience import SECONDS

_LOOKS = 4
"""So often in a row a screen at rest is the same. A look takes longer the more else the machine does."""


class Terminal:
    """Runs ``command`` in a terminal of ``columns`` by ``lines``; ``folder`` is private and takes tmux's socket."""

    def __init__(
        self, command: Sequence[str | Path], cwd: Path, environ: dict[str, str], folder: Path, columns: int, lines: int
    ) -> None:
        self._tmux = ("tmux", "-f", "/dev/null", "-S", str(folder / "tmux"))
        size = ("-x", str(columns), "-y", str(lines))
        given = [word for name, value in environ.items() for word in ("-e", f"{name}={value}")]
        self._run("new-session", "-d", "-s", "s", *size, "-c", str(cwd), *given, *map(str, command))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        subprocess.run((*self._tmux, "kill-server"), capture_output=True, check=False)

    def type(self, *keys: str) -> None:
        """Press keys by their names in tmux; a text that is no name is typed."""
        self._run("send-keys", "-t", "s", *keys)

    def click(self, text: str) -> None:
        """Click on the first place of the screen that shows ``text``, with the left button."""
        lines = self.screen.splitlines()
        row = next(number for number, line in enumerate(lines) if text in line)
        place = f"0;{lines[row].index(text) + 1};{row + 1}"
        # What a terminal sends (SGR mouse mode), pressed and released.
        self._run("send-keys", "-t", "s", "-l", f"\x1b[<{place}M")
        self._run("send-keys", "-t", "s", "-l", f"\x1b[<{place}m")

    @property
    def screen(self) -> str:
        return self._run("capture-pane", "-p", "-t", "s")

    def see(self, *texts: str) -> str:
        """The screen as soon as all ``texts`` (regular expressions) are on it and it has come to rest."""
        return self._wait(texts, looks=_LOOKS)

    def shows(self, *texts: str) -> str:
        """The screen as soon as all ``texts`` are on it, whatever goes on there."""
        return self._wait(texts, looks=1)

    def _wait(self, texts: Sequence[str], *, looks: int) -> str:
        deadline = time.monotonic() + SECONDS
        before, alike = "", 0
        while time.monotonic() < deadline:
            shown = self.screen
            before, alike = shown, alike + 1 if shown == before else 1
            if alike >= looks and all(re.search(text, shown) for text in texts):
                return shown
            subprocess.run((*self._tmux, "wait-for", "-L", "tick"), capture_output=True, timeout=SECONDS, check=False)
            subprocess.run((*self._tmux, "wait-for", "-U", "tick"), capture_output=True, timeout=SECONDS, check=False)
        raise AssertionError(f"{texts} did not come:\n{self.screen}")

    def rest(self, seconds: float) -> None:
        """Do nothing, as somebody who reads: what is typed at once is not taken for an answer."""
        threading.Event().wait(seconds)

    def _run(self, *words: str) -> str:
        done = subprocess.run((*self._tmux, *words), capture_output=True, text=True, timeout=SECONDS, check=True)
        return done.stdout
