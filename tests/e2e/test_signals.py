"""Signals, and a standard output that takes nothing more."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.e2e.command import Marvin
from tests.e2e.oneshot import ASK, COST_FREE, lines
from tests.patience import SECONDS
from tests.processes import processes_with
from tests.servers.model_server import ThreadedModelServer
from tests.servers.reply import Delivery, Reply, Said
from tests.servers.scenarios import runs, says


def wait_for_read(pid: int) -> None:
    """Wait until the process sleeps in a read of its standard input."""
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        syscall = Path(f"/proc/{pid}/syscall").read_text().split()
        if syscall[:2] == ["0", "0x0"]:
            return
    raise AssertionError("the command does not read its standard input")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_cancels_keeps_the_text_and_is_exit_130(
    marvin: Marvin, model_server: ThreadedModelServer, model_environ: dict[str, str], number: signal.Signals
) -> None:
    model_server.play([Reply(Said(("Once upon ", "a time")), delivery=Delivery(stall_after=2))])
    running = marvin.start(*ASK, env=model_environ)
    running.read_until("Once upon")
    running.send_signal(number)
    done = running.wait()
    assert (done.exit_code, done.cost is not None) == (130, True)
    model_server.wait_for_disconnect()
    assert "Once upon" in marvin("sessions", "search", "upon").stdout


def test_a_signal_while_a_command_runs_ends_the_whole_tree(
    marvin: Marvin, model_server: ThreadedModelServer, model_environ: dict[str, str]
) -> None:
    stays = f"300.{os.getpid()}"  # seconds that no other process on this machine sleeps
    command = f"(setsid sleep {stays} &); echo started; sleep {stays}"
    model_server.play([runs(command), says("never")])
    running = marvin.start(*ASK, "--output", "stream-json", env=model_environ)
    running.read_until("started\\n")
    running.send_signal(signal.SIGTERM)
    assert running.wait().exit_code == 130
    assert processes_with(stays) == []


def test_a_signal_before_anything_was_asked_ends_with_the_cost(marvin: Marvin) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        running = marvin.start("--non-interactive", "--verbose")
        running.write("half a prompt")
        wait_for_read(running.pid)
        running.send_signal(number)
        done = running.wait()
        assert (done.exit_code, done.cost, done.stdout) == (130, COST_FREE, "")


def test_a_closed_standard_output_ends_quietly_with_141(
    marvin: Marvin, model_server: ThreadedModelServer, model_environ: dict[str, str]
) -> None:
    model_server.play("paced-deltas")
    running = marvin.start(*ASK, env=model_environ)
    model_server.wait_for_request()
    running.close_stdout()
    done = running.wait()
    assert (done.exit_code, lines(done.stderr), done.cost is not None) == (141, [], True)


def test_a_full_disk_behind_standard_output_is_said(
    model_server: ThreadedModelServer, model_environ: dict[str, str]
) -> None:
    command = Path(sys.executable).with_name("marvin")
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [command, *ASK],
            env={**os.environ, **model_environ},
            stdin=subprocess.DEVNULL,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    assert done.returncode == 1
    assert "marvin: standard output: No space left on device" in done.stderr
    assert done.stderr.splitlines()[-1].startswith("MARVIN_COST:")


def test_a_reader_that_does_not_read_does_not_keep_the_command_from_ending(
    marvin: Marvin, model_server: ThreadedModelServer, model_environ: dict[str, str]
) -> None:
    model_server.play([Reply(Said(("x" * 300_000,)), delivery=Delivery(stall_after=3))])
    command = [Path(sys.executable).with_name("marvin"), *ASK]
    environ = {**os.environ, **model_environ}
    with subprocess.Popen(
        command, env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        model_server.wait_for_request()
        assert process.stdout is not None
        assert process.stdout.read(1) == b"x"
        process.send_signal(signal.SIGTERM)
        assert process.wait(SECONDS) == 130
        assert process.stderr is not None
        assert process.stderr.read().splitlines()[-1].startswith(b"MARVIN_COST:")
