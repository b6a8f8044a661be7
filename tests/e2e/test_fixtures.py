"""What the suites stand on: the home, the guard against the network, the repository and the command."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.command import Completed, Marvin, Running


def test_home_is_empty_and_is_the_childrens_home_too(home: Path) -> None:
    shown = subprocess.run(
        [sys.executable, "-c", "import pathlib; print(pathlib.Path.home())"], capture_output=True, text=True, check=True
    )
    assert (shown.stdout.strip(), list(home.iterdir())) == (str(home), [])
    assert not [name for name in os.environ if name.upper().endswith(("_API_KEY", "_PROXY"))]


@pytest.mark.parametrize("address", [("192.0.2.1", 9), ("2001:db8::1", 9)])
def test_only_loopback_can_be_reached(address: tuple[str, int]) -> None:
    family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
    with socket.socket(family) as client, pytest.raises(RuntimeError, match="only connect to loopback"):
        client.connect(address)


def test_the_repositorys_test_passes_once_the_bug_is_fixed(repository: Path) -> None:
    command = [sys.executable, "-m", "unittest", "--quiet"]
    before = subprocess.run(command, cwd=repository, capture_output=True, check=False).returncode
    basket = repository / "shop/basket.py"
    basket.write_text(basket.read_text().replace("result -= price", "result += price"))
    after = subprocess.run(command, cwd=repository, capture_output=True, check=False).returncode
    status = subprocess.run(["git", "status", "--short"], cwd=repository, capture_output=True, text=True, check=True)
    assert (before, after, status.stdout) == (1, 0, " M shop/basket.py\n")


def test_the_cost_is_what_the_last_line_on_stderr_says() -> None:
    line = 'MARVIN_COST:{"session_cost": 0.5}'
    assert Completed(0, "", f"a note\n{line}\n").cost == {"session_cost": 0.5}
    assert Completed(0, "", f"{line}\na late note\n").cost is None
    assert Completed(0, line, "").cost is None


@pytest.fixture
def echo(tmp_path: Path) -> Iterator[Running]:
    """A program that says what it hears, and leaves with 7 on SIGUSR1."""
    program = (
        "import signal, sys; signal.signal(signal.SIGUSR1, lambda *_: sys.exit(7)); print('ready', flush=True)\n"
        "for line in sys.stdin: print('heard', line, end='', flush=True)\n"
        "print('bye', file=sys.stderr)"
    )
    stderr = (tmp_path / "stderr").open("w+b")
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", program]
    running = Running(subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=stderr, start_new_session=True), stderr)
    yield running
    running.close()


def test_a_running_command_is_read_written_and_waited_for(echo: Running) -> None:
    assert echo.read_until("ready\n") == "ready\n"
    echo.write("né\n")
    assert echo.read_until("né") == "ready\nheard né\n"
    assert echo.wait() == Completed(0, "ready\nheard né\n", "bye\n")


def test_a_running_command_gets_signals(echo: Running) -> None:
    echo.read_until("ready\n")
    echo.send_signal(signal.SIGUSR1)
    assert echo.wait() == Completed(7, "ready\n", "")


def test_what_never_comes_is_a_failure_that_shows_what_came(echo: Running) -> None:
    echo.read_until("ready\n")
    with pytest.raises(AssertionError, match=r"'more' did not come; stdout: 'ready\\n'"):
        echo.read_until("more", timeout=0.01)


def test_the_installed_command_runs(marvin: Marvin) -> None:
    ran = marvin("--version")
    assert (ran.exit_code, ran.stdout.startswith("marvin "), ran.stderr) == (0, True, "")
