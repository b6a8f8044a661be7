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
from tests.emacs.test_emacs import HERE, INIT, MARVIN, ROOT, emacs
from tests.patience import SECONDS
from tests.servers.model_server import ThreadedModelServer

PAGE = ROOT / "docs" / "emacs.md"
WIDTH, HEIGHT = 80, 30


class Terminal:
    """Emacs in tmux, in the folder ``shop``, whose path is shown as /home/me/shop."""

    def __init__(self, shop: Path, environ: dict[str, str]) -> None:
        self.shop = shop
        self._socket = str(shop.parent / "tmux")
        lisp = f'(setq marvin-command (list "{MARVIN}" "lsp") make-backup-files nil create-lockfiles nil)'
        # However long a busy machine takes for a click, it is one.
        mouse = "(progn (xterm-mouse-mode 1) (setq mouse-1-click-follows-link t double-click-time nil))"
        evals = ("--eval", lisp, "--eval", mouse)
        command = (str(emacs("30")), "-nw", "-Q", "-l", str(INIT), *evals, "shop/basket.py")
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

    def clicks(self, text: str) -> None:
        """Press and let go the first button of the mouse on ``text``, as a terminal tells it."""
        row, line = next((row, line) for row, line in enumerate(self.sees(text).splitlines(), 1) if text in line)
        place = f"{line.index(text) + 2};{row}"
        self.keys("-l", f"\x1b[<0;{place}M")
        self.keys("-l", f"\x1b[<0;{place}m")

    def opens(self) -> None:
        """Show a conversation on all of the screen."""
        self.sees("basket.py")
        self.keys("C-c", "m", "m")
        self.sees("Your message: RET sends")
        self.keys("C-x", "1")

    @property
    def screen(self) -> str:
        """What is shown now, but for what differs from run to run."""
        command = ("tmux", "-S", self._socket, "capture-pane", "-p")
        screen = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        screen = screen.replace(str(self.shop), "/home/me/shop")
        screen = re.sub(r"\b(\d+ ms|\d+\.\d s)\b", "12 ms", screen)
        return "\n".join(line.rstrip() for line in screen.splitlines()).rstrip() + "\n"

    def sees(self, text: str) -> str:
        """The screen once it has ``text``."""
        return self._once(lambda screen: text in screen)

    def comes_to(self, expected: str) -> str:
        """The screen once it is as ``expected``."""
        return self._once(lambda screen: screen == expected)

    def _once(self, wanted: Callable[[str], bool]) -> str:
        deadline = time.monotonic() + SECONDS
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
    begin, end = f"<!-- screen {name} -->\n````\n", "````\n<!-- end -->"
    before, _, rest = PAGE.read_text().partition(begin)
    shown, _, after = rest.partition(end)
    if os.environ.get("UPDATE_SCREENS"):
        file.parent.mkdir(exist_ok=True)
        file.write_text(screen)
        PAGE.write_text(before + begin + screen + end + after)
    else:
        assert terminal.comes_to(file.read_text()) == shown


def test_a_conversation(terminal: Terminal) -> None:
    terminal.opens()
    terminal.keys("Think", "Enter")
    terminal.sees("Hello, wörld!")
    terminal.sees("| ready |")
    terminal.keys("Code", "Enter")
    terminal.sees("and **bold**.")
    _check("chat", terminal, "| ready |")


def test_a_question_and_its_mark_in_the_mode_line(terminal: Terminal) -> None:
    terminal.opens()
    terminal.keys("Run python -m unittest", "Enter")
    terminal.sees("asks: C-c C-a")
    _check("question", terminal, "Marvin asks: ")
    terminal.keys("C-x", "b", "basket.py", "Enter")
    terminal.sees("Marvin asks (")
    terminal.keys("C-c", "m", "a")
    terminal.sees("*marvin questions*")
    terminal.keys("d")
    terminal.sees("No question is open")


