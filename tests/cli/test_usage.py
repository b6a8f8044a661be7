"""``marvin usage``: on terminals of 80 and 40 columns, and in pipes. ``WRITE_SCREENS=write`` writes the pages anew."""

import csv
import io
import json
import os
import sqlite3
import sys
from contextlib import closing
from datetime import datetime
from pathlib import Path

import pytest

from marvin_server import paths
from marvin_server.messages import Charge, Usage
from marvin_server.session.store import Store
from tests.e2e.command import Marvin
from tests.nvim.terminal import Terminal

SCREENS = Path(__file__).parent / "usage_screens"
COMMAND = Path(sys.executable).with_name("marvin")


@pytest.fixture(autouse=True)
def spent(home: Path) -> None:
    """Four sessions of last month, one of which was deleted."""
    with closing(Store.open(paths.find(dict(os.environ)).database("default"))) as store:

        def record(title: str, model: str, day: int, usage: Usage, cost: float | None, saved: float = 0.0) -> str:
            session = store.create_session("/w", "p", "m", title).id
            provider, _, name = model.partition("/")
            at = datetime.fromisoformat(f"2026-10-{day:02}T12:00:00+00:00")
            store.spending.record(session, provider, name, usage, Charge(cost, saved), at=at)
            return session

        record("Why is it slow?", "anthropic/claude-sonnet-4-5", 5, Usage(1_204_000, 33_000, 900_000), 4.107, 2.43)
        record("=日本語のタイトルはとても長いので切られる", "openai/gpt-5-mini", 6, Usage(420_000, 21_000), 0.147)
        record("A local model", "lm-studio/a-model-with-a-very-long-name-of-its-own", 12, Usage(9000, 700), None)
        store.catalogue.delete(record("Gone", "groq/llama-3.3-70b", 13, Usage(30_000, 4000), 0.0208))


@pytest.mark.parametrize("columns", [80, 40])
@pytest.mark.parametrize("by", ["model", "session", "week"])
def test_a_terminal_shows_a_chart_that_needs_no_colour(by: str, columns: int, tmp_path: Path) -> None:
    shown = screen(tmp_path, columns, by, "C.UTF-8")
    page = SCREENS / f"{by}-{columns}.txt"
    if os.environ.get("WRITE_SCREENS") == "write":
        page.write_text(shown, encoding="utf-8")
    assert shown == page.read_text(encoding="utf-8")


def test_a_terminal_without_utf_8_gets_digits(tmp_path: Path) -> None:
    assert screen(tmp_path, 80, "week", "C").isascii()


def screen(folder: Path, columns: int, by: str, locale: str) -> str:
    shell = f'"{COMMAND}" usage --by {by}; echo "(done)"; read'
    with Terminal(("bash", "-c", shell), folder, {**os.environ, "LC_ALL": locale}, folder, columns, 24) as terminal:
        text = terminal.see(r"\(done\)")
    return "\n".join(line.rstrip() for line in text.partition("(done)")[0].rstrip().splitlines()) + "\n"


def test_a_pipe_gets_digits_in_columns(marvin: Marvin) -> None:
    done = marvin("usage", "--by", "vendor", "--since", "2026-10-06")
    assert done.stdout.splitlines() == [
        "VENDOR     REQUESTS  TOKENS IN  CACHED  OUT     USD",
        "openai     1         420,000    0       21,000  0.1470",
        "groq       1         30,000     0       4,000   0.0208",
        "lm-studio  1         9,000      0       700     ?",
        "",
        "Total: 3 requests, 459,000 tokens in, 25,700 out, $0.1678 and 1 of unknown price",
        "?: some requests have no known price; name it under `models` in config.yaml",
    ]


def test_json_and_csv_hold_the_same_numbers(marvin: Marvin) -> None:
    told = json.loads(marvin("usage", "--json", "--by", "model").stdout)
    rows = list(csv.DictReader(io.StringIO(marvin("usage", "--csv", "--by", "model").stdout)))
    assert [(row["model"], float(row["cost"]), int(row["unpriced"])) for row in rows] == [
        (row["name"], row["cost"], row["unpriced"]) for row in told["rows"]
    ]
    assert (told["by"], told["since"], told["total"]["cost"]) == ("model", None, 4.2748)
    assert "タイトル" not in marvin("usage", "--csv", "--by", "session").stdout


def test_the_budget_is_shown_as_it_stands(marvin: Marvin, home: Path) -> None:
    config = home / "marvin" / "config" / "config.yaml"
    config.parent.mkdir(parents=True)
    config.write_text("budget: {day: 2, session: 1}\n")
    assert "\nBudget: today has cost $0 of $2.00\n" in marvin("usage").stdout


def test_where_nothing_was_used_that_is_said(marvin: Marvin) -> None:
    assert marvin("usage", "--since", "2099-01-01").stdout == "No model request since 2099-01-01.\n"
    assert marvin("usage", "--profile", "new").stdout == "No model request so far.\n"
    assert json.loads(marvin("usage", "--json", "--profile", "new").stdout)["rows"] == []


@pytest.mark.parametrize("words", [("--since", "yesterday"), ("--json", "--csv"), ("--by", "colour")])
def test_what_cannot_be_shown_is_refused(marvin: Marvin, words: tuple[str, ...]) -> None:
    assert marvin("usage", *words).exit_code == 2


@pytest.mark.parametrize("by", ["model", "vendor", "session", "day", "week", "month"])
@pytest.mark.parametrize("content", [b"groq", b"\xff\xfe"])
def test_whoever_wrote_the_store_all_that_is_in_it_is_shown(marvin: Marvin, by: str, content: bytes) -> None:
    with closing(sqlite3.connect(paths.find(dict(os.environ)).database("default"))) as connection, connection:
        for table, column in [(table, column) for table in ("usage", "spent") for column in ("provider", "model")]:
            connection.execute(f"UPDATE {table} SET {column} = ? WHERE model = 'gpt-5-mini'", (content,))
        connection.execute("UPDATE spent SET input = 9e999, cost = 9e999 WHERE provider = 'groq'")
    done = marvin("usage", "--by", by)
    assert (done.exit_code, "Traceback" in done.stderr) == (0, False)
    is_damaged = "bytes in it that are no text are shown as \ufffd" in done.stderr
    assert is_damaged == (content == b"\xff\xfe" and by in ("model", "vendor"))
    assert "Total: 4 requests" in done.stdout
    assert json.loads(marvin("usage", "--json", "--by", by).stdout)["total"]["requests"] == 4
