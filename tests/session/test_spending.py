"""What model requests have cost, in a real file: by model and by the person's days, exact, and of several processes."""

import os
import random
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path

import pytest

from marvin_server.errors import MarvinError
from marvin_server.messages import Charge, Usage
from marvin_server.session import caps, earlier_usage
from marvin_server.session.spending import By, Share
from marvin_server.session.store import Store
from marvin_server.session.usage import ModelUsage, Used

ROOT = Path(__file__).parents[2]
SUMMER, WINTER = timezone(timedelta(hours=2)), timezone(timedelta(hours=1))


def spend(store: Store, cost: float | None, at: str = "2026-11-21T12:00:00+00:00", model: str = "openai/big") -> None:
    provider, _, name = model.partition("/")
    usage = Usage(100, 10, 40)
    store.spending.record(None, provider, name, usage, Charge(cost), at=datetime.fromisoformat(at))


def parts(store: Store, by: By, since: str = "") -> list[tuple[str, float]]:
    return [(share.name, share.cost) for share in store.spending.shares(by, since)]


def test_a_day_is_the_persons_own_though_the_time_is_kept_in_utc(store: Store, tmp_path: Path) -> None:
    spend(store, 1.0, "2026-03-28T23:59:59+01:00")
    spend(store, 2.0, "2026-03-29T00:00:00+01:00")
    # In Berlin, 29 March has 23 hours and 25 October has 25.
    spend(store, 4.0, "2026-03-29T23:30:00+02:00")
    spend(store, 8.0, "2026-10-25T00:15:00+02:00")
    spend(store, 16.0, "2026-10-25T23:45:00+01:00")
    spend(store, 32.0, "2026-10-26T00:00:00+01:00")
    assert parts(store, "day") == [
        ("2026-03-28", 1.0),
        ("2026-03-29", 6.0),
        ("2026-10-25", 24.0),
        ("2026-10-26", 32.0),
    ]
    with closing(sqlite3.connect(tmp_path / "marvin.db")) as connection:
        times = [at for (at,) in connection.execute("SELECT at FROM usage")]
    assert times[1:4] == ["2026-03-28T23:00:00.000000Z", "2026-03-29T21:30:00.000000Z", "2026-10-24T22:15:00.000000Z"]


HERE = """
import sys
from pathlib import Path
from marvin_server.messages import Charge, Usage
from marvin_server.session.spending import today
from marvin_server.session.store import Store
spending = Store.open(Path(sys.argv[1])).spending
for _ in range(int(sys.argv[2])):
    spending.record(None, "p", "m", Usage(1, 1), Charge(0.1))
print(today())
"""


def process(path: Path, count: int, zone: str = "UTC") -> "subprocess.Popen[str]":
    command = (sys.executable, "-c", HERE, str(path), str(count))
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, env={**os.environ, "TZ": zone})


def test_now_is_the_day_of_the_time_zone_that_the_process_has(store: Store, tmp_path: Path) -> None:
    # POSIX names: 14 hours ahead of UTC, and 11 behind.
    days = {process(tmp_path / "marvin.db", 1, zone).communicate(timeout=20)[0].strip() for zone in ("AAA-14", "BBB11")}
    assert len(days) == 2
    assert {name for name, _ in parts(store, "day")} == days


def test_weeks_begin_on_monday_and_months_on_their_first_day(store: Store) -> None:
    for day in ("2026-11-01", "2026-11-02", "2026-11-08", "2026-12-01"):
        spend(store, 1.0, f"{day}T12:00:00+00:00")
    assert parts(store, "week") == [("2026-10-26", 1.0), ("2026-11-02", 2.0), ("2026-11-30", 1.0)]
    assert parts(store, "month") == [("2026-11", 3.0), ("2026-12", 1.0)]
    assert parts(store, "month", "2026-11-08") == [("2026-11", 1.0), ("2026-12", 1.0)]


def test_vendors_and_models_come_with_the_most_expensive_first(store: Store) -> None:
    spend(store, 0.5)
    spend(store, None, model="vllm/mystery")
    spend(store, 0.75, model="openai/small")
    assert store.spending.shares("vendor") == [
        Share(2, Usage(200, 20, 80), 1.25, name="openai"),
        Share(1, Usage(100, 10, 40), 0.0, 1, name="vllm"),
    ]
    assert parts(store, "model") == [("openai/small", 0.75), ("openai/big", 0.5), ("vllm/mystery", 0.0)]
    assert store.spending.since() == Used(3, Usage(300, 30, 120), 1.25, 1)


