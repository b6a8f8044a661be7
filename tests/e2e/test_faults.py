"""What goes wrong on the way is said in one line, and nothing is lost."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.command import Marvin
from tests.e2e.oneshot import ASK, lines
from tests.servers.model_server import ThreadedModelServer
from tests.servers.reply import Call, Delivery, Reply, Said, Thought, Tokens
from tests.servers.scenarios import calls, says


@pytest.mark.parametrize(
    ("scenario", "kind"),
    [
        ("status-401", "Auth"),
        ("status-400", "BadRequest"),
        ("status-500", "ProviderError|Overloaded"),
        ("html-200", "BadRequest"),
        ("redirect", "BadRequest"),
        ("empty-body", "Interrupted"),
        ("empty-reply", "Interrupted"),
        ("cut", "Interrupted"),
        ("broken-gzip", "Interrupted"),
        ("closed-before-head", "Interrupted|Unreachable"),
    ],
)
def test_a_failing_vendor_is_one_line_and_exit_1(
    ask: Any, model_server: ThreadedModelServer, scenario: str, kind: str
) -> None:
    model_server.play(scenario)
    done = ask("--output", "json")
    report = json.loads(done.stdout)
    assert done.exit_code == 1
    assert re.fullmatch(kind, report["error"]["kind"])
    assert lines(done.stderr) == [f"marvin: {report['error']['message']}"]
    assert "sk-test" not in done.stderr
    assert done.cost is not None


def test_an_unreachable_host_is_named(marvin: Marvin, model_environ: dict[str, str]) -> None:
    done = marvin(*ASK, env={**model_environ, "OPENAI_COMPAT_URL": "http://127.0.0.1:9/v1"})
    assert done.exit_code == 1
    assert "127.0.0.1:9" in done.stderr


def test_text_that_came_before_a_fault_is_kept(ask: Any, model_server: ThreadedModelServer, marvin: Marvin) -> None:
    model_server.play([Reply(Said(("Half an ", "answer")), delivery=Delivery(cut_after=2))])
    done = ask()
    assert done.exit_code == 1
    assert done.stdout.startswith("Half an")
    assert "Half an" in marvin("sessions", "search", "Half").stdout


@pytest.mark.parametrize("parts", [("\n\n",), ("   ",), (Thought("Hm."),)], ids=["newlines", "blanks", "a thought"])
def test_an_answer_that_says_nothing_is_an_error_but_paid_for(
    ask: Any, model_server: ThreadedModelServer, parts: tuple[Any, ...]
) -> None:
    model_server.play([Reply(Said(parts))])
    done = ask("--output", "final")
    assert (done.exit_code, done.stdout.strip(), done.cost["llm_turns"]) == (1, "", 1)
    assert "empty answer" in done.stderr


@pytest.mark.parametrize("tokens", [Tokens(2**63, 2**63), Tokens(-5, -5)])
def test_impossible_usage_costs_nobody_a_turn(ask: Any, model_server: ThreadedModelServer, tokens: Tokens) -> None:
    model_server.play([Reply(Said(("Fine.",), tokens=tokens))])
    assert (done := ask()).exit_code == 0, done.stderr


def test_a_store_that_cannot_be_opened_is_one_line(ask: Any, home: Path, model_server: ThreadedModelServer) -> None:
    place = home / "marvin" / "data" / "profiles" / "default"
    place.mkdir(parents=True)
    (place / "marvin.db").write_text("this is no database, but long enough to be looked at as if it were one" * 20)
    done = ask()
    assert (done.exit_code, len(lines(done.stderr)), len(model_server.requests)) == (1, 1, 0)
    assert "marvin.db" in done.stderr


def test_verbose_shows_what_a_crashing_tool_said(ask: Any, home: Path, model_server: ThreadedModelServer) -> None:
    tools = home / "marvin" / "config" / "tools"
    tools.mkdir(parents=True)
    (tools / "broken.py").write_text(
        "from pydantic import BaseModel\n"
        "from marvin_server.tools.base import ToolContext, tool\n"
        "class Params(BaseModel):\n    pass\n"
        "@tool(effect='read')\n"
        "async def broken(params: Params, context: ToolContext) -> str:\n"
        "    '''Always breaks.'''\n"
        "    raise RuntimeError('boom')\n"
    )
    model_server.play([calls(Call("broken", "{}")), says("It broke.")])
    quiet = ask()
    assert (quiet.exit_code, quiet.stdout, lines(quiet.stderr)) == (0, "  🔧 broken\nIt broke.\n", [])
    assert "RuntimeError: boom" in next((home / "marvin" / "state" / "logs").iterdir()).read_text()
    assert "Traceback" in ask("--verbose").stderr


def test_a_remark_before_a_failure_is_no_answer(ask: Any, model_server: ThreadedModelServer) -> None:
    for form in ("final", "json"):
        model_server.play([Reply(Said(("I look first.", Call("get_working_dir", "{}")))), Reply(None, 400)])
        done = ask("--output", form)
        answer = json.loads(done.stdout)["answer"] if form == "json" else done.stdout
        assert (done.exit_code, answer) == (1, "")


def test_a_session_that_goes_on_in_another_folder_says_so(ask: Any, tmp_path: Path) -> None:
    begun = json.loads(ask("--output", "json").stdout)["sessionId"]
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    done = ask("--resume", begun, "--working-dir", elsewhere)
    assert (done.exit_code, lines(done.stderr)) == (
        0,
        [f"marvin: this session began in {tmp_path}; it goes on in {elsewhere}"],
    )
