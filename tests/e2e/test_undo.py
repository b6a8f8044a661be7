"""``marvin undo`` and ``marvin redo`` after real runs."""

import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.command import Completed, Marvin
from tests.patience import SECONDS
from tests.servers.model_server import ThreadedModelServer
from tests.servers.reply import Call, Reply
from tests.servers.scenarios import calls, says


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "a.txt").write_text("one\ntwo\nthree\n")
    return folder


class Runs:
    """Plays one turn of the model in ``work`` and runs the subcommands there."""

    def __init__(self, marvin: Marvin, server: ThreadedModelServer, environ: dict[str, str], work: Path) -> None:
        self.marvin, self.server, self.environ, self.work = marvin, server, environ, work

    def turn(self, *wanted: Call, words: tuple[str, ...] = ()) -> Completed:
        replies: list[Reply] = [calls(*wanted), says("Done.")]
        self.server.play(replies)
        arguments = ("--non-interactive", "--prompt", "Go", *words)
        return self.marvin(*arguments, env=self.environ, cwd=self.work)

    def __call__(self, *words: str) -> tuple[int, list[str], str]:
        done = self.marvin(*words, cwd=self.work)
        return done.exit_code, done.stdout.splitlines(), done.stderr


@pytest.fixture
def runs(marvin: Marvin, model_server: ThreadedModelServer, model_environ: dict[str, str], work: Path) -> Runs:
    return Runs(marvin, model_server, model_environ, work)


def command(text: str) -> Call:
    return Call("run_command", json.dumps({"command": text}))


def patch(old: str, new: str) -> Call:
    return Call("apply_patch", json.dumps({"path": "a.txt", "old_str": old, "new_str": new}))


def test_undo_previews_takes_back_and_redo_brings_back(runs: Runs, work: Path) -> None:
    runs.turn(patch("two", "2"), command("echo new > new.txt"))
    diff = [
        *("--- a/a.txt", "+++ b/a.txt", "@@ -1,3 +1,3 @@", " one", "-2", "+two", " three"),
        *("diff --git a/new.txt b/new.txt", "deleted file mode 100644", "--- a/new.txt", "+++ /dev/null"),
        *("@@ -1,1 +0,0 @@", "-new"),
    ]
    preview = [*diff, "Would be taken back: new.txt", "Would be taken back: a.txt"]
    assert runs("undo", "--preview") == (0, preview, "")
    assert (work / "new.txt").exists()
    assert runs("undo") == (0, ["Taken back: new.txt", "Taken back: a.txt"], "")
    assert ((work / "a.txt").read_text(), (work / "new.txt").exists()) == ("one\ntwo\nthree\n", False)
    code, lines, error = runs("undo")
    assert (code, lines) == (1, [])
    assert "there is nothing to undo" in error
    assert runs("redo") == (0, ["Brought back: a.txt", "Brought back: new.txt"], "")
    assert ((work / "a.txt").read_text(), (work / "new.txt").read_text()) == ("one\n2\nthree\n", "new\n")


def test_on_a_terminal_a_preview_hides_nothing(runs: Runs, work: Path) -> None:
    runs.turn(patch("two", "👨\u200d👩"))
    leader, follower = pty.openpty()
    words = [Path(sys.executable).with_name("marvin"), "undo", "--preview"]
    done = subprocess.run(words, cwd=work, stdout=follower, timeout=SECONDS, check=False)
    os.close(follower)
    assert done.returncode == 0
    assert "-👨⟨U+200D⟩👩" in os.read(leader, 4000).decode()
    os.close(leader)