def test_only_what_was_on_the_screen_is_allowed(terminal: Terminal) -> None:
    terminal.opens()
    terminal.keys("-l", f"Run touch out # {'x' * 3000}")
    terminal.keys("Enter")
    terminal.sees("asks: C-c C-a")
    terminal.keys("C-c", "C-a", "C-x", "1", "y")
    terminal.sees("Read on first: ")
    terminal.keys("y")
    terminal.sees("[y] Allow once")
    assert not (terminal.shop / "out").exists()
    terminal.keys("y")
    terminal.sees("No question is open")


def test_a_change_that_is_proposed_does_not_take_what_is_typed_in_the_file(terminal: Terminal) -> None:
    terminal.sees("basket.py")
    terminal.keys("C-c", "m", "i")
    terminal.sees("Change this:")
    terminal.keys("add", "Enter")
    terminal.sees("+        result += price")
    terminal.keys("kkk")
    terminal.sees('kkk"""What a customer')
    terminal.keys("C-c", "m", "r", "k")
    terminal.sees("Nothing waits for a decision")


def test_a_file_that_another_has_locked_stops_nobody_from_typing(terminal: Terminal) -> None:
    (terminal.shop / "shop" / ".#basket.py").symlink_to("somebody@elsewhere.1234:5678")
    terminal.sees("basket.py")
    terminal.keys("M-:", "(setq create-lockfiles t)", "Enter")
    terminal.keys("C-c", "m", "m")
    terminal.sees("RET sends")
    terminal.keys("Fix total", "Enter")
    terminal.sees("apply_patch shop/basket.py: failed")
    terminal.keys("still typing")
    terminal.sees("still typing")
    assert "(s, q, p, ?)" not in terminal.screen


def test_the_mouse_answers_unfolds_and_chooses(terminal: Terminal) -> None:
    terminal.opens()
    terminal.keys("Run touch out", "Enter")
    terminal.clicks("[d] Deny")
    terminal.sees("Denied by you: touch out")
    terminal.sees("| ready |")
    terminal.clicks("[show] run_command")
    terminal.sees("  The person denied.")
    terminal.clicks("mode auto")
    terminal.sees("Mode (now auto):")


def test_what_is_typed_is_seen_while_an_answer_is_streamed(terminal: Terminal) -> None:
    terminal.opens()
    terminal.keys("Slowly", "Enter")
    terminal.sees("word9 ")
    terminal.keys("typed meanwhile", "C-j", "and more")
    screen = terminal.sees("typed meanwhile\nand more")
    assert "RET queues it" in screen
    assert "word3999 " not in screen


def test_a_turn_is_taken_back_and_done_again_even_after_a_restart(terminal: Terminal) -> None:
    terminal.sees("basket.py")
    terminal.keys("C-c", "m", "m")
    terminal.sees("RET sends")
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
        terminal.sees("1 file changed")
        terminal.keys("C-x", "1", "C-x", "b", "basket.py", "Enter")
        terminal.sees(line)
        terminal.keys("M-x", "marvin-restart", "Enter")
        terminal.sees("Marvin is ready")
        terminal.keys("C-c", "m", "m")
        terminal.sees("Told to the model")


def test_a_review_by_hunk_with_the_whole_file_in_ediff(terminal: Terminal) -> None:
    terminal.sees("basket.py")
    terminal.keys("C-c", "m", "m")
    terminal.sees("RET sends")
    terminal.keys("Fix total", "Enter")
    terminal.sees("Done.")
    terminal.sees("| ready |")
    terminal.keys("C-c", "C-r")
    _check("review", terminal, "@@ -5,5 +5,5 @@ open")
    terminal.keys("e")
    screen = terminal.sees("*shop/basket.py with*")
    assert screen.index("result -= price") < screen.index("result += price")
    terminal.keys("q", "y")
    terminal.sees("*marvin review: Fix total*")
    assert "with*" not in terminal.screen
    terminal.keys("k")
    terminal.sees("Nothing waits for a decision")