def test_what_a_deleted_session_has_cost_stays_in_every_sum(store: Store) -> None:
    kept, gone = (store.create_session("/", "p", "m", title).id for title in ("Kept", "Gone"))
    for session in (kept, gone, gone):
        store.spending.record(session, "p", "m", Usage(1, 1), Charge(0.5))
    store.catalogue.delete(gone)
    assert store.spending.shares("session") == [
        Share(2, Usage(2, 2), 1.0, name=""),
        Share(1, Usage(1, 1), 0.5, name=kept, title="Kept"),
    ]
    assert store.spending.since().cost == 1.5
    assert store.spending.of_session(gone) == []
    store.spending.record(gone, "p", "m", Usage(1, 1), Charge(2.0))
    assert store.spending.since().cost == 3.5


def test_sums_are_exact_however_many_requests_there_were(store: Store, tmp_path: Path) -> None:
    chance = random.Random(7)
    amounts = [chance.randrange(1, 10**9) for _ in range(50)]
    with closing(sqlite3.connect(tmp_path / "marvin.db")) as connection, connection:
        connection.executemany(
            """INSERT INTO usage WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
            SELECT NULL, 'p', 'm', 1, 1, 0, 0, ?, NULL, '', date('2024-01-01', '+' || (i % 700) || ' days') FROM n""",
            [(amount,) for amount in amounts],
        )
    exact = sum(amounts) * 2000
    used = store.spending.since()
    assert (used.requests, used.cost) == (100_000, float(Decimal(exact) / 10**12))
    assert sum(round(cost * 10**12) for _, cost in parts(store, "day")) == exact


def test_prices_of_single_tokens_add_up_without_a_rest(store: Store) -> None:
    for _ in range(1000):
        spend(store, 0.000_000_012_5)
    assert store.spending.since().cost == 0.000_012_5


def test_what_a_vendor_claims_beyond_all_measure_breaks_no_sum(store: Store) -> None:
    for _ in range(3):
        store.spending.record(None, "p", "m", Usage(2**53, 2**53), Charge(1e30, -1e30))
    assert store.spending.since().requests == 3
    assert store.spending.since().cost > 10**6


def test_a_name_that_is_stored_as_bytes_is_the_same_name(store: Store, tmp_path: Path) -> None:
    session = store.create_session("/", "p", "m").id
    for _ in range(2):
        store.spending.record(session, "p", "m", Usage(1, 1), Charge(0.5))
    with closing(sqlite3.connect(tmp_path / "marvin.db")) as connection, connection:
        connection.execute(
            "UPDATE usage SET provider = CAST(provider AS BLOB), model = CAST(model AS BLOB) WHERE rowid = 1"
        )
    assert store.spending.of_session(session) == [ModelUsage(2, Usage(2, 2), 1.0, provider="p", model="m")]


def test_what_cannot_be_added_up_is_the_most_so_that_a_cap_holds(store: Store, tmp_path: Path) -> None:
    spend(store, 1.0)
    spend(store, 1.0, "2026-11-22T12:00:00+00:00")
    with closing(sqlite3.connect(tmp_path / "marvin.db")) as connection, connection:
        connection.execute("UPDATE spent SET cost = iif(day = '2026-11-21', 9e999, -9e999)")
    [cap] = caps.standing({"month": 9}, store.spending, Used(), datetime(2026, 11, 22, tzinfo=UTC).date())
    assert cap.is_reached


def test_processes_at_the_same_time_count_every_request(store: Store, tmp_path: Path) -> None:
    processes = [process(tmp_path / "marvin.db", 150) for _ in range(2)]
    for each in processes:
        each.communicate(timeout=60)
    assert store.spending.since() == Used(300, Usage(300, 300), 30.0)


