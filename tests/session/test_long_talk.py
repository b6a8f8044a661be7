"""A conversation of 2,000 turns stays within the model's window, and its memory and its bookkeeping stay flat."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from marvin_server.session.store import Store
from marvin_server.tokens import estimate
from tests.servers.model_server import ThreadedModelServer
from tests.servers.reply import Reply
from tests.servers.scenarios import says

TURNS = 2_000
CONTEXT = 32_000
RULE = "Every answer ends with a joke."


@pytest.mark.timeout(600)
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not say how much memory is used")
def test_two_thousand_turns(tmp_path: Path) -> None:
    config = tmp_path / "home" / "config" / "config.yaml"
    config.parent.mkdir(parents=True)
    config.write_text(f"models: {{acme-1: {{context: {CONTEXT}}}}}\n")
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / "AGENTS.md").write_text(RULE)
    largest, without_rule, summaries = 0, 0, 0

    def answer(body: Any, _number: int) -> Reply:
        nonlocal largest, without_rule, summaries
        text = json.dumps(body)
        if "You write the memory of Marvin" in text:
            summaries += 1
            return says("## Task\nTell the story.")
        largest = max(largest, estimate(text))
        without_rule += RULE not in text
        return says("And then? ", "Then a joke.")

    with ThreadedModelServer(answer) as server:
        command = [sys.executable, "-m", "tests.session.long_talk", server.url, tmp_path, str(TURNS)]
        talk = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False)
    assert talk.returncode == 0, talk.stderr
    measured = [json.loads(line) for line in talk.stdout.splitlines()]
    assert without_rule == 0, "instructions are in every request"
    assert largest <= CONTEXT
    assert summaries >= 40
    early, late = measured[1], measured[-1]
    assert late[0] == TURNS
    assert late[1] - early[1] < 24_000, "memory in KiB"
    assert late[2] <= 2, "each message is counted once, and each summary"
    store = Store.open(tmp_path / "marvin.db")
    (record,) = store.sessions()
    assert len(store.history(record.id)) == 2 * TURNS
    store.close()
