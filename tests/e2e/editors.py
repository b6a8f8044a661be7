"""Real editors for tests: where they are, what they are asked to do, and what a scripted model says to that."""

import fcntl
import json
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import termios
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.patience import ALL_SECONDS, SECONDS
from tests.servers.openai_request import asked
from tests.servers.reply import Call, Reply
from tests.servers.scenarios import calls, says

MARVIN = Path(sys.executable).with_name("marvin")
BEFORE = "        result -= price\n"
AFTER = "        result += price\n"
EXPLANATION = "`total` adds up **prices**."
MESSAGE = "Add prices instead of subtracting them"
_CACHE = Path(__file__).parents[2] / ".cache"


def neovim() -> Path:
    """Neovim 0.11 or newer, of the development dependencies or the system."""
    return _found("nvim", Path(sys.executable).with_name("nvim"), r"NVIM v(\d+)\.(\d+)", (0, 11))


def emacs() -> Path:
    """Emacs 29 or newer, which has Eglot: of install-emacs.sh, or the system."""
    return _found("emacs", _CACHE / "emacs" / "emacs", r"GNU Emacs (\d+)\.(\d+)", (29, 0))


def run(*command: str | Path, cwd: Path, environ: dict[str, str]) -> dict[str, Any]:
    """Run an editor's script, and give the object that it prints as its last line."""
    env = {**os.environ, **environ, "LC_ALL": "C.UTF-8"}
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, timeout=ALL_SECONDS, check=False)
    said = (done.stdout + b"\n" + done.stderr).decode(errors="replace")
    lines = [line for line in said.splitlines() if line.startswith("{")]
    assert done.returncode == 0, said
    assert lines, said
    return json.loads(lines[-1])


def run_on_terminal(*command: str | Path, cwd: Path, environ: dict[str, str], result: Path) -> dict[str, Any]:
    """As ``run``, on a terminal of 80 by 24 that nobody types at; the object is in the file ``result``."""
    keyboard, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    env = {**os.environ, **environ, "LC_ALL": "C.UTF-8", "TERM": "xterm"}
    within = ("setsid", "--ctty", "--wait", *command)
    process = subprocess.Popen(within, cwd=cwd, env=env, stdin=terminal, stdout=terminal, stderr=terminal)
    os.close(terminal)
    screen: list[bytes] = []
    drawing = threading.Thread(target=_read, args=(keyboard, screen), daemon=True)
    drawing.start()
    try:
        process.wait(ALL_SECONDS)
    finally:
        # Whoever still works on the terminal is told that it is gone.
        os.close(keyboard)
        process.kill()
        process.wait()
        drawing.join(SECONDS)
    assert result.exists(), b"".join(screen)[-3000:].decode(errors="replace")
    return json.loads(result.read_text())


def answers(body: Any, _: int) -> Reply:
    """What the model says: to Fix it changes the line, to Commit message it looks at the changes first."""
    messages = body["messages"]
    prompt = asked(body)
    has_looked = messages[-1]["role"] == "tool"
    if "Fix what is wrong" in prompt:
        patch = {"path": "shop/basket.py", "old_str": BEFORE, "new_str": AFTER}
        return says("It adds now.") if has_looked else calls(Call("apply_patch", json.dumps(patch)))
    if "git commit" in prompt:
        return says(f"{MESSAGE}\n") if has_looked else calls(Call("git_diff", "{}"))
    return says(EXPLANATION)


def _read(keyboard: int, screen: list[bytes]) -> None:
    # The end of a terminal is an error.
    with suppress(OSError):
        while chunk := os.read(keyboard, 65_536):
            screen.append(chunk)


def _found(name: str, own: Path, pattern: str, oldest: tuple[int, int]) -> Path:
    for candidate in (str(own), shutil.which(name)):
        if candidate is None or not Path(candidate).exists():
            continue
        told = subprocess.run([candidate, "--version"], capture_output=True, text=True, timeout=SECONDS, check=False)
        match = re.search(pattern, told.stdout)
        if match and (int(match[1]), int(match[2])) >= oldest:
            return Path(candidate)
    problem = f"{name} {oldest[0]}.{oldest[1]} or newer is not installed"
    if os.environ.get("CI"):
        pytest.fail(problem)
    pytest.skip(problem)
