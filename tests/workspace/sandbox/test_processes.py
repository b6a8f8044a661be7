"""A command in the sandbox neither reaches other processes, nor leaves any of its own, nor gets a terminal's ear."""

import asyncio
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest

from marvin_server.workspace.process import Completed, Processes
from tests.patience import SECONDS
from tests.processes import processes_with
from tests.workspace.sandbox.place import CHECKOUT, SECRET, Place

STAYS = f"61.{os.getpid()}"  # seconds that no other process on this machine sleeps


@pytest.fixture
def bystander() -> Iterator[subprocess.Popen[bytes]]:
    """A process of the person's own, with a secret in its environment."""
    with subprocess.Popen(["sleep", "60"], env={"PATH": os.environ["PATH"], "KEY": SECRET}) as process:
        yield process
        process.kill()


def left() -> list[int]:
    """The pids of what these tests have started and what still runs."""
    return processes_with(STAYS)


async def test_no_environment_of_another_process_is_read(place: Place, bystander: subprocess.Popen[bytes]) -> None:
    done = await place.run(f"cat /proc/{bystander.pid}/environ /proc/[0-9]*/environ /proc/$PPID/environ | strings")
    assert SECRET not in done.output


async def test_no_other_process_is_signalled_or_traced(
    place: Place, bystander: subprocess.Popen[bytes], python: str
) -> None:
    attach = f"import ctypes; print('traced', ctypes.CDLL(None).ptrace(16, {bystander.pid}, 0, 0))"
    done = await place.run(f'kill -9 {bystander.pid}; kill -9 {os.getpid()}; {python} -c "{attach}"')
    assert "traced -1" in done.output
    assert bystander.poll() is None


ESCAPES = {
    "in the background": f"sleep {STAYS} & echo done",
    "in a session of its own": f"setsid sleep {STAYS} >/dev/null 2>&1 & sleep 0.05; echo done",
    "twice forked": f"(setsid sleep {STAYS} >/dev/null 2>&1 &); sleep 0.05; echo done",
    "without an environment": f"(env -i setsid /bin/sleep {STAYS} >/dev/null 2>&1 &); sleep 0.05; echo done",
    "deaf": f"setsid sh -c 'trap \"\" TERM HUP; sleep {STAYS}; sleep {STAYS}' >/dev/null 2>&1 & sleep 0.05; echo done",
}


@pytest.mark.parametrize("command", ESCAPES.values(), ids=ESCAPES.keys())
async def test_nothing_outlives_a_finished_command_and_that_is_told(command: str, place: Place) -> None:
    done = await place.run(command)
    lines = done.output.split()
    assert lines[0] == "done"
    assert "ended]" in lines
    assert left() == []


@pytest.mark.parametrize("command", ESCAPES.values(), ids=ESCAPES.keys())
async def test_nothing_outlives_a_time_out(command: str, place: Place) -> None:
    done = await place.run(f"{command}; sleep {STAYS}", timeout=0.5)
    assert (done.exit_code, done.timed_out) == (None, True)
    assert left() == []


async def test_nothing_outlives_a_cancel_and_the_command_was_asked_to_end(place: Place) -> None:
    command = f"trap 'echo asked > asked; exit' TERM; echo up; while :; do sleep {STAYS} & wait; done"
    running = await place.start(Processes(), command)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert ((place.work / "asked").read_text(), left()) == ("asked\n", [])


async def test_kill_all_ends_a_sandboxed_command_at_once(place: Place) -> None:
    processes = Processes()
    command = f"trap '' TERM; setsid sleep {STAYS} & echo up; sleep {STAYS}"
    running = await place.start(processes, command)
    processes.kill_all()
    assert left() == []
    await asyncio.wait_for(running, SECONDS)


