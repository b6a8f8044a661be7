"""A conversation that is too long for a model goes on with a larger one of the same vendor."""

import json
from pathlib import Path

import pytest

from tests.e2e.command import Marvin
from tests.servers.model_server import ThreadedModelServer
from tests.servers.openai_wire import OVERFLOW, dumps
from tests.servers.reply import Call, Reply, Said, Tokens
from tests.servers.scenarios import says, status

ASK = ("--non-interactive", "--prompt", "Say hello", "--provider", "acme")
TOO_LONG = Reply(dumps(OVERFLOW).encode(), status=400, content_type="application/json")
MILLION = 1_000_000
MODELS = "models:\n  small: {context: 8192, input: 1, output: 1}\n"


@pytest.fixture
def config(home: Path, model_server: ThreadedModelServer) -> Path:
    """The settings file of a person with a vendor of two models."""
    config = home / "marvin" / "config"
    (config / "vendors").mkdir(parents=True)
    vendor = {"title": "Acme", "wire_api": "openai_chat", "base_url": model_server.url, "default_model": "small"}
    (config / "vendors" / "acme.json").write_text(json.dumps({**vendor, "larger": {"small": "big"}}))
    return config / "config.yaml"


def asked(server: ThreadedModelServer) -> list[str]:
    return [request.json["model"] for request in server.requests]


def test_the_turn_goes_on_with_the_larger_model_and_says_so(
    marvin: Marvin, model_server: ThreadedModelServer, config: Path
) -> None:
    config.write_text(MODELS + "  big: {context: 1000000, input: 2, output: 2}\n")
    look = Call("get_working_dir", "{}")
    model_server.play([TOO_LONG, Reply(Said((look,), tokens=Tokens(MILLION, 0))), says("Hello.")])
    done = marvin(*ASK)
    assert (done.exit_code, asked(model_server)) == (0, ["small", "big", "big"]), done.stderr
    assert "; going on with acme (big), which reads 1,000,000 tokens\n" in done.stderr
    assert done.cost is not None
    assert done.cost["session_cost"] == pytest.approx(2.0, abs=0.001)
    model_server.play([says("Again.")])
    assert (marvin(*ASK, "--continue").exit_code, asked(model_server)[-1]) == (0, "small")


@pytest.mark.parametrize(
    ("big", "flags", "why"),
    [
        ("", (), ""),
        ("  big: {context: 4096}\n", (), ""),
        ("  big: {context: 1000000}\n", ("--max-cost", "1"), "--max-cost cannot hold: the price of big is unknown"),
    ],
    ids=["unknown", "no larger", "no price"],
)
def test_where_no_model_can_go_on_the_person_is_told_what_to_do(
    marvin: Marvin, model_server: ThreadedModelServer, config: Path, big: str, flags: tuple[str, ...], why: str
) -> None:
    config.write_text(MODELS + big)
    model_server.play([TOO_LONG])
    done = marvin(*ASK, *flags)
    assert (done.exit_code, asked(model_server)) == (1, ["small"])
    assert "begin a new session, or name a model that reads more than small with --model" in done.stderr
    assert why in done.stderr


def test_a_fallback_without_a_price_is_passed_over_under_a_cost_limit(
    marvin: Marvin, model_server: ThreadedModelServer, config: Path
) -> None:
    vendor = json.loads((config.parent / "vendors" / "acme.json").read_text())
    with ThreadedModelServer() as other:
        for name in ("unpriced", "priced"):
            changed = {**vendor, "base_url": other.url, "default_model": name}
            (config.parent / "vendors" / f"{name}.json").write_text(json.dumps(changed))
        config.write_text(MODELS + "  priced: {input: 1, output: 1}\nfallback: [unpriced, priced]\n")
        model_server.play([status(500)])
        other.play([says("Hello.")])
        done = marvin(*ASK, "--max-cost", "1")
        assert (done.exit_code, done.stdout, asked(other)) == (0, "Hello.\n", ["priced"]), done.stderr
    assert "the price of unpriced is unknown" in done.stderr


def test_a_recorded_change_of_models_can_be_played_again(
    marvin: Marvin, model_server: ThreadedModelServer, config: Path, tmp_path: Path
) -> None:
    config.write_text(MODELS + "  big: {context: 1000000}\n")
    model_server.play([TOO_LONG, says("Hello.")])
    recorded = marvin(*ASK, "--record", str(tmp_path / "run.jsonl"))
    assert (recorded.exit_code, recorded.stdout) == (0, "Hello.\n"), recorded.stderr
    played = marvin(*ASK[:-1], "replay", "--model", str(tmp_path / "run.jsonl"))
    assert (played.exit_code, played.stdout, len(model_server.requests)) == (0, "Hello.\n", 2), played.stderr
    assert "; going on with acme (big)" in played.stderr


def test_what_the_cache_saved_is_told(marvin: Marvin, model_server: ThreadedModelServer, config: Path) -> None:
    config.write_text("models: {small: {input: 10, output: 10, cache_read: 1}}\n")
    model_server.play([Reply(Said(("Hello.",), tokens=Tokens(MILLION, 0, cached=500_000)))])
    done = marvin(*ASK, "--output", "stream-json")
    (usage,) = [event for line in done.stdout.splitlines() if (event := json.loads(line))["type"] == "usage"]
    assert (usage["costUsd"], usage["savedUsd"]) == (5.5, 4.5)
    assert done.cost is not None
    assert (done.cost["session_cost"], done.cost["cache_savings"]) == (5.5, 4.5)
