"""Budgets of a profile: real processes, one after the other and two at once."""

from pathlib import Path

import pytest

from tests.e2e.command import Marvin
from tests.e2e.oneshot import ASK
from tests.servers.model_server import ThreadedModelServer
from tests.servers.reply import Call, Reply, Said, Tokens

pytestmark = pytest.mark.usefixtures("noon")

DOLLAR = Tokens(1_000_000, 0)
PRICE = "models: {test-model: {input: 1, output: 1}}\n"


@pytest.fixture
def config(home: Path) -> Path:
    file = home / "marvin" / "config" / "config.yaml"
    file.parent.mkdir(parents=True)
    return file


def test_a_daily_budget_ends_every_later_run_with_exit_4(
    marvin: Marvin, model_server: ThreadedModelServer, model_environ: dict[str, str], config: Path
) -> None:
    config.write_text(f"{PRICE}budget: {{day: 1.5}}\n")
    model_server.play([Reply(Said(("Hello",), tokens=DOLLAR))])
    runs = [marvin(*ASK, env=model_environ) for _ in range(3)]
    assert [(run.exit_code, run.cost and run.cost["session_cost"]) for run in runs] == [(0, 1.0), (0, 1.0), (4, 0.0)]
    assert len(model_server.requests) == 2
    (line,) = runs[2].stderr.splitlines()[:-1]
    assert line == (
        "marvin: the cost limit is reached: today has cost $2.00 of $1.50; raise budget: day in config.yaml, or wait "
        "until tomorrow"
    )


def test_two_runs_at_once_overspend_by_no_more_than_the_requests_under_way(
    marvin: Marvin, model_server: ThreadedModelServer, model_environ: dict[str, str], config: Path
) -> None:
    config.write_text(f"{PRICE}budget: {{month: 5}}\n")
    model_server.play([Reply(Said((Call("get_working_dir", "{}"),), tokens=DOLLAR))])
    running = [marvin.start(*ASK, env=model_environ) for _ in range(2)]
    done = [each.wait() for each in running]
    assert [each.exit_code for each in done] == [4, 4]
    assert 5 <= len(model_server.requests) <= 6
    assert sum(each.cost["session_cost"] for each in done if each.cost) == len(model_server.requests)


def test_a_budget_and_a_model_without_a_price_are_refused_before_the_first_request(
    marvin: Marvin, model_server: ThreadedModelServer, model_environ: dict[str, str], config: Path
) -> None:
    config.write_text("budget: {day: 5}\n")
    done = marvin(*ASK, env=model_environ)
    assert (done.exit_code, len(model_server.requests)) == (2, 0)
    assert "the budget cannot hold: the price of test-model is unknown; `models: {test-model: {" in done.stderr