async def test_processes_that_multiply_end_with_the_time_out(place: Place) -> None:
    bomb = f'grow() {{ [ "$1" = 0 ] || {{ grow $(($1 - 1)) & grow $(($1 - 1)) & }}; sleep {STAYS}; }}; grow 6'
    started = time.monotonic()
    done = await place.run(bomb, timeout=1)
    assert done.timed_out
    assert time.monotonic() - started < 15
    assert left() == []


async def test_a_terminal_is_neither_typed_into_nor_written_to(place: Place, python: str) -> None:
    leader, follower = pty.openpty()
    name = os.ttyname(follower)
    type_in = f"import fcntl, os, termios; fcntl.ioctl(os.open('{name}', os.O_RDWR), termios.TIOCSTI, b'x')"
    await place.run(f'echo evil > {name}; {python} -c "{type_in}"; setsid -c {python} -c "{type_in}"')
    readable, _, _ = select.select([leader, follower], [], [], 0)
    os.close(leader)
    os.close(follower)
    assert readable == []


@pytest.mark.parametrize(
    ("command", "exit_code"),
    [
        ("exit 3", 3),
        ("exit 129", 129),
        ("exit 255", 255),
        ("true", 0),
        ("kill -SEGV $$", -signal.SIGSEGV),
        ("kill -KILL $$", -signal.SIGKILL),
        ("no-such-program", 127),
        ("./source.py", 126),
    ],
)
async def test_the_exit_code_is_the_commands_own(command: str, exit_code: int, place: Place) -> None:
    assert (await place.run(command)).exit_code == exit_code


async def test_output_comes_in_order_and_a_background_child_may_finish_its_line(place: Place) -> None:
    done = await place.run('exec > >(while read -r line; do echo "${line/a/b}"; done); echo banana; echo err >&2')
    assert sorted(done.output.splitlines()) == ["bbnana", "err"]
    assert await place.run("echo one; echo two >&2; echo three") == Completed(
        0, "one\ntwo\nthree\n", 0, timed_out=False
    )


async def test_much_output_needs_little_memory(place: Place) -> None:
    done = await place.run("head -c 200000000 /dev/zero | tr '\\0' x", limit=1000)
    assert (done.exit_code, done.omitted_bytes) == (0, 200_000_000 - 1000)


async def test_standard_input_is_empty_and_no_descriptor_is_passed_on(place: Place) -> None:
    done = await place.run("cat; for fd in /proc/$$/fd/*; do echo ${fd##*/}; done")
    assert [int(line) for line in done.output.split() if int(line) not in {0, 1, 2, 255, 3}] == []


MARVIN = """
import asyncio, sys
from pathlib import Path
from marvin_server.workspace.process import Processes, shell_argv
from marvin_server.workspace.sandbox_session import Access, SessionSandbox
work, path, backends, stays = sys.argv[1:]
sandbox = SessionSandbox(Access(lambda: Path(work)), {"PATH": backends}, Path(work).with_name("cache"), required=True)
command = f"setsid sh -c 'trap : TERM; echo up; sleep {stays}; sleep {stays}' & sleep {stays}"
argv, environ = shell_argv(command, {"PATH": path}), {"PATH": path}
emit = lambda text: print(text, end="", flush=True)
asyncio.run(Processes().run(argv, cwd=Path(work), environ=environ, timeout=None, emit=emit, sandbox=sandbox))
"""


def test_nothing_outlives_a_killed_marvin(place: Place) -> None:
    argv = [sys.executable, "-c", MARVIN, str(place.work), os.environ["PATH"], place.backends, STAYS]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, cwd=CHECKOUT) as marvin:
        assert marvin.stdout
        assert marvin.stdout.readline() == "up\n"
        assert len(left()) >= 3
        marvin.kill()
    while running := left():
        for pid in running:
            ended(pid)


def ended(pid: int) -> None:
    """Wait until a process has ended, 5 seconds at most."""
    with suppress(ProcessLookupError):
        handle = os.pidfd_open(pid)
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        assert poll.poll(SECONDS * 1000)
        os.close(handle)
