"""Caps on money in a session: what is refused, what is said of it, and whose requests count."""

from pathlib import Path
from typing import Any

import pytest

from marvin_server import settings
from marvin_server.errors import BudgetSpent, UsageError
from marvin_server.events import Event, Notice
from marvin_server.messages import Charge, Usage, user_message
from marvin_server.providers.base import ModelRequest
from marvin_server.providers.selection import Choice
from marvin_server.session.ledger import Ledger
from marvin_server.session.opening import OpenSession, open_session
from marvin_server.session.store import Store
from tests.agent.scripted import Scripted, call
from tests.session.turns import stop, turn

pytestmark = pytest.mark.usefixtures("noon")

# A request of the scripted model has 10 tokens in: it costs a dollar.
PRICED = "models: {script-1: {input: 100000, output: 0}}\n"


@pytest.fixture
def begin(workspace: Path, store: Store, tmp_path: Path) -> Any:
    def make(provider: Scripted, config: str, parent: Ledger | None = None, **flags: Any) -> OpenSession:
        file = tmp_path / "config.yaml"
        file.write_text(PRICED + config)
        environ = {"MARVIN_HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin"}
        loaded = settings.load(flags, environ, file)
        return open_session(loaded, Choice(provider, free=True), store, workspace, rounds=9, parent=parent)

    return make


def notices(events: list[Event]) -> list[str]:
    return [event.text for event in events if isinstance(event, Notice)]


async def test_a_day_counts_every_session_and_each_warning_comes_once(begin: Any) -> None:
    budget = "budget: {day: 5}\n"
    first = begin(Scripted([call("get_usage")], [call("get_usage")], [call("get_usage")], ["Four"]), budget)
    assert notices(await turn(first)) == []
    second = begin(Scripted([call("get_usage")], ["never"]), budget)
    events = await turn(second)
    near = "the cost limit is near: today has cost $4.00 of $5.00"
    reached = "the cost limit is reached: today has cost $5.00 of $5.00; "
    reached += "raise budget: day in config.yaml, or wait until tomorrow"
    assert (stop(events), notices(events)) == (("budget", None), [near, reached])
    assert notices(await turn(second)) == [reached]


async def test_a_warning_for_a_session_is_not_repeated_with_every_round(begin: Any) -> None:
    opened = begin(Scripted(*[[call("get_usage")]] * 4, ["Five"]), "budget: {session: 5}\n")
    opened_events = await turn(opened)
    assert notices(opened_events) == ["the cost limit is near: this session has cost $4.00 of $5.00"]
    assert stop(opened_events) == ("completed", None)
    (reached,) = notices(await turn(opened))
    assert reached == (
        "the cost limit is reached: this session has cost $5.00 of $5.00; raise --max-cost (in config.yaml max_cost or "
        "budget: session) and go on with --continue"
    )


async def test_max_cost_beats_the_budget_of_a_session(begin: Any) -> None:
    opened = begin(Scripted([call("get_usage")], ["Done"]), "budget: {session: 1}\n", max_cost=9)
    assert stop(await turn(opened)) == ("completed", None)


async def test_requests_beside_the_turns_count_and_are_refused_alike(begin: Any, store: Store) -> None:
    opened = begin(Scripted(["A title"], ["A summary"], ["never"]), "budget: {month: 2}\n")
    request = ModelRequest("Say what this is about.", [user_message("Hello")], ())
    assert [(await opened.ledger.ask(request)).text for _ in range(2)] == ["A title", "A summary"]
    assert (opened.tally.total.cost, store.spending.since().cost) == (2.0, 2.0)
    with pytest.raises(BudgetSpent, match=r"this month has cost \$2\.00 of \$2\.00"):
        await opened.ledger.ask(request)
    other = Choice(Scripted(["Cheap"]), free=True)
    with pytest.raises(BudgetSpent):
        await opened.ledger.ask(request, other)


async def test_a_session_that_works_for_another_one_spends_its_money(begin: Any, store: Store) -> None:
    main = begin(Scripted([call("get_usage")], ["Two"]), "budget: {session: 3}\n")
    helper = begin(Scripted([call("get_usage")], ["never"]), "budget: {session: 1000}\n", parent=main.ledger)
    assert stop(await turn(main)) == ("completed", None)
    assert stop(await turn(helper)) == ("budget", None)
    assert (main.tally.total.cost, helper.tally.total.cost) == (3.0, 1.0)
    assert [row.cost for row in store.spending.of_session(main.session.id)] == [3.0]


async def test_what_had_no_price_earlier_this_month_is_said_and_stops_nobody(begin: Any, store: Store) -> None:
    store.spending.record(None, "vllm", "mystery", Usage(1, 1), Charge(None))
    events = await turn(begin(Scripted(["Hello"]), "budget: {month: 9}\n"))
    assert notices(events) == [
        "the cost limit does not count all: this month has cost $0 of $9.00 (and 1 of unknown price)"
    ]
    assert stop(events) == ("completed", None)


@pytest.mark.parametrize("budget", ["5", "{week: 5}", "{day: much}", "{day: -1}", "[1]"])
def test_a_budget_that_cannot_be_read_is_no_freedom(begin: Any, budget: str) -> None:
    with pytest.raises(UsageError, match="budget needs"):
        begin(Scripted(), f"budget: {budget}\n")
