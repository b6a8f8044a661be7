"""Thoughts on standard error, for whoever says --verbose."""

import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.command import Marvin
from tests.e2e.oneshot import ASK, lines
from tests.patience import SECONDS
from tests.servers.model_server import ThreadedModelServer
from tests.servers.reply import Call, Delivery, Reply, Said, Thought
from tests.servers.scenarios import says

ROUNDS = [Reply(Said((Thought("I look it up.\nThere:"), "Well. ", Call("tree", "{}")))), says("Done.")]


@pytest.mark.parametrize(("form", "printed"), [("text", "Well. \n  🔧 tree\nDone.\n"), ("final", "Done.\n")])
def test_thoughts_are_shown_with_verbose_and_never_on_standard_output(
    ask: Any, model_server: ThreadedModelServer, form: str, printed: str
) -> None:
    model_server.play(ROUNDS)
    done = ask("--verbose", "--output", form)
    assert (done.stdout, lines(done.stderr)) == (printed, ["💭 I look it up.", "   There:"])


@pytest.mark.parametrize("words", [["--output", "text"], ["--output", "final"], ["--verbose", "--output", "json"]])
def test_otherwise_nobody_is_bothered_with_them(ask: Any, model_server: ThreadedModelServer, words: list[str]) -> None:
    model_server.play(ROUNDS)
    assert lines(ask(*words).stderr) == []


def test_thoughts_are_shown_before_the_answer_has_come(
    marvin: Marvin, model_server: ThreadedModelServer, model_environ: dict[str, str]
) -> None:
    said = Said((Thought("First.\n"), Thought("Sec"), "Yes", " or no"))
    model_server.play([Reply(said, delivery=Delivery(stall_after=4))])
    running = marvin.start(*ASK, "--verbose", env=model_environ)
    running.read_until("Yes")
    assert running.stderr.splitlines()[-2:] == ["💭 First.", "   Sec"]


def test_on_a_terminal_they_are_dim_and_on_lines_of_their_own(
    model_server: ThreadedModelServer, model_environ: dict[str, str]
) -> None:
    model_server.play([Reply(Said((Thought("Hm\x07"), "It is", Thought("sure?"), " so.")))])
    leader, follower = pty.openpty()
    command = [Path(sys.executable).with_name("marvin"), *ASK, "--verbose"]
    environ = {**os.environ, **model_environ, "TERM": "xterm"}
    process = subprocess.Popen(command, env=environ, stdin=subprocess.DEVNULL, stdout=follower, stderr=follower)
    assert process.wait(SECONDS) == 0
    os.close(follower)
    screen = os.read(leader, 4000).decode().replace("\r\n", "\n").split("\n")
    os.close(leader)
    first = next(number for number, line in enumerate(screen) if "Hm" in line)
    assert screen[first : first + 4] == [
        "\x1b[2m💭 Hm␇\x1b[0m",
        "It is",
        "\x1b[2m💭 sure?\x1b[0m",
        " so.",
    ]
