"""Permissions, rounds and money: where a run is stopped, and the exit code that says so."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.command import Marvin
from tests.e2e.oneshot import ASK
from tests.servers.model_server import ThreadedModelServer
from tests.servers.reply import Call, Reply, Said, Tokens
from tests.servers.scenarios import calls, runs, says


def test_a_denied_permission_is_exit_3_even_with_an_answer(ask: Any, model_server: ThreadedModelServer) -> None:
    model_server.play([runs("true"), says("I could not.")])
    done = ask("--approve", "none")
    assert (done.exit_code, done.stdout) == (3, "  🔧 run_command\nI could not.\n")
    assert "marvin: true: Permission denied (--approve none). Nothing was done.\n" in done.stderr


def test_the_round_limit_asks_for_an_answer_and_is_exit_5(ask: Any, model_server: ThreadedModelServer) -> None:
    model_server.play([calls(Call("get_working_dir", "{}")), Reply(Said(("So far.", Call("tree", "{}"))))])
    done = ask("--max-rounds", "1")
    assert (done.exit_code, done.stdout) == (5, "  🔧 get_working_dir\nSo far.\n")
    assert "tools" not in model_server.requests[-1].json


def test_a_cost_limit_without_a_price_is_refused_before_the_first_request(
    ask: Any, model_server: ThreadedModelServer
) -> None:
    done = ask("--max-cost", "1")
    assert (done.exit_code, len(model_server.requests)) == (2, 0)
    assert "price of test-model is unknown" in done.stderr


def test_the_cost_limit_ends_the_turn_with_exit_4(
    marvin: Marvin, model_server: ThreadedModelServer, home: Path, tmp_path: Path
) -> None:
    catalog = home / "marvin" / "config" / "vendors"
    catalog.mkdir(parents=True)
    vendor = {
        "title": "A gateway",
        "wire_api": "openai_chat",
        "base_url": model_server.url,
        "default_model": "gpt-4o-mini",
        "price_vendor": "openai",
    }
    (catalog / "gateway.json").write_text(json.dumps(vendor))
    step = Said((Call("get_working_dir", "{}"),), tokens=Tokens(1_000_000, 0))
    model_server.play([Reply(step)])
    done = marvin(*ASK, "--provider", "gateway", "--max-cost", "0.2")
    assert done.exit_code == 4, done.stderr
    assert len(model_server.requests) == 2
    assert done.cost is not None
    assert done.cost["session_cost"] == pytest.approx(0.3)


def test_the_cost_limit_holds_for_the_whole_session(
    marvin: Marvin, model_server: ThreadedModelServer, home: Path
) -> None:
    catalog = home / "marvin" / "config" / "vendors"
    catalog.mkdir(parents=True)
    vendor = {"wire_api": "openai_chat", "base_url": model_server.url, "default_model": "gpt-4o-mini"}
    (catalog / "gateway.json").write_text(json.dumps({**vendor, "title": "A gateway", "price_vendor": "openai"}))
    model_server.play([Reply(Said(("Dear.",), tokens=Tokens(2_000_000, 0)))])
    run = (*ASK, "--provider", "gateway", "--max-cost", "0.2")
    first, second = marvin(*run), marvin(*run, "--continue")
    assert (first.exit_code, second.exit_code, len(model_server.requests)) == (0, 4, 1)
    assert "the cost limit is reached" in second.stderr


def test_a_session_that_used_a_model_of_unknown_price_takes_no_cost_limit(
    ask: Any, marvin: Marvin, model_server: ThreadedModelServer, home: Path
) -> None:
    assert ask().exit_code == 0
    config = home / "marvin" / "config" / "config.yaml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text("models:\n  other:\n    input: 1\n    output: 1\n")
    done = ask("--continue", "--model", "other", "--max-cost", "5")
    assert (done.exit_code, len(model_server.requests)) == (2, 1)
    assert "this session has used test-model, whose price is unknown; begin a new session" in done.stderr
