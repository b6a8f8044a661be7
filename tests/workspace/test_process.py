"""Commands: what they print is streamed and bounded, and nothing that they started outlives them."""

import asyncio
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marvin_server.errors import ToolError
from marvin_server.workspace.descendants import Descendants, ProcessGroup, TaggedProcesses
from marvin_server.workspace.process import Completed, Processes, shell_argv
from tests.patience import SECONDS

ENVIRON = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows every process's environment in /proc")
both_ways = pytest.mark.parametrize(
    "way", [pytest.param(TaggedProcesses, marks=on_linux), ProcessGroup], ids=["tagged", "group"]
)


async def shell(
    command: str,
    cwd: Path,
    *,
    timeout: float | None = SECONDS,
    limit: int = 50_000,
    way: type[Descendants] | None = None,
) -> Completed:
    return await Processes(way).run(
        shell_argv(command, ENVIRON), cwd=cwd, environ=ENVIRON, timeout=timeout, limit=limit
    )


def alive(pid: int) -> bool:
    """Whether the process runs code: one that has given up its memory, or waits to be reaped, does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    state, *fields = stat[stat.rindex(")") + 2 :].split(" ")
    memory = fields[19]  # proc(5), vsize
    return state not in "ZX" and memory != "0"


class Live:
    """A command that prints the pids of its processes, one a line; ``started`` is set when all have been printed."""

    def __init__(self, processes: Processes, command: str, cwd: Path, count: int, timeout: float | None = None) -> None:
        self.pids: list[int] = []
        self.started = asyncio.Event()
        self._count, self._text = count, ""
        self.task = asyncio.create_task(
            processes.run(shell_argv(command, ENVIRON), cwd=cwd, environ=ENVIRON, timeout=timeout, emit=self._printed)
        )

    def _printed(self, text: str) -> None:
        self._text += text
        self.pids = [int(line) for line in self._text.split("\n")[:-1] if line.isdigit()]
        if len(self.pids) >= self._count:
            self.started.set()

    async def cancel(self) -> None:
        """Cancel once it has started, and wait until it has returned."""
        async with asyncio.timeout(SECONDS):
            await self.started.wait()
            self.task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await self.task

    def survivors(self) -> list[int]:
        return [pid for pid in self.pids if alive(pid)]


async def test_stdout_and_stderr_come_in_the_order_of_their_writing(tmp_path: Path):
    completed = await shell("echo one; echo two >&2; echo three; exit 7", tmp_path)
    assert completed == Completed(7, "one\ntwo\nthree\n", 0, timed_out=False)


async def test_output_is_streamed_while_the_command_still_runs(tmp_path: Path):
    gate = tmp_path / "gate"
    seen: list[str] = []
    os.mkfifo(gate)

    def emit(text: str) -> None:
        seen.append(text)
        if "first" in text:
            gate.open("w").close()

    completed = await Processes().run(
        shell_argv("echo first; read -r _ < gate; echo second", ENVIRON),
        cwd=tmp_path,
        environ=ENVIRON,
        timeout=SECONDS,
        emit=emit,
    )
    assert ("".join(seen), completed.output, completed.exit_code) == ("first\nsecond\n", "first\nsecond\n", 0)


async def test_a_character_is_never_split_between_two_pieces_of_output(tmp_path: Path):
    seen: list[str] = []
    text = "aé€😀" * 50_000
    (tmp_path / "text").write_text(text, encoding="utf-8")
    await Processes().run(["cat", "text"], cwd=tmp_path, environ=ENVIRON, timeout=SECONDS, emit=seen.append)
    assert "".join(seen) == text


async def test_bytes_that_are_no_utf8_become_replacement_characters(tmp_path: Path):
    assert (await shell(r"printf 'caf\351 \342\202'", tmp_path)).output == "caf� �"


async def test_the_middle_of_long_output_is_cut_and_counted(tmp_path: Path):
    completed = await shell("seq 1 100000", tmp_path, limit=1000)
    whole = "".join(f"{number}\n" for number in range(1, 100_001))
    head, tail = whole[:600].removesuffix("\n"), whole[-400:]
    assert completed.output == f"{head}\n[… {len(whole) - 1000} bytes omitted …]\n{tail}"
    assert completed.omitted_bytes == len(whole) - 1000


async def test_endless_output_needs_constant_memory_and_ends_at_the_time_out(tmp_path: Path):
    completed = await shell("yes 'a line of some length'", tmp_path, timeout=0.3)
    assert completed.timed_out
    assert completed.exit_code is None
    assert len(completed.output.encode()) < 50_100


@given(st.lists(st.text(max_size=40), max_size=30), st.integers(min_value=0, max_value=120))
def test_cut_output_is_valid_text_with_the_true_beginning_and_end(pieces: list[str], limit: int):
    from marvin_server.workspace.process import _Output  # pyright: ignore[reportPrivateUsage]

    written = "".join(pieces).encode("utf-8", "replace")

    async def kept() -> tuple[str, int]:
        output = _Output(limit, None, "replace")
        read_end, write_end = os.pipe()
        for piece in pieces:
            os.write(write_end, piece.encode("utf-8", "replace"))
        os.close(write_end)
        await output.copy(read_end)
        return output.kept()

    text, omitted = asyncio.run(kept())
    if omitted == 0:
        assert text.encode() == written
        return
    head, _, tail = text.partition(f"[… {omitted} bytes omitted …]\n")
    assert written.startswith(head.removesuffix("\n").encode())
    assert written.endswith(tail.encode())
    assert "�" not in text or "�" in "".join(pieces)
    assert len(written) - omitted in {len((head + tail).encode()), len((head.removesuffix("\n") + tail).encode())}


async def test_standard_input_is_empty(tmp_path: Path):
    empty = await Processes().run(["cat"], cwd=tmp_path, environ=ENVIRON, timeout=SECONDS)
    assert empty.output == ""


async def test_the_folder_may_be_an_open_descriptor(tmp_path: Path):
    folder = os.open(tmp_path, os.O_RDONLY)
    try:
        completed = await Processes().run(["pwd"], cwd=folder, environ=ENVIRON, timeout=SECONDS)
    finally:
        os.close(folder)
    assert completed.output == f"{tmp_path}\n"


async def test_the_environment_is_what_was_given_and_the_tag(tmp_path: Path):
    completed = await Processes().run(["env"], cwd=tmp_path, environ={"A": "b", **ENVIRON}, timeout=SECONDS)
    names = {line.partition("=")[0] for line in completed.output.splitlines()}
    assert names == {"A", "LC_ALL", "MARVIN_COMMAND", "PATH"}


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["no-such-program"], "The command cannot be started: no-such-program: No such file or directory."),
        (["echo", "a\0b"], "The command cannot be started: echo: embedded null byte."),
        (["echo", "x" * 3_000_000], "The command cannot be started: echo: Argument list too long."),
    ],
    ids=["missing program", "NUL", "too long"],
)
async def test_a_command_that_cannot_start_is_a_tool_error(argv: list[str], message: str, tmp_path: Path):
    with pytest.raises(ToolError) as raised:
        await Processes().run(argv, cwd=tmp_path, environ=ENVIRON, timeout=SECONDS)
    assert str(raised.value) == message


async def test_a_signal_that_ends_the_command_is_its_negative_exit_code(tmp_path: Path):
    assert (await shell("kill -SEGV $$", tmp_path)).exit_code == -signal.SIGSEGV


@both_ways
async def test_a_time_out_keeps_what_was_printed(way: type[Descendants], tmp_path: Path):
    completed = await shell("echo early; sleep 60; echo late", tmp_path, timeout=2, way=way)
    assert completed == Completed(None, "early\n", 0, timed_out=True)


@both_ways
async def test_background_children_do_not_keep_a_finished_command_waiting(way: type[Descendants], tmp_path: Path):
    completed = await shell("sleep 60 & echo done", tmp_path, way=way)
    assert completed.output == "done\n[1 background process was ended]\n"
    assert completed.exit_code == 0


async def test_what_a_background_child_prints_at_once_is_still_read(tmp_path: Path):
    os.mkfifo(tmp_path / "up")
    child = 'echo > up; read -r line; echo "${line/a/b}"'
    completed = await shell(f"exec > >({child}); read -r _ < up; echo banana", tmp_path)
    assert completed.output == "bbnana\n"


@both_ways
async def test_a_stopped_shell_does_not_go_on_to_its_next_command(way: type[Descendants], tmp_path: Path):
    live = Live(Processes(way), "echo $$; sleep 60; echo went on > mark", tmp_path, 1)
    await live.cancel()
    deaf = Live(Processes(way), "trap '' TERM; echo $$; sleep 60; echo went on > mark", tmp_path, 1)
    await deaf.cancel()
    assert not (tmp_path / "mark").exists()


@both_ways
async def test_a_command_is_asked_to_end_before_it_is_killed(way: type[Descendants], tmp_path: Path):
    live = Live(
        Processes(way),
        "trap 'echo asked > mark; exit' TERM; echo $$; while :; do sleep 60 & echo $!; wait; done",
        tmp_path,
        2,
    )
    await live.cancel()
    assert (live.survivors(), (tmp_path / "mark").read_text()) == ([], "asked\n")


@both_ways
async def test_a_command_that_ignores_sigterm_is_killed(way: type[Descendants], tmp_path: Path):
    live = Live(Processes(way), "trap '' TERM; echo $$; while :; do sleep 60; done", tmp_path, 1)
    await live.cancel()
    assert live.survivors() == []


@on_linux
async def test_a_second_cancel_kills_without_more_patience(tmp_path: Path):
    os.mkfifo(tmp_path / "asked")
    asked = os.open(tmp_path / "asked", os.O_RDONLY | os.O_NONBLOCK)
    live = Live(Processes(), "trap 'echo > asked' TERM; echo $$; while :; do sleep 60; done", tmp_path, 1)
    loop = asyncio.get_running_loop()

    def cancel_again() -> None:
        loop.remove_reader(asked)
        live.task.cancel()

    loop.add_reader(asked, cancel_again)
    await live.cancel()
    os.close(asked)
    assert live.survivors() == []


ESCAPES = {
    "setsid": "setsid sh -c 'echo $$; exec sleep 60' & wait",
    "double fork": "(setsid sh -c 'echo $$; exec sleep 60' >/proc/$$/fd/1 2>&1 &) ; sleep 60",
    "nohup": "nohup sh -c 'echo $$; exec sleep 60' 2>/dev/null & wait",
    "closed output": "sh -c 'echo $$; exec sleep 60 >/dev/null 2>&1' & wait",
    "cleared environment": "env -i /bin/sh -c 'echo $$; exec sleep 60' & wait",
    "cleared environment in a new session": "setsid env -i /bin/sh -c 'echo $$; exec sleep 60' & wait",
    "cleared environment, new session, no parent": "(env -i setsid sh -c 'echo $$; exec sleep 60' &); sleep 60",
    "stopped": "sh -c 'echo $$; kill -STOP $$' & wait",
    "deaf": "setsid sh -c 'trap \"\" TERM INT HUP; echo $$; while :; do sleep 60; done' & wait",
}


@on_linux
@pytest.mark.parametrize("command", ESCAPES.values(), ids=ESCAPES.keys())
async def test_no_descendant_escapes_a_cancel(command: str, tmp_path: Path):
    live = Live(Processes(), command, tmp_path, 1)
    await live.cancel()
    assert live.survivors() == []


@on_linux
async def test_a_daemon_of_a_finished_command_is_ended_too(tmp_path: Path):
    completed = await shell(
        "(setsid sh -c 'echo $$ > pid; exec sleep 60' >/dev/null 2>&1 &); until [ -s pid ]; do :; done", tmp_path
    )
    assert completed.output == "[1 background process was ended]\n"
    assert not alive(int((tmp_path / "pid").read_text()))


@on_linux
async def test_an_orphan_of_a_finished_command_is_ended_and_leaves_no_zombie(tmp_path: Path):
    children = my_children()
    script = "echo $$ > pid; mv pid pid.done; exec sleep 60"
    completed = await shell(
        f"(env -i setsid sh -c '{script}' >/dev/null 2>&1 & env -i setsid true &); until [ -e pid.done ]; do :; done",
        tmp_path,
    )
    assert completed.output == "[1 background process was ended]\n"
    assert not Path("/proc", (tmp_path / "pid.done").read_text().strip()).exists()
    assert my_children() <= children


@on_linux
async def test_children_that_marvin_started_itself_are_left_alone(tmp_path: Path):
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as before:  # noqa: ASYNC220
        live = Live(Processes(), "echo $$; sleep 60", tmp_path, 1)
        await live.started.wait()
        with subprocess.Popen(["sleep", "60"], process_group=0) as beside:  # noqa: ASYNC220
            await live.cancel()
            assert (before.poll(), beside.poll()) == (None, None)
            beside.kill()
        before.kill()


@on_linux
async def test_an_orphan_of_one_of_two_commands_is_ended_with_the_last(tmp_path: Path):
    processes = Processes()
    other = Live(processes, "(env -i setsid sh -c 'echo $$; exec sleep 60' &); sleep 60", tmp_path, 1)
    await other.started.wait()
    await processes.run(["true"], cwd=tmp_path, environ=ENVIRON, timeout=SECONDS)
    assert len(other.survivors()) == 1
    await other.cancel()
    assert other.survivors() == []


@on_linux
async def test_a_process_that_keeps_forking_away_is_caught(tmp_path: Path):
    (tmp_path / "hop").write_text("echo $$ | tee -a pids; setsid sh hop & sleep 0.005")
    live = Live(Processes(), "sh hop & sleep 60", tmp_path, 1)
    await live.cancel()
    (tmp_path / "hop").unlink()
    assert [pid for pid in (tmp_path / "pids").read_text().split() if alive(int(pid))] == []


async def test_kill_all_ends_every_live_command_without_the_event_loop(tmp_path: Path):
    processes = Processes()
    lives = [Live(processes, "trap '' TERM; echo $$; sleep 60 & echo $!; wait", tmp_path, 2) for _ in range(3)]
    async with asyncio.timeout(SECONDS):
        for live in lives:
            await live.started.wait()
        processes.kill_all()
        assert [live.survivors() for live in lives] == [[], [], []]
        assert [(await live.task).timed_out for live in lives] == [False, False, False]


async def test_an_error_of_emit_ends_the_command_and_is_raised(tmp_path: Path):
    pids: list[int] = []

    def emit(text: str) -> None:
        pids.append(int(text))
        raise LookupError

    with pytest.raises(LookupError):
        await Processes().run(
            shell_argv("echo $$; sleep 60", ENVIRON), cwd=tmp_path, environ=ENVIRON, timeout=SECONDS, emit=emit
        )
    assert [pid for pid in pids if alive(pid)] == []


MARVIN = """
import asyncio, sys
from pathlib import Path
from marvin_server.workspace.process import Processes, shell_argv
environ = {"PATH": sys.argv[2]}
command = "echo $$; setsid sh -c 'echo $$; exec sleep 60' & sleep 60 & echo $!; wait"
run = Processes().run(
    shell_argv(command, environ), cwd=Path(sys.argv[1]), environ=environ, timeout=None,
    emit=lambda text: print(text, end="", flush=True),
)
asyncio.run(run)
"""


@pytest.fixture
def marvin(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    argv = [sys.executable, "-c", MARVIN, str(tmp_path), ENVIRON["PATH"]]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]) as process:
        yield process
        process.kill()


@on_linux
def test_commands_die_when_marvin_is_killed(marvin: subprocess.Popen[str]):
    assert marvin.stdout
    pids = [int(marvin.stdout.readline()) for _ in range(3)]
    handles = [os.pidfd_open(pid) for pid in pids]
    marvin.kill()
    for handle in handles:
        ended(handle)
    assert [pid for pid in pids if alive(pid)] == []


def ended(handle: int) -> None:
    """Wait until the process of a pidfd has ended."""
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    assert poll.poll(SECONDS * 1000)
    os.close(handle)


def test_no_thread_and_no_zombie_is_left_when_the_loop_ends(tmp_path: Path):
    before, children = set(threading.enumerate()), my_children()

    async def several() -> None:
        await asyncio.gather(*(shell("sleep 60 & echo x", tmp_path) for _ in range(4)))

    asyncio.run(several())
    for thread in set(threading.enumerate()) - before:
        thread.join(SECONDS)
    assert set(threading.enumerate()) <= before
    assert my_children() <= children


def my_children() -> set[str]:
    """The pids of this process's children, zombies too."""
    lists = Path("/proc/self/task").glob("*/children")
    return {pid for children in lists for pid in children.read_text().split()}
