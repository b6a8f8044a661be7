"""kill -9 at any moment loses nothing that a front-end had been shown."""

import json
import random
import signal
from pathlib import Path
from typing import Any

import pytest

from marvin_server.messages import Message, ToolResult
from marvin_server.session.store import Store
from tests.e2e.command import Marvin, Running
from tests.servers.model_server import ThreadedModelServer
from tests.servers.reply import Call, Delivery, Reply, Said
from tests.servers.scenarios import says


def shown(running: Running) -> list[dict[str, Any]]:
    """The messages of the complete lines on stdout, after the process is gone."""
    lines = running.wait().stdout.split("\n")[:-1]
    events = [json.loads(line) for line in lines]
    return [event["message"] for event in events if event["type"] == "message.finished"]


def pairs(history: list[Message]) -> bool:
    """Is each tool call answered by the message after it?"""
    calls = [[call.id for call in message.tool_calls] for message in history]
    answers = [[part.call_id for part in message.parts if isinstance(part, ToolResult)] for message in history]
    return all(wanted == answered for wanted, answered in zip(calls, [*answers[1:], []], strict=True) if wanted)


@pytest.mark.parametrize("seed", range(8))
def test_what_was_shown_is_there_after_kill_9(
    marvin: Marvin, model_server: ThreadedModelServer, model_environ: dict[str, str], home: Path, seed: int
) -> None:
    def scenario(_body: Any, number: int) -> Reply:
        note = json.dumps({"path": f"file{number}.txt", "content": "x"})
        call = Call("create_file", note, id=f"call_{number}", fragments=3)
        return Reply(Said((f"Round {number}. ", call)), delivery=Delivery(gap=0.001))

    model_server.play(scenario)
    running = marvin.start("--non-interactive", "--prompt", "go", "--output", "stream-json", env=model_environ)
    moment = random.Random(seed).randint(1, 25)
    running.read_until(f'"text": "Round {moment}. "')
    running.send_signal(signal.SIGKILL)
    messages = shown(running)
    assert len(messages) >= moment

    store = Store.open(home / "marvin" / "data" / "profiles" / "default" / "marvin.db")
    (record,) = store.sessions()
    stored = store.history(record.id)
    store.close()
    assert [message.id for message in stored][: len(messages)] == [message["id"] for message in messages]
    assert pairs(stored)

    model_server.play([says("Back again.")])
    resumed = marvin("--non-interactive", "--continue", "--prompt", "and?", env=model_environ)
    assert (resumed.exit_code, resumed.stdout) == (0, "Back again.\n")
    sent = model_server.requests[-1].json["messages"]
    called = [call["id"] for message in sent for call in message.get("tool_calls", ())]
    assert called == [message["tool_call_id"] for message in sent if message["role"] == "tool"]


def test_two_processes_use_one_store_at_once(
    marvin: Marvin, model_server: ThreadedModelServer, model_environ: dict[str, str]
) -> None:
    model_server.play([says("Hello", gap=0.001)])
    running = [
        marvin.start("--non-interactive", "--prompt", f"number {number}", env=model_environ) for number in range(6)
    ]
    assert [one.wait().stdout for one in running] == ["Hello\n"] * 6
    listed = json.loads(marvin("sessions", "list", "--json").stdout)
    assert sorted(record["title"] for record in listed) == [f"number {number}" for number in range(6)]
