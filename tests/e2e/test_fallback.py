"""The first vendor is down, the second asks to slow down, the third answers."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.command import Marvin
from tests.servers.model_server import ThreadedModelServer
from tests.servers.reply import Call, Delivery, Reply, Said
from tests.servers.scenarios import calls, says, status

ASK = ("--non-interactive", "--prompt", "Say hello", "--provider", "first")


@pytest.fixture
def servers(home: Path) -> Iterator[list[ThreadedModelServer]]:
    """Three model servers, each a vendor of the person's own; the later ones are what ``first`` falls back on."""
    config = home / "marvin" / "config"
    (config / "vendors").mkdir(parents=True)
    (config / "config.yaml").write_text("fallback: [second, third]\n")
    with ThreadedModelServer() as first, ThreadedModelServer() as second, ThreadedModelServer() as third:
        for name, server in zip(("first", "second", "third"), (first, second, third), strict=True):
            vendor = {
                "title": name.capitalize(),
                "wire_api": "openai_chat",
                "base_url": server.url,
                "default_model": f"model-{name}",
            }
            (config / "vendors" / f"{name}.json").write_text(json.dumps(vendor))
        yield [first, second, third]


def test_each_step_is_one_line_and_the_answer_comes(marvin: Marvin, servers: list[ThreadedModelServer]) -> None:
    first, second, third = servers
    first.play([status(500)])
    second.play([status(429, Retry_After="0")])
    done = marvin(*ASK)
    assert (done.exit_code, done.stdout) == (0, "Hello, wörld! 🌍\n")
    assert [len(server.requests) for server in servers] == [1, 4, 1]
    steps = [line for line in done.stderr.splitlines() if "again in" in line or "going on" in line]
    assert [line.rpartition("; ")[2] for line in steps] == [
        "going on with second (model-second)",
        *["asking second again in 0 s"] * 3,
        "going on with third (model-third)",
    ]
    assert done.cost is not None
    assert done.cost["model_turns"] == {"test-model": 1}
    assert third.requests[0].json["model"] == "model-third"


def test_stream_json_tells_the_steps_as_notices(marvin: Marvin, servers: list[ThreadedModelServer]) -> None:
    servers[0].play("closed-before-head")
    done = marvin(*ASK, "--output", "stream-json")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert [event["level"] for event in events if event["type"] == "notice"] == ["warning"]
    assert [
        e["message"]["provider"] for e in events if e["type"] == "message.finished" and "provider" in e["message"]
    ] == ["second"]


def test_text_that_was_shown_stays_and_no_tool_call_runs_twice(
    marvin: Marvin, servers: list[ThreadedModelServer], tmp_path: Path
) -> None:
    first, second, _ = servers
    note = Call("append_file", json.dumps({"path": "log.txt", "content": "once\n"}))
    (tmp_path / "log.txt").write_text("")
    first.play([calls(note), Reply(Said(("It is ", "do")), delivery=Delivery(cut_after=3))])
    second.play([says("Done.")])
    done = marvin(*ASK)
    assert (done.exit_code, done.stdout) == (0, "  🔧 append_file\nIt is do\nDone.\n")
    assert (tmp_path / "log.txt").read_text() == "once\n"
    sent = second.requests[0].json["messages"]
    assert [message["role"] for message in sent] == ["system", "user", "assistant", "tool"]
    stored = marvin("sessions", "search", "It is do").stdout
    assert "It is do" in stored


def test_a_wait_can_be_cancelled(marvin: Marvin, servers: list[ThreadedModelServer]) -> None:
    import signal

    servers[0].play([status(429, Retry_After="60")])
    running = marvin.start(*ASK, "--output", "stream-json")
    running.read_until("asking first again in 60 s")
    running.send_signal(signal.SIGINT)
    assert running.wait().exit_code == 130


def test_why_a_fallback_was_passed_over_is_told_even_when_no_other_is_left(
    marvin: Marvin, servers: list[ThreadedModelServer], home: Path
) -> None:
    (home / "marvin" / "config" / "config.yaml").write_text(
        "fallback: [nosuch, second]\nmodels: {model-first: {input: 1, output: 1}}\n"
    )
    servers[0].play([status(500)])
    done = marvin(*ASK, "--max-cost", "1")
    assert (done.exit_code, len(servers[1].requests)) == (1, 0)
    assert "marvin: fallback: there is no provider called nosuch; it is passed over" in done.stderr
    assert "the price of model-second is unknown" in done.stderr
