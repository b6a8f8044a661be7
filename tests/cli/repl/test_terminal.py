"""The installed command in a real terminal, and at the end of a pipe."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from marvin_server import paths
from marvin_server.session.store import Store
from tests.e2e.command import Marvin
from tests.nvim.terminal import Terminal
from tests.patience import SECONDS
from tests.servers.model_server import ThreadedModelServer
from tests.servers.reply import Call, Reply
from tests.servers.scenarios import calls, runs, says, status

COMMAND = Path(sys.executable).with_name("marvin")
# Says how the command has ended, and stays for the test to read it.
_SHELL = '"$@"; echo "left with $?"; exec sleep 600'


class Opened(Terminal):
    """A terminal with marvin in it."""

    def hang_up(self) -> None:
        """Close the terminal."""
        self._run("kill-session", "-t", "s")

    def terminate(self) -> None:
        """Ask the program to end, as the system does when it goes down."""
        shell = self._run("display-message", "-p", "-t", "s", "#{pane_pid}").strip()
        pid = Path(f"/proc/{shell}/task/{shell}/children").read_text().split()[0]
        os.kill(int(pid), signal.SIGTERM)

    def record(self, file: Path) -> None:
        """Write what the program sends into a file, as it is."""
        self._run("pipe-pane", "-t", "s", f"cat > {file}")
        until(file.exists)


Open = Callable[..., Opened]


@pytest.fixture
def terminal(tmp_path: Path, repository: Path, model_environ: Mapping[str, str]) -> Iterator[Open]:
    """Opens a terminal of 80 by 24 in the repository, with marvin and these arguments."""
    with ExitStack() as stack:

        def open_terminal(*arguments: str, **environ: str) -> Opened:
            folder = tmp_path / f"terminal-{len(list(tmp_path.iterdir()))}"
            folder.mkdir()
            variables = {**os.environ, **model_environ, "LC_ALL": "C.UTF-8", "COLORFGBG": "15;0", **environ}
            command = ("bash", "-c", _SHELL, "bash", COMMAND, *arguments)
            return stack.enter_context(Opened(command, repository, variables, folder, 80, 24))

        yield open_terminal


def until(happened: Callable[[], object]) -> None:
    """Wait for it."""
    deadline = time.monotonic() + SECONDS
    while not happened():
        assert time.monotonic() < deadline
        os.sched_yield()


def is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def store() -> Store:
    return Store.open(paths.find(dict(os.environ)).database("default"))


def test_a_prompt_argument_is_answered_and_the_loop_goes_on_until_quit(
    terminal: Open, model_server: ThreadedModelServer
) -> None:
    model_server.play([says("The **first** answer."), says("The second answer.")])
    opened = terminal("what is it?")
    opened.see("› what is it", "The first answer", "2 messages")
    opened.type("and now?", "Enter")
    opened.see("› and now", "The second answer", "4 messages")
    opened.type("quit", "Enter")
    opened.see("left with 0")


def test_a_command_is_asked_for_and_runs_after_a_yes(
    terminal: Open, repository: Path, model_server: ThreadedModelServer
) -> None:
    model_server.play([runs("echo 42 > answer"), says("All done.")])
    opened = terminal("run it")
    opened.see("echo 42 > answer")
    opened.rest(1.0)
    opened.type("y")
    opened.see("All done")
    assert (repository / "answer").read_text() == "42\n"


@pytest.mark.parametrize("view", ["inline", "--plain", "--curses", "--screen-reader"])
def test_a_change_is_reviewed_hunk_by_hunk_in_every_view(
    terminal: Open, repository: Path, model_server: ThreadedModelServer, view: str
) -> None:
    patch = "*** Begin Patch\n*** Update File: list\n@@\n-a\n+A\n@@\n-e\n+E\n*** End Patch"
    (repository / "list").write_text("a\nb\nc\nd\ne\n")
    model_server.play([calls(Call("apply_patch", patch)), says("All done.")])
    opened = terminal(*([] if view == "inline" else [view]))
    opened.see("test-model|>|›")
    enter = ["Enter"] if view in ("--plain", "--screen-reader") else []
    opened.type("/mode review", "Enter")
    opened.see("Mode: review")
    opened.type("change it", "Enter")
    opened.see("Keep change 1 of 2", "later")
    opened.rest(1.0)
    opened.type("l", *enter)
    opened.see("go on with /review")
    opened.type("/review", "Enter")
    opened.see("(?s)Keep change 1 of 2.*Keep change 1 of 2", "later:?\\s*(›|\\Z)")
    opened.rest(1.0)
    opened.type("t", *enter)
    opened.see("Reason:")
    opened.type("too loud", "Enter")
    opened.see("Keep change 2 of 2", "later:?\\s*(›|\\Z)")
    opened.rest(1.0)
    opened.type("k", *enter)
    opened.see("All done")
    assert (repository / "list").read_text() == "a\nb\nc\nd\nE\n"
    assert "too loud" in str(model_server.requests[1].json["messages"][-1])


def test_ctrl_c_stops_the_turn_and_twice_leaves(terminal: Open, model_server: ThreadedModelServer) -> None:
    model_server.play([says("This much ", "came.", stall_after=2)])
    opened = terminal("go")
    opened.see("This much")
    opened.type("C-c")
    opened.see(r"\[Cancelled\]")
    opened.type("C-c")
    opened.see("once more leaves")
    opened.type("C-c")
    opened.see("left with 0")
    assert "This much" in store().history(store().sessions()[0].id)[-1].text


@pytest.mark.parametrize("view", ["--plain", "--curses", "--screen-reader"])
def test_every_view_talks(terminal: Open, model_server: ThreadedModelServer, view: str) -> None:
    model_server.play([says("An answer.")])
    opened = terminal(view)
    opened.see("test-model|marvin|>|›")
    opened.type("a question", "Enter")
    opened.see("An answer")
    opened.type("!echo from $((40+2))", "Enter")
    opened.see("from 42")
    opened.type("/exit", "Enter")
    opened.see("left with 0")


def test_a_terminal_that_is_closed_loses_nothing_and_leaves_no_child(
    terminal: Open, repository: Path, model_server: ThreadedModelServer
) -> None:
    command = Call("run_command", '{"command": "echo $$ > pid; sleep 300"}')
    model_server.play([says("I will."), calls(command), says("never")])
    opened = terminal("first", "--approve", "all", "--sandbox", "off")
    opened.see("I will", "2 messages")
    opened.type("run it", "Enter")
    opened.see("sleep 300")
    opened.type("a queued one", "Enter")
    opened.see("a queued one")
    opened.type("half a thought")
    opened.see("half a thought")
    pid_file = repository / "pid"
    until(lambda: pid_file.exists() and pid_file.read_text())
    pid = int(pid_file.read_text())
    opened.hang_up()
    until(lambda: is_gone(pid))
    until(lambda: bool(store().drafts.left()))
    (record,) = store().sessions()
    assert [draft.message.text for draft in store().drafts.left(record.id)] == ["a queued one"]
    assert [message.text for message in store().history(record.id)][:2] == ["first", "I will."]
    history = paths.find(dict(os.environ)).history("default")
    until(lambda: history.read_text().endswith("half a thought\n"))
    again = terminal("--continue")
    again.see("› first", "I will", "queued and never started")


def test_a_terminal_that_is_terminated_keeps_the_line_that_is_typed(terminal: Open) -> None:
    opened = terminal()
    opened.see("›")
    opened.type("half a thought")
    opened.see("half a thought")
    opened.terminate()
    opened.see("left with 143")
    assert paths.find(dict(os.environ)).history("default").read_text().endswith("half a thought\n")


def test_enter_counts_before_there_is_a_prompt(terminal: Open, model_server: ThreadedModelServer) -> None:
    model_server.play([says("First answer."), says("Second answer.")])
    opened = terminal()
    opened.type("one", "Enter", "two", "Enter")
    opened.see("› one", "First answer", "› two", "Second answer")


def test_the_bell_rings_at_the_end_of_a_long_turn(
    terminal: Open, home: Path, tmp_path: Path, model_server: ThreadedModelServer
) -> None:
    preferences = home / "marvin" / "config" / "profiles" / "default" / "preferences.yaml"
    preferences.parent.mkdir(parents=True)
    preferences.write_text("notify_after: 0.001\n")
    model_server.play([says("Done.")])
    opened = terminal()
    opened.see("›")
    opened.record(tmp_path / "raw")
    opened.type("go", "Enter")
    opened.see("Done", "2 messages")
    until(lambda: b"\a" in (tmp_path / "raw").read_bytes())


def test_a_marvin_that_is_terminated_keeps_what_came(
    marvin: Marvin, repository: Path, model_environ: dict[str, str], model_server: ThreadedModelServer
) -> None:
    model_server.play([says("This much came.\n\nAnd ", "more.", stall_after=2)])
    running = marvin.start("--plain", "go", env=model_environ, cwd=repository)
    running.read_until("This much")
    running.send_signal(signal.SIGTERM)
    assert running.wait().exit_code == 143
    assert "This much" in store().history(store().sessions()[0].id)[-1].text


def test_a_session_is_gone_on_with(
    terminal: Open, marvin: Marvin, repository: Path, model_environ: dict[str, str]
) -> None:
    done = marvin("--non-interactive", "--prompt", "remember me", env=model_environ, cwd=repository)
    assert done.exit_code == 0
    opened = terminal("--continue")
    opened.see("› remember me", "2 messages")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("--provider", "nobody"), 2, "nobody"),
        (("--resume", "00000000"), 1, "there is no session"),
        (("--plain", "--curses"), 2, "two views"),
        (("--continue",), 1, "no session in"),
        (("--nope",), 2, "--nope"),
    ],
)
def test_what_cannot_begin_is_said_with_an_exit_code(
    marvin: Marvin, repository: Path, arguments: tuple[str, ...], code: int, said: str
) -> None:
    done = marvin(*arguments, cwd=repository)
    assert (done.exit_code, said in done.stderr) == (code, True), done.stderr


def test_lines_of_a_pipe_are_prompts_and_commands_in_their_order(
    marvin: Marvin, repository: Path, model_environ: dict[str, str], model_server: ThreadedModelServer
) -> None:
    model_server.play([says("One."), says("Two.")])
    done = marvin(stdin="first\n/usage\n!echo three\nsecond\n", env=model_environ, cwd=repository)
    assert done.exit_code == 0
    places = [done.stdout.index(text) for text in ("One.", "Total: 1 request", "three", "Two.")]
    assert places == sorted(places)
    assert "\x1b" not in done.stdout


@pytest.mark.parametrize("closed", ["<&-", ">&-", "<&- >&- 2>&-"])
def test_streams_that_are_closed_are_empty(repository: Path, model_environ: dict[str, str], closed: str) -> None:
    done = subprocess.run(
        ["bash", "-c", f'"$0" {closed}', COMMAND],
        input="/usage\n",
        capture_output=True,
        text=True,
        timeout=SECONDS,
        env={**os.environ, **model_environ},
        cwd=repository,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(("second", "code"), [(status(400), 1), (says("Fine."), 0)])
def test_a_pipe_whose_prompts_all_fail_has_failed(
    marvin: Marvin,
    repository: Path,
    model_environ: dict[str, str],
    model_server: ThreadedModelServer,
    second: Reply,
    code: int,
) -> None:
    model_server.play([status(400), second])
    assert marvin(stdin="first\nsecond\n", env=model_environ, cwd=repository).exit_code == code


@pytest.mark.parametrize("view", ["--plain", "--curses", "--screen-reader"])
def test_a_terminal_in_the_c_locale_gets_ascii(
    terminal: Open, tmp_path: Path, model_server: ThreadedModelServer, view: str
) -> None:
    model_server.play([says("Fünf.")])
    opened = terminal(view, LC_ALL="C")
    opened.see("marvin|>")
    opened.record(tmp_path / "raw")
    opened.type("go", "Enter")
    opened.see("F.?nf")
    until(lambda: b"nf." in (tmp_path / "raw").read_bytes())
    assert (tmp_path / "raw").read_bytes().isascii()


def test_the_offline_provider_answers_without_a_network(marvin: Marvin, repository: Path) -> None:
    done = marvin("--provider", "offline", stdin="where is total defined?\n", cwd=repository)
    assert "shop/basket.py:4" in done.stdout


def test_the_profile_of_an_earlier_assistant_is_taken_over_at_the_first_start(
    marvin: Marvin, home: Path, repository: Path
) -> None:
    earlier = home / ".config" / "local-finder" / "profiles" / "main"
    earlier.mkdir(parents=True)
    (earlier.parents[1] / "last_profile").write_text("main")
    (earlier / "chat_log.json").write_text(json.dumps([{"role": "you", "text": "an old question", "time": "2026"}]))
    (earlier.parents[1] / "usage.json").write_text('{"turns": {"opus": 7}, "cost": {"opus": 2.5}, "total_cost": 2.5}')
    (earlier / "saved_places.json").write_text('[{"label":"home","name":"H","address":"A","lat":1,"lng":2}]')
    first = marvin("--provider", "offline", stdin="saved\n/sessions old question\n", cwd=repository)
    assert "the profile main" in first.stdout + first.stderr
    assert "home" in first.stdout
    assert "Chat log of local-finder" in first.stdout
    (record,) = Store.open(paths.find(dict(os.environ)).database("main")).sessions(query="old question")
    resumed = marvin("--provider", "offline", "--resume", record.id, stdin="hello\n", cwd=repository)
    assert (resumed.exit_code, "an old question" in resumed.stdout) == (0, True), resumed.stderr
    assert "local-finder/opus  7" in marvin("usage", "--profile", "main").stdout
    again = marvin("--provider", "offline", stdin="/profiles\n", cwd=repository)
    assert "taken over" not in again.stdout + again.stderr
    assert "* main" in again.stdout


def test_a_broken_preferences_file_is_kept_aside_and_said(marvin: Marvin, home: Path, repository: Path) -> None:
    folder = home / "marvin" / "config" / "profiles" / "default"
    folder.mkdir(parents=True)
    (folder / "preferences.yaml").write_text("a: [")
    done = marvin("--provider", "offline", stdin="saved\n", cwd=repository)
    assert "no preference holds" in done.stdout + done.stderr
    assert done.exit_code == 0
    (kept,) = folder.glob("preferences.yaml.broken-*")
    assert kept.read_text() == "a: ["
