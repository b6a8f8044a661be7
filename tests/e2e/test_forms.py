"""The four forms of output, byte by byte."""

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.command import Marvin
from tests.e2e.oneshot import ASK, GREETING, lines
from tests.patience import SECONDS
from tests.servers.model_server import ThreadedModelServer
from tests.servers.reply import Call, Delivery, Reply, Said, Tokens
from tests.servers.scenarios import calls, says


def test_an_answer_is_streamed_and_ends_with_one_newline(ask: Any) -> None:
    done = ask()
    assert (done.exit_code, done.stdout, lines(done.stderr)) == (0, f"{GREETING}\n", [])
    assert done.cost == {
        "session_cost": 0.0,
        "llm_turns": 1,
        "model_turns": {"test-model": 1},
        "model_cost": {"test-model": None},
        "unpriced": ["test-model"],
    }


@pytest.mark.parametrize(
    ("parts", "printed"),
    [
        (("a\n", "\nb\n", "\n"), "a\n\nb\n"),
        (("\n\na",), "\n\na\n"),
        (("a\r\n", "b"), "a\r\nb\n"),
        (("\x1b[31mred",), "\x1b[31mred\n"),
        (("a", " ", "\n", "b  \n"), "a \nb  \n"),
    ],
)
def test_piped_text_is_what_the_model_wrote(
    ask: Any, model_server: ThreadedModelServer, parts: tuple[str, ...], printed: str
) -> None:
    model_server.play([says(*parts)])
    assert ask().stdout == printed


def test_a_marker_on_a_line_of_its_own_comes_before_each_round_of_tool_calls(
    ask: Any, model_server: ThreadedModelServer, repository: Path
) -> None:
    read = Call("read_file", '{"path": "README.md"}')
    model_server.play(
        [
            Reply(Said(("I look", read, Call("tree", "{}", id="call_2")))),
            Reply(Said(("Again\n\n", read))),
            calls(read),
            says("Done."),
        ]
    )
    done = ask("--working-dir", repository)
    assert done.stdout == ("I look\n  🔧 read_file, tree\nAgain\n\n  🔧 read_file\n  🔧 read_file\nDone.\n")


@pytest.mark.parametrize(
    ("form", "printed"), [("final", "Done.\n"), ("text", "First.\n  🔧 git_status\nDone.\n")], ids=["final", "text"]
)
def test_final_prints_only_the_last_answer(
    ask: Any, model_server: ThreadedModelServer, repository: Path, form: str, printed: str
) -> None:
    model_server.play([Reply(Said(("First.", Call("git_status", "{}")))), says("Done.")])
    assert ask("--output", form, "--working-dir", repository).stdout == printed


def test_json_is_one_object_at_the_end(ask: Any, model_server: ThreadedModelServer, repository: Path) -> None:
    model_server.play([calls(Call("git_status", "{}")), Reply(Said(("Done.",), tokens=Tokens(100, 7, 40)))])
    done = ask("--output", "json", "--working-dir", repository)
    report = json.loads(done.stdout)
    duration = report["toolCalls"][0].pop("durationMs")
    assert duration >= 0
    session = report.pop("sessionId")
    assert re.fullmatch(r"[0-9a-f]{26}", session)
    assert report == {
        "answer": "Done.",
        "stop": "completed",
        "usage": {"input": 112, "output": 12, "cacheRead": 40, "cacheWrite": 0},
        "toolCalls": [{"id": "call_1", "name": "git_status", "status": "ok"}],
        "error": None,
    }


def test_json_is_printed_on_errors_too(ask: Any, model_server: ThreadedModelServer) -> None:
    model_server.play("status-401")
    failed = ask("--output", "json")
    assert (failed.exit_code, json.loads(failed.stdout)["error"]["kind"]) == (1, "Auth")
    wrong = ask("--output", "json", "--provider", "nobody")
    assert (wrong.exit_code, json.loads(wrong.stdout)["error"]["kind"]) == (2, "UsageError")


def test_stream_json_prints_the_dialects_events_one_a_line(ask: Any, model_server: ThreadedModelServer) -> None:
    model_server.play("thoughts")
    events = [json.loads(line) for line in ask("--output", "stream-json").stdout.splitlines()]
    assert [event["type"] for event in events] == [
        "turn.started",
        "message.finished",
        "round.started",
        "thought.delta",
        "thought.delta",
        "thought.finished",
        *["message.delta"] * 3,
        "message.finished",
        "usage",
        "turn.finished",
    ]
    assert events[-1]["stopReason"] == "completed"


def test_each_delta_is_printed_when_it_arrives(
    marvin: Marvin, model_server: ThreadedModelServer, model_environ: dict[str, str]
) -> None:
    model_server.play([Reply(Said(("one ", "two ", "three")), delivery=Delivery(gated=True))])
    running = marvin.start(*ASK, env=model_environ)
    model_server.wait_for_request()
    for word in ("one", "two", "three"):
        model_server.release(2 if word == "one" else 1)
        running.read_until(word)
    model_server.release(10)
    assert running.wait().stdout == "one two three\n"


@pytest.mark.parametrize("form", ["json", "stream-json"])
def test_a_wrong_option_is_told_in_the_form_that_was_asked_for(marvin: Marvin, form: str) -> None:
    done = marvin("--non-interactive", "--output", form, "--bogus")
    assert done.exit_code == 2
    assert json.loads(done.stdout)["error"]["kind"] == "UsageError"


def test_a_ten_megabyte_line_is_printed_whole(ask: Any, model_server: ThreadedModelServer) -> None:
    model_server.play("10-megabytes-in-one-line")
    done = ask()
    assert (done.exit_code, len(done.stdout)) == (0, 10_000_001)


def test_control_characters_reach_a_terminal_as_symbols_only(
    model_server: ThreadedModelServer, model_environ: dict[str, str]
) -> None:
    model_server.play([says("\x1b]0;owned\x07 red\u202e\n")])
    leader, follower = pty.openpty()
    command = Path(sys.executable).with_name("marvin")
    process = subprocess.Popen(
        [command, *ASK],
        env={**os.environ, **model_environ},
        stdin=subprocess.DEVNULL,
        stdout=follower,
        stderr=subprocess.DEVNULL,
    )
    assert process.wait(SECONDS) == 0
    os.close(follower)
    assert os.read(leader, 1000).decode() == "␛]0;owned␇ red⟨U+202E⟩\r\n"
    os.close(leader)


def test_a_message_with_too_many_calls_is_answered_in_full_but_run_in_part(
    ask: Any, model_server: ThreadedModelServer
) -> None:
    many = tuple(Call("read_file", f'{{"path": "missing_{number}"}}', id=f"call_{number}") for number in range(300))
    model_server.play([Reply(Said(many)), says("Done.")])
    done = ask()
    assert done.stdout.splitlines()[0].endswith("read_file, and 250 more")
    answers = [m["content"] for m in model_server.requests[1].json["messages"] if m["role"] == "tool"]
    assert [answer.startswith("Not run") for answer in answers] == [False] * 128 + [True] * 172