def test_a_conflict_is_shown_with_its_place_and_ends_with_1(runs: Runs, work: Path) -> None:
    runs.turn(patch("two", "2"))
    (work / "a.txt").write_text("one\nzwei\nthree\n")
    assert runs("undo") == (
        1,
        ["Left alone: a.txt: the same lines were changed since (line 2)", "  line 2:", "    now  zwei", "    then two"],
        "",
    )
    code, lines, _ = runs("undo", "--json")
    taken = json.loads("\n".join(lines))
    assert (code, taken["applied"], taken["failed"]) == (
        1,
        [],
        [
            {
                "path": "a.txt",
                "reason": "the same lines were changed since (line 2)",
                "conflicts": [{"line": 2, "ours": ["zwei\n"], "theirs": ["two\n"]}],
            }
        ],
    )


def test_turns_of_different_sessions_in_a_folder_are_undone_from_the_newest_on(runs: Runs, work: Path) -> None:
    runs.turn(patch("two", "2"))
    runs.turn(patch("2", "zwei"))
    assert runs("undo")[0] == runs("undo")[0] == 0
    assert (work / "a.txt").read_text() == "one\ntwo\nthree\n"
    assert runs("redo")[0] == 0
    assert (work / "a.txt").read_text() == "one\n2\nthree\n"


def test_a_session_and_a_turn_can_be_named(runs: Runs, work: Path) -> None:
    first = runs.turn(patch("one", "1"), words=("--output", "stream-json")).stdout
    runs.turn(patch("three", "3"))
    started = next(json.loads(line) for line in first.splitlines() if "turn.started" in line)
    assert runs("undo", "--session", started["sessionId"], "--turn", started["turnId"])[0] == 0
    assert (work / "a.txt").read_text() == "one\ntwo\n3\n"


def test_the_next_run_tells_the_model(runs: Runs, model_server: ThreadedModelServer) -> None:
    runs.turn(patch("two", "2"))
    runs("undo")
    model_server.play([says("I see.")])
    runs.marvin("--non-interactive", "--continue", "--prompt", "And?", env=runs.environ, cwd=runs.work)
    assert "the person took back your changes of an earlier turn, in a.txt" in str(model_server.requests[-1].json)


def test_a_run_that_was_killed_in_a_command_can_be_undone(runs: Runs, work: Path) -> None:
    runs.server.play([calls(command("echo 2 > a.txt; touch begun; exec cat /dev/zero > /dev/null"))])
    words = ("--non-interactive", "--prompt", "Go", "--sandbox", "off", "--output", "stream-json")
    running = runs.marvin.start(*words, env=runs.environ, cwd=work)
    running.read_until("tool.started")
    while not (work / "begun").exists():
        os.sched_yield()
    running.send_signal(signal.SIGKILL)
    running.wait()
    code, lines, error = runs("undo")
    assert (code, error) == (0, "")
    assert lines == [
        "Taken back: begun",
        "Taken back: a.txt",
        "Note: Marvin was stopped while a command ran: all that has changed since counts as the command's",
    ]
    assert {path.name: path.read_text() for path in work.iterdir()} == {"a.txt": "one\ntwo\nthree\n"}


def test_where_checkpoints_cannot_be_kept_the_turn_goes_on_and_says_so(runs: Runs, work: Path, home: Path) -> None:
    disk = home / "marvin" / "state" / "checkpoints"
    disk.mkdir(parents=True)
    mounting = ("mount", "-t", "tmpfs", "-o", "size=16k", "none", disk)
    is_mounted = subprocess.run(mounting, capture_output=True, check=False).returncode == 0
    if not is_mounted:
        # Where mounting is not allowed, a file in place of the folder keeps everything out.
        disk.rmdir()
        disk.write_text("")
    try:
        done = runs.turn(patch("two", "2"), command("echo new > new.txt"))
    finally:
        if is_mounted:
            subprocess.run(["umount", disk], check=True)
    assert (done.exit_code, done.stdout.endswith("Done.\n")) == (0, True)
    assert ((work / "a.txt").read_text(), (work / "new.txt").read_text()) == ("one\n2\nthree\n", "new\n")
    why = "No space left on device" if is_mounted else "Not a directory"
    told = [line for line in done.stderr.splitlines() if "cannot be undone: " in line]
    assert told
    assert all(why in line or "git could not keep the files: " in line for line in told)