def test_the_report_tells_the_session_and_all_of_them(store: Store, noon: None) -> None:
    session = store.create_session("/", "p", "m").id
    assert store.spending.report(session) == "No model request so far."
    store.spending.record(session, "p", "m", Usage(10, 1), Charge(0.25))
    assert store.spending.report(session).splitlines() == [
        "Total: 1 request, 10 tokens in, 1 out, $0.2500",
        "- p/m: 1 request, 10 tokens in, 1 out, $0.2500",
    ]
    for number in range(6):
        spend(store, 1.0, "2020-01-01T00:00:00+00:00", f"old/{number}")
    assert store.spending.report(session).splitlines()[2:] == [
        "All sessions: 7 requests, 610 tokens in (240 cached), 61 out, $6.2500",
        *(f"- old/{number}: 1 request, 100 tokens in (40 cached), 10 out, $1.0000" for number in range(5)),
        "- 2 more; `marvin usage` shows them",
        "This month: 1 request, 10 tokens in, 1 out, $0.2500",
        "Today: 1 request, 10 tokens in, 1 out, $0.2500",
    ]


@pytest.mark.parametrize(
    "text",
    [
        '{"lifetime": {"turns": {"opus": 7, "mini": 1}, "cost": {"opus": 2.5}, "total_cost": 3.0}}',
        '{"modelTurns": {"opus": 7, "mini": 1}, "modelCost": {"opus": 2.5}, "totalCostUsd": 3.0, "toolCallCounts": {}}',
    ],
)
def test_the_lifetime_of_an_earlier_assistant_is_taken_over_once_and_marked(tmp_path: Path, text: str) -> None:
    file, database = tmp_path / "usage.json", tmp_path / "marvin.db"
    file.write_text(text)
    for _ in range(2):
        earlier_usage.take_in(database, file)
    with closing(Store.open(database)) as store:
        assert store.spending.by_model() == [
            ModelUsage(7, cost=2.5, provider="local-finder", model="opus"),
            ModelUsage(0, cost=0.5, provider="local-finder", model="other models"),
            ModelUsage(1, provider="local-finder", model="mini"),
        ]
        assert parts(store, "month") == [("earlier", 3.0)]
        assert parts(store, "day", "2000-01-01") == []


@pytest.mark.parametrize("text", ["", "[]", '{"turns": 3}', '{"cost": {"m": "free"}}', '{"cost": {"m": -1}}'])
def test_an_earlier_usage_that_cannot_be_understood_is_said(tmp_path: Path, text: str) -> None:
    (tmp_path / "usage.json").write_text(text)
    with pytest.raises(MarvinError, match="it is left as it is"):
        earlier_usage.take_in(tmp_path / "marvin.db", tmp_path / "usage.json")


def test_caps_count_the_persons_day_and_month(store: Store) -> None:
    for day, cost in (("2026-10-31", 1.0), ("2026-11-20", 2.0), ("2026-11-21", 4.0)):
        spend(store, cost, f"{day}T12:00:00+00:00")
    midnight = datetime(2026, 11, 21, tzinfo=WINTER)

    def spent(at: datetime) -> list[tuple[str, float]]:
        found = caps.standing({"month": 9, "day": 9, "session": 9}, store.spending, Used(cost=0.5), at.date())
        return [(cap.span, cap.used.cost) for cap in found]

    assert spent(midnight) == [("session", 0.5), ("day", 4.0), ("month", 6.0)]
    assert spent(midnight + timedelta(days=1)) == [("session", 0.5), ("day", 0.0), ("month", 6.0)]
    assert spent(midnight + timedelta(days=11)) == [("session", 0.5), ("day", 0.0), ("month", 0.0)]
    # Set back, a clock makes no room.
    assert spent(midnight - timedelta(days=1)) == [("session", 0.5), ("day", 6.0), ("month", 6.0)]


def test_a_cap_says_what_was_spent_and_what_can_be_done(store: Store) -> None:
    spend(store, 4.5, "2026-12-31T12:00:00+00:00")
    spend(store, None, "2026-12-31T12:00:00+00:00")
    day, month = caps.standing(
        {"day": 4, "month": 5}, store.spending, Used(), datetime(2026, 12, 31, tzinfo=UTC).date()
    )
    assert (day.is_reached, month.is_reached) == (True, False)
    assert day.standing == "today has cost $4.50 of $4.00 (and 1 of unknown price)"
    assert day.way_on == "raise budget: day in config.yaml, or wait until tomorrow"
    assert month.warning == "the cost limit is near: this month has cost $4.50 of $5.00 (and 1 of unknown price)"
    assert month.way_on == "raise budget: month in config.yaml, or wait until 2027-01-01"
