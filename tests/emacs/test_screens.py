"""What a person sees: Emacs on a real terminal, as text. docs/emacs.md shows the same screens.

``UPDATE_SCREENS=1`` writes them, into ``screens/`` and the page, instead of comparing.
"""

import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.emacs.model import answer
from tests.emacs.test_emacs import HERE, MARVIN, ROOT, emacs
from tests.servers.model_server import ThreadedModelServer

PAGE = ROOT / "docs" / "emacs.md"
WIDTH, HEIGHT = 90, 40
_SECONDS = 20


class Terminal:
    """Emacs in tmux, in the folder ``shop``, whose path is shown as /home/me/shop."""

    def __init__(self, shop: Path, environ: dict[str, str]) -> None:
        self._shop = shop
        self._socket = str(shop.parent / "tmux")
        lisp = f'(setq marvin-command (list "{MARVIN}" "lsp") make-backup-files nil create-lockfiles nil)'
        command = (str(emacs("30")), "-nw", "-Q", "-l", str(HERE / "init.el"), "--eval", lisp, "shop/basket.py")
        size = ("-x", str(WIDTH), "-y", str(HEIGHT))
        env = {**os.environ, **environ, "LC_ALL": "C.UTF-8", "TERM": "screen-256color"}
        subprocess.run(
            ("tmux", "-f", "/dev/null", "-S", self._socket, "new-session", "-d", *size, *command),
            cwd=shop,
            env=env,
            check=True,
        )

    def keys(self, *keys: str) -> None:
        subprocess.run(("tmux", "-S", self._socket, "send-keys", *keys), check=True)

    @property
    def screen(self) -> str:
        """What is shown now, but for what differs from run to run."""
        command = ("tmux", "-S", self._socket, "capture-pane", "-p")
        screen = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        screen = screen.replace(str(self._shop), "/home/me/shop")
        screen = re.sub(r"\b\d+ ms", "12 ms", screen)
        return "\n".join(line.rstrip() for line in screen.splitlines()).rstrip() + "\n"

    def sees(self, text: str) -> str:
        """The screen once it has ``text``."""
        return self._once(lambda screen: text in screen)

    def comes_to(self, expected: str) -> str:
        """The screen once it is as ``expected``."""
        return self._once(lambda screen: screen == expected)

    def _once(self, wanted: Callable[[str], bool]) -> str:
        deadline = time.monotonic() + _SECONDS
        while not wanted(screen := self.screen) and time.monotonic() < deadline:
            pass
        assert wanted(screen), f"it did not come:\n{screen}"
        return screen

    def close(self) -> None:
        subprocess.run(("tmux", "-S", self._socket, "kill-server"), check=False)


@pytest.fixture
def terminal(repository: Path, model_server: ThreadedModelServer, model_environ: dict[str, str]) -> Iterator[Terminal]:
    if shutil.which("tmux") is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("tmux is not installed")
    model_server.play(answer)
    folder = Path(tempfile.mkdtemp(dir="/tmp", prefix="m"))
    shutil.copytree(repository, folder / "shop")
    terminal = Terminal(folder / "shop", model_environ)
    yield terminal
    terminal.close()
    shutil.rmtree(folder, ignore_errors=True)


def _check(name: str, terminal: Terminal, text: str) -> None:
    """Compare with what the page shows once ``text`` is there and all has come to rest."""
    screen = terminal.sees(text)
    file = HERE / "screens" / f"{name}.txt"
    begin, end = f"<!-- screen {name} -->\n```\n", "```\n<!-- end -->"
    before, _, rest = PAGE.read_text().partition(begin)
    shown, _, after = rest.partition(end)
    if os.environ.get("UPDATE_SCREENS"):
        file.parent.mkdir(exist_ok=True)
        file.write_text(screen)
        PAGE.write_text(before + begin + screen + end + after)
    else:
        assert terminal.comes_to(file.read_text()) == shown


def test_a_conversation(terminal: Terminal) -> None:
    terminal.sees("basket.py")
    terminal.keys("C-c", "m", "m")
    terminal.sees("You>")
    terminal.keys("Code", "Enter")
    terminal.sees("and **bold**.")
    _check("chat", terminal, "ready")


def test_a_question_and_its_mark_in_the_mode_line(terminal: Terminal) -> None:
    terminal.sees("basket.py")
    terminal.keys("C-c", "m", "m")
    terminal.sees("You>")
    terminal.keys("Run python -m unittest", "Enter")
    terminal.sees("ASKS")
    _check("question", terminal, "Marvin asks (1)")
    terminal.keys("C-c", "C-a")
    terminal.sees("*marvin questions*")
    terminal.keys("d")
    terminal.sees("No question is open")


def test_a_turn_is_taken_back_and_done_again(terminal: Terminal) -> None:
    terminal.sees("basket.py")
    terminal.keys("C-c", "m", "m")
    terminal.sees("You>")
    terminal.keys("Fix total", "Enter")
    terminal.sees("Done.")
    terminal.sees("result += price")
    for key, question, line in (
        ("u", "Take this back?", "result -= price"),
        ("U", "Do this again?", "result += price"),
    ):
        terminal.keys("C-x", "1", "C-c", "m", key)
        terminal.sees(question)
        terminal.keys("yes", "Enter")
        terminal.sees("1 files changed")
        terminal.keys("C-x", "1", "C-x", "b", "basket.py", "Enter")
        terminal.sees(line)
        terminal.keys("C-c", "m", "m")
        terminal.sees("You>")


def test_a_review_by_hunk(terminal: Terminal) -> None:
    terminal.sees("basket.py")
    terminal.keys("C-c", "m", "m")
    terminal.sees("You>")
    terminal.keys("Fix total", "Enter")
    terminal.sees("Done.")
    terminal.sees("| ready |")
    terminal.keys("C-c", "C-r")
    _check("review", terminal, "@@ -5,5 +5,5 @@ open")
    terminal.keys("k")
    terminal.sees("Nothing waits for a decision")
