"""A run is recorded against the loopback server, and played again when that is gone."""

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.command import Completed, Marvin
from tests.servers.model_server import ThreadedModelServer
from tests.servers.reply import CALL, Delivery, Reply, Said
from tests.servers.scenarios import calls, says, status

ASK = ("--non-interactive", "--prompt", "What is in the README?")
KEY = "sk-very-secret-0123"


@pytest.fixture
def recorded(marvin: Marvin, tmp_path: Path) -> Any:
    """Run and record against a server that plays ``scenario`` and ends with the run."""
    (tmp_path / "README.md").write_text("A shop.\n")

    def run(scenario: Any, *args: str, **environ: str) -> tuple[Completed, Path]:
        recording = tmp_path / "run.jsonl"
        with ThreadedModelServer(scenario) as server:
            environment = {
                "LLM_PROVIDER": "openai-compat",
                "OPENAI_COMPAT_URL": server.url,
                "OPENAI_COMPAT_API_KEY": KEY,
                "OPENAI_COMPAT_MODEL": "test-model",
            }
            done = marvin(*ASK, "--record", recording, *args, env={**environment, **environ})
        return done, recording

    return run


@pytest.fixture
def replay(marvin: Marvin) -> Any:
    def run(recording: Path, *args: str, **environ: str) -> Completed:
        return marvin(*ASK, *args, env={"LLM_PROVIDER": "replay", "MARVIN_REPLAY": str(recording), **environ})

    return run


def said(stderr: str) -> list[str]:
    return stderr.splitlines()[:-1]


def test_a_run_with_a_tool_call_and_a_cut_ends_the_same(recorded: Any, replay: Any) -> None:
    cut = Reply(Said(("It is ", "a sh", "op")), delivery=Delivery(cut_after=3))
    before, recording = recorded([calls(CALL), cut])
    assert (before.exit_code, before.stdout) == (1, "  🔧 read_file\nIt is a sh\n")
    after = replay(recording)
    assert (after.exit_code, after.stdout, said(after.stderr)) == (1, before.stdout, said(before.stderr))
    assert after.cost == {
        "session_cost": 0.0,
        "llm_turns": 1,
        "model_turns": {"test-model": 1},
        "model_cost": {"test-model": 0.0},
    }


def test_the_recording_is_private_and_holds_no_key(recorded: Any) -> None:
    _, recording = recorded([says(f"Your key is {KEY}.")])
    assert stat.S_IMODE(recording.stat().st_mode) == 0o600
    assert KEY not in recording.read_text()
    (line,) = map(json.loads, recording.read_text().splitlines())
    assert (line["ended"], line["provider"]["wire_api"]) == ("whole", "openai_chat")
    assert "authorization" not in line["request"]["headers"]


def test_a_recorded_fallback_takes_the_same_steps(marvin: Marvin, home: Path, tmp_path: Path) -> None:
    config = home / "marvin" / "config"
    (config / "vendors").mkdir(parents=True)
    (config / "config.yaml").write_text("fallback: [second]\n")
    recording = tmp_path / "run.jsonl"
    with ThreadedModelServer([status(500)]) as first, ThreadedModelServer([says("Hello")]) as second:
        for name, server in {"first": first, "second": second}.items():
            vendor = {"wire_api": "openai_chat", "base_url": server.url, "default_model": f"model-{name}"}
            (config / "vendors" / f"{name}.json").write_text(json.dumps(vendor))
        before = marvin(*ASK, "--provider", "first", "--record", recording)
    after = marvin(*ASK, "--provider", "replay", "--model", recording)
    assert (after.exit_code, after.stdout) == (0, "Hello\n")
    assert said(after.stderr) == said(before.stderr)
    assert said(after.stderr)[0].endswith("going on with second (model-second)")


def test_a_recorded_wait_is_told_but_not_waited_again(recorded: Any, replay: Any) -> None:
    before, recording = recorded([status(429, Retry_After="0"), says("Hello")])
    assert (before.exit_code, before.stdout) == (0, "Hello\n")
    recording.write_text(recording.read_text().replace('"retry-after":"0"', '"retry-after":"100"'))
    after = replay(recording)
    assert (after.exit_code, after.stdout) == (0, "Hello\n")
    assert [line.rpartition("; ")[2] for line in said(after.stderr)] == ["asking openai-compat again in 100 s"]


def test_another_prompt_is_an_error_that_says_what_differs(recorded: Any, marvin: Marvin) -> None:
    _, recording = recorded([says("Hello")])
    done = marvin("--non-interactive", "--prompt", "What else?", "--provider", "replay", "--model", recording)
    assert done.exit_code == 1
    assert said(done.stderr)[-1] == (
        "marvin: request 1 is not in the recording: the next one differs at messages[1].content: "
        "recorded 'What is in the README?', asked 'What else?'; MARVIN_REPLAY_MATCH=loose overlooks some differences"
    )


def test_what_is_left_unplayed_is_told(recorded: Any, replay: Any) -> None:
    recorded([says("Hello")])
    _, recording = recorded([says("Hello again")])
    after = replay(recording)
    assert (after.exit_code, after.stdout) == (0, "Hello\n")
    assert said(after.stderr) == ["marvin: 1 recorded exchange with openai-compat not played"]


def test_a_file_that_is_no_recording_is_left_alone(recorded: Any, tmp_path: Path) -> None:
    (tmp_path / "run.jsonl").write_text("my notes\n")
    done, recording = recorded([says("Hello")])
    assert (done.exit_code, done.stdout, recording.read_text()) == (2, "", "my notes\n")
    assert "is no recording" in done.stderr


def test_what_cannot_be_recorded_is_refused_before_it_is_asked(marvin: Marvin, tmp_path: Path) -> None:
    done = marvin(*ASK, "--provider", "offline", "--record", tmp_path / "run.jsonl")
    assert done.exit_code == 2
    assert not (tmp_path / "run.jsonl").exists()


def test_a_missing_recording_is_a_usage_error(replay: Any, tmp_path: Path) -> None:
    done = replay(tmp_path / "none.jsonl")
    assert (done.exit_code, said(done.stderr)) == (2, [f"marvin: {tmp_path}/none.jsonl: No such file or directory"])
