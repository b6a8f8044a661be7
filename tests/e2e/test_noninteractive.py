"""The installed command as a pipeline uses it, against the loopback model server and the offline provider."""

import json
import os
import pty
import re
import signal
import sqlite3
import stat
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.command import Marvin
from tests.servers.model_server import ThreadedModelServer
from tests.servers.reply import Call, Delivery, Reply, Said, Thought, Tokens
from tests.servers.scenarios import calls, says

GREETING = "Hello, wörld! 🌍"
ASK = ("--non-interactive", "--prompt", "Say hello")
COST_FREE: dict[str, Any] = {"session_cost": 0.0, "llm_turns": 0, "model_turns": {}, "model_cost": {}}


def lines(stderr: str) -> list[str]:
    """What a person reads on stderr: without the cost and the standing line about the sandbox."""
    return [line for line in stderr.splitlines()[:-1] if "no OS sandbox" not in line]


def is_alive(pid: str) -> bool:
    """Does this process still run? One that has ended and waits to be collected does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.fixture
def ask(marvin: Marvin, model_environ: dict[str, str]) -> Any:
    """Run ``marvin --non-interactive`` against the model server."""

    def run(*args: str | Path, prompt: str = "Say hello", **options: Any) -> Any:
        options.setdefault("env", {}).update(model_environ)
        return marvin("--non-interactive", "--prompt", prompt, *args, **options)

    return run


def test_an_answer_is_streamed_and_ends_with_one_newline(ask: Any) -> None:
    done = ask()
    assert (done.exit_code, done.stdout, lines(done.stderr)) == (0, f"{GREETING}\n", [])
    assert done.cost == {
        "session_cost": 0.0,
        "llm_turns": 1,
        "model_turns": {"test-model": 1},
        "model_cost": {"test-model": None},
        "unpriced": ["test-model"],
    }


@pytest.mark.parametrize(
    ("parts", "printed"),
    [
        (("a\n", "\nb\n", "\n"), "a\n\nb\n"),
        (("\n\na",), "\n\na\n"),
        (("a\r\n", "b"), "a\r\nb\n"),
        (("\x1b[31mred",), "\x1b[31mred\n"),
        (("a", " ", "\n", "b  \n"), "a \nb  \n"),
    ],
)
def test_piped_text_is_what_the_model_wrote(
    ask: Any, model_server: ThreadedModelServer, parts: tuple[str, ...], printed: str
) -> None:
    model_server.play([says(*parts)])
    assert ask().stdout == printed


def test_a_marker_on_a_line_of_its_own_comes_before_each_round_of_tool_calls(
    ask: Any, model_server: ThreadedModelServer, repository: Path
) -> None:
    read = Call("read_file", '{"path": "README.md"}')
    model_server.play(
        [
            Reply(Said(("I look", read, Call("tree", "{}", id="call_2")))),
            Reply(Said(("Again\n\n", read))),
            calls(read),
            says("Done."),
        ]
    )
    done = ask("--working-dir", repository)
    assert done.stdout == ("I look\n  🔧 read_file, tree\nAgain\n\n  🔧 read_file\n  🔧 read_file\nDone.\n")


def test_the_whole_job_reads_greps_patches_and_tests_a_repository(
    ask: Any, model_server: ThreadedModelServer, repository: Path
) -> None:
    patch = json.dumps({"path": "shop/basket.py", "old_str": "result -= price", "new_str": "result += price"})
    test = json.dumps({"command": f"{sys.executable} -m unittest 2>&1"})
    model_server.play(
        [
            calls(Call("read_file", '{"path": "shop/basket.py"}'), Call("code_grep", '{"pattern": "total"}', id="c2")),
            calls(Call("apply_patch", patch)),
            calls(Call("run_command", test)),
            says("Fixed: `total` adds now."),
        ]
    )
    done = ask("--working-dir", repository, prompt="The test fails. Mend it.")
    assert done.exit_code == 0, done.stderr
    assert done.stdout == ("  🔧 read_file, code_grep\n  🔧 apply_patch\n  🔧 run_command\nFixed: `total` adds now.\n")
    assert "result += price" in (repository / "shop" / "basket.py").read_text()
    tool_messages = [m for m in model_server.requests[-1].json["messages"] if m["role"] == "tool"]
    assert len(tool_messages) == 4
    assert "OK" in tool_messages[-1]["content"]
    assert done.cost["llm_turns"] == 4


def test_the_first_request_is_small(ask: Any, model_server: ThreadedModelServer, repository: Path) -> None:
    ask("--working-dir", repository)
    assert len(model_server.requests[0].body) < 12_000


@pytest.mark.parametrize(
    ("form", "printed"), [("final", "Done.\n"), ("text", "First.\n  🔧 git_status\nDone.\n")], ids=["final", "text"]
)
def test_final_prints_only_the_last_answer(
    ask: Any, model_server: ThreadedModelServer, repository: Path, form: str, printed: str
) -> None:
    model_server.play([Reply(Said(("First.", Call("git_status", "{}")))), says("Done.")])
    assert ask("--output", form, "--working-dir", repository).stdout == printed


def test_json_is_one_object_at_the_end(ask: Any, model_server: ThreadedModelServer, repository: Path) -> None:
    model_server.play([calls(Call("git_status", "{}")), Reply(Said(("Done.",), tokens=Tokens(100, 7, 40)))])
    done = ask("--output", "json", "--working-dir", repository)
    report = json.loads(done.stdout)
    duration = report["toolCalls"][0].pop("durationMs")
    assert duration >= 0
    session = report.pop("sessionId")
    assert re.fullmatch(r"[0-9a-f]{26}", session)
    assert report == {
        "answer": "Done.",
        "stop": "completed",
        "usage": {"input": 112, "output": 12, "cacheRead": 40, "cacheWrite": 0},
        "toolCalls": [{"id": "call_1", "name": "git_status", "status": "ok"}],
        "error": None,
    }


def test_json_is_printed_on_errors_too(ask: Any, model_server: ThreadedModelServer) -> None:
    model_server.play("status-401")
    failed = ask("--output", "json")
    assert (failed.exit_code, json.loads(failed.stdout)["error"]["kind"]) == (1, "Auth")
    wrong = ask("--output", "json", "--provider", "nobody")
    assert (wrong.exit_code, json.loads(wrong.stdout)["error"]["kind"]) == (2, "UsageError")


def test_stream_json_prints_the_dialects_events_one_a_line(ask: Any, model_server: ThreadedModelServer) -> None:
    model_server.play("thoughts")
    events = [json.loads(line) for line in ask("--output", "stream-json").stdout.splitlines()]
    assert [event["type"] for event in events] == [
        "turn.started",
        "message.finished",
        "round.started",
        "thought.delta",
        "thought.delta",
        "thought.finished",
        *["message.delta"] * 3,
        "message.finished",
        "usage",
        "turn.finished",
    ]
    assert events[-1]["stopReason"] == "completed"


def test_each_delta_is_printed_when_it_arrives(
    marvin: Marvin, model_server: ThreadedModelServer, model_environ: dict[str, str]
) -> None:
    model_server.play([Reply(Said(("one ", "two ", "three")), delivery=Delivery(gated=True))])
    running = marvin.start(*ASK, env=model_environ)
    model_server.wait_for_request()
    for word in ("one", "two", "three"):
        model_server.release(2 if word == "one" else 1)
        running.read_until(word)
    model_server.release(10)
    assert running.wait().stdout == "one two three\n"


SCHEMA = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}, "additionalProperties": False}


@pytest.mark.parametrize(
    ("answers", "code", "printed", "requests"),
    [
        (['{"n": 1}'], 0, '{"n": 1}\n', 1),
        (['```json\n{"n": 1}\n```'], 0, '{"n": 1}\n', 1),
        (["it is 1", '{"n": 1}'], 0, '{"n": 1}\n', 2),
        (["it is 1", '{"n": "1"}'], 1, "", 2),
    ],
)
def test_with_a_schema_only_a_valid_answer_is_printed(
    ask: Any,
    model_server: ThreadedModelServer,
    tmp_path: Path,
    answers: list[str],
    code: int,
    printed: str,
    requests: int,
) -> None:
    schema = tmp_path / "schema.json"
    schema.write_text(json.dumps(SCHEMA))
    model_server.play([says(answer) for answer in answers])
    done = ask("--output-schema", schema)
    assert (done.exit_code, done.stdout, len(model_server.requests)) == (code, printed, requests)
    if code:
        assert "$.n" in done.stderr
    if requests == 2:
        assert "not JSON" in model_server.requests[1].json["messages"][-1]["content"]


@pytest.mark.parametrize("schema", ["{", '{"type": "nothing"}', "[]"])
def test_a_wrong_schema_is_refused_at_once(ask: Any, tmp_path: Path, schema: str) -> None:
    path = tmp_path / "schema.json"
    path.write_text(schema)
    done = ask("--output-schema", path)
    assert (done.exit_code, done.stdout, done.cost) == (2, "", COST_FREE)


def test_the_prompt_comes_from_a_flag_a_file_an_argument_or_standard_input(
    marvin: Marvin, model_server: ThreadedModelServer, model_environ: dict[str, str], tmp_path: Path
) -> None:
    file = tmp_path / "prompt.txt"
    file.write_text("from a file")
    for args, stdin, expected in (
        (["--prompt", "from a flag"], "not read", "from a flag"),
        (["--prompt-file", str(file)], "not read", "from a file"),
        (["from an argument"], "not read", "from an argument"),
        ([], "from stdin\n", "from stdin"),
        (["-"], "from stdin\n", "from stdin"),
        (["--prompt", "sum this up", "-"], "1\n2\n", "sum this up\n\nStandard input:\n\n1\n2"),
    ):
        done = marvin("--non-interactive", *args, stdin=stdin, env=model_environ)
        assert done.exit_code == 0, done.stderr
        assert model_server.requests[-1].json["messages"][-1] == {"role": "user", "content": expected}


@pytest.mark.parametrize(
    ("args", "code", "says_what"),
    [
        ([], 1, "there is no prompt|the prompt is empty"),
        (["--prompt", "  "], 1, "the prompt is empty"),
        (["--prompt", "a", "--prompt-file", "b"], 2, "once"),
        (["--prompt-file", "missing.txt"], 2, "No such file"),
        (["--prompt", "a", "--no-such-option"], 2, "unrecognized arguments: --no-such-option"),
        (["--prompt", "a", "--provider", "opnai"], 2, "openai"),
        (["--prompt", "a", "--provider", "openai"], 1, "OPENAI_API_KEY"),
        (["--prompt", "a", "--output", "xml"], 2, "stream-json"),
        (["--prompt", "a", "--approve", "maybe"], 2, "all, rules, none"),
        (["--prompt", "a", "--max-rounds", "0"], 2, "at least 1"),
        (["--prompt", "a", "--max-cost", "much"], 2, "above 0"),
        (["--prompt", "a", "--working-dir", "missing"], 2, "No such file"),
        (["--prompt", "a", "--config", "missing.yaml"], 2, "no such file"),
        (["--prompt", "a", "--resume", "0123456789"], 1, "0123456789"),
        (["--prompt", "a", "--continue"], 1, "no session"),
        (["--prompt", "a", "--ntfy", "a/b"], 2, "topic"),
        (["--prompt", "a", "--sandbox", "on"], 1, "no OS sandbox"),
    ],
)
def test_bad_input_is_one_line_that_says_what_to_do(marvin: Marvin, args: list[str], code: int, says_what: str) -> None:
    done = marvin("--non-interactive", *args)
    said = [line for line in done.stderr.splitlines() if line.startswith("marvin:")]
    assert (done.exit_code, done.stdout, done.cost) == (code, "", COST_FREE)
    assert re.search(says_what, said[-1])
    assert "Traceback" not in done.stderr


def test_a_terminal_without_a_prompt_is_not_waited_for(marvin: Marvin) -> None:
    leader, follower = pty.openpty()
    try:
        import subprocess

        command = Path(sys.executable).with_name("marvin")
        done = subprocess.run(
            [command, "--non-interactive"], stdin=follower, capture_output=True, timeout=10, check=False
        )
    finally:
        os.close(leader)
        os.close(follower)
    assert done.returncode == 1
    assert b"there is no prompt" in done.stderr


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


def test_a_ten_megabyte_line_is_printed_whole(ask: Any, model_server: ThreadedModelServer) -> None:
    model_server.play("10-megabytes-in-one-line")
    done = ask()
    assert (done.exit_code, len(done.stdout)) == (0, 10_000_001)


def test_text_that_came_before_a_fault_is_kept(ask: Any, model_server: ThreadedModelServer, marvin: Marvin) -> None:
    model_server.play([Reply(Said(("Half an ", "answer")), delivery=Delivery(cut_after=2))])
    done = ask()
    assert done.exit_code == 1
    assert done.stdout.startswith("Half an")
    assert "Half an" in marvin("sessions", "search", "Half").stdout


def test_a_denied_permission_is_exit_3_even_with_an_answer(ask: Any, model_server: ThreadedModelServer) -> None:
    model_server.play([calls(Call("run_command", '{"command": "true"}')), says("I could not.")])
    done = ask("--approve", "none")
    assert (done.exit_code, done.stdout) == (3, "  🔧 run_command\nI could not.\n")


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


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_cancels_keeps_the_text_and_is_exit_130(
    marvin: Marvin, model_server: ThreadedModelServer, model_environ: dict[str, str], number: signal.Signals
) -> None:
    model_server.play([Reply(Said(("Once upon ", "a time")), delivery=Delivery(stall_after=2))])
    running = marvin.start(*ASK, env=model_environ)
    running.read_until("Once upon")
    running.send_signal(number)
    done = running.wait()
    assert (done.exit_code, done.cost is not None) == (130, True)
    model_server.wait_for_disconnect()
    assert "Once upon" in marvin("sessions", "search", "upon").stdout


def test_a_signal_while_a_command_runs_ends_the_whole_tree(
    marvin: Marvin, model_server: ThreadedModelServer, model_environ: dict[str, str], tmp_path: Path
) -> None:
    command = "(setsid sleep 300 & echo $! > deep); echo $$ > pid; echo started; sleep 300"
    model_server.play([calls(Call("run_command", json.dumps({"command": command}))), says("never")])
    running = marvin.start(*ASK, "--output", "stream-json", env=model_environ)
    running.read_until("started\\n")
    running.send_signal(signal.SIGTERM)
    assert running.wait().exit_code == 130
    for name in ("pid", "deep"):
        assert not is_alive((tmp_path / name).read_text().strip())


def test_a_closed_standard_output_ends_quietly_with_141(
    marvin: Marvin, model_server: ThreadedModelServer, model_environ: dict[str, str]
) -> None:
    model_server.play("paced-deltas")
    running = marvin.start(*ASK, env=model_environ)
    model_server.wait_for_request()
    running.close_stdout()
    done = running.wait()
    assert (done.exit_code, lines(done.stderr), done.cost is not None) == (141, [], True)


def test_a_full_disk_behind_standard_output_is_said(
    model_server: ThreadedModelServer, model_environ: dict[str, str]
) -> None:
    import subprocess

    command = Path(sys.executable).with_name("marvin")
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [command, *ASK],
            env={**os.environ, **model_environ},
            stdin=subprocess.DEVNULL,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=30,
            check=False,
        )
    assert done.returncode == 1
    assert "marvin: standard output: No space left on device" in done.stderr
    assert done.stderr.splitlines()[-1].startswith("MARVIN_COST:")


def test_control_characters_reach_a_terminal_as_symbols_only(
    model_server: ThreadedModelServer, model_environ: dict[str, str]
) -> None:
    import subprocess

    model_server.play([says("\x1b]0;owned\x07 red\u202e\n")])
    leader, follower = pty.openpty()
    command = Path(sys.executable).with_name("marvin")
    process = subprocess.Popen(
        [command, *ASK],
        env={**os.environ, **model_environ},
        stdin=subprocess.DEVNULL,
        stdout=follower,
        stderr=subprocess.DEVNULL,
    )
    assert process.wait(30) == 0
    os.close(follower)
    assert os.read(leader, 1000).decode() == "␛]0;owned␇ red�\r\n"
    os.close(leader)


def test_a_session_goes_on_with_continue_and_resume(
    ask: Any, model_server: ThreadedModelServer, marvin: Marvin
) -> None:
    session = json.loads(ask("--output", "json", prompt="one").stdout)["sessionId"]
    assert ask("--continue", prompt="two").exit_code == 0
    assert ask("--resume", session[:12], prompt="three").exit_code == 0
    texts = [message["content"] for message in model_server.requests[-1].json["messages"][1:]]
    assert texts == ["one", GREETING, "two", GREETING, "three"]
    listed = json.loads(marvin("sessions", "list", "--json").stdout)
    assert [(record["id"], record["title"], record["messages"]) for record in listed] == [(session, "one", 6)]


def test_the_store_is_private(ask: Any, home: Path) -> None:
    ask()
    database = home / "marvin" / "data" / "profiles" / "default" / "marvin.db"
    assert stat.S_IMODE(database.stat().st_mode) == 0o600
    with sqlite3.connect(database) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()


def test_a_store_that_cannot_be_opened_is_one_line(ask: Any, home: Path, model_server: ThreadedModelServer) -> None:
    place = home / "marvin" / "data" / "profiles" / "default"
    place.mkdir(parents=True)
    (place / "marvin.db").write_text("this is no database, but long enough to be looked at as if it were one" * 20)
    done = ask()
    assert (done.exit_code, len(lines(done.stderr)), len(model_server.requests)) == (1, 1, 0)
    assert "marvin.db" in done.stderr


def test_a_wrong_setting_is_a_warning_with_file_and_line(ask: Any, home: Path) -> None:
    config = home / "marvin" / "config" / "config.yaml"
    config.parent.mkdir(parents=True)
    config.write_text("max_rounds: 5\nsandbx: on\napprove: perhaps\n")
    done = ask()
    assert (done.exit_code, done.stdout) == (0, f"{GREETING}\n")
    assert [re.sub(r"(config\.yaml:\d).*", r"\1", line) for line in lines(done.stderr)] == [
        f"marvin: {config}:2",
        f"marvin: {config}:3",
    ]


def test_secrets_do_not_reach_a_command(ask: Any, model_server: ThreadedModelServer) -> None:
    model_server.play([calls(Call("run_command", '{"command": "env"}')), says("ok")])
    ask(env={"GITHUB_TOKEN": "ghp_secret", "MY_PASSWORD": "hush", "PLAIN": "seen"})
    output = next(m for m in model_server.requests[-1].json["messages"] if m["role"] == "tool")["content"]
    assert "PLAIN=seen" in output
    assert not any(secret in output for secret in ("ghp_secret", "hush", "sk-test"))


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


def test_ntfy_gets_the_end_of_the_run(ask: Any, model_server: ThreadedModelServer, home: Path) -> None:
    config = home / "marvin" / "config" / "config.yaml"
    config.parent.mkdir(parents=True)
    config.write_text(f"ntfy_server: {model_server.origin}/push\n")
    done = ask("--ntfy", "my-topic")
    published = model_server.requests[-1]
    assert (published.path, published.body.decode()) == ("/push/my-topic", GREETING)
    assert "--ntfy my-topic: HTTP 404" in done.stderr
    assert done.exit_code == 0


def test_without_a_model_the_offline_search_answers_and_says_so(marvin: Marvin, repository: Path) -> None:
    done = marvin("--non-interactive", "--prompt", "Where is total defined?", "--working-dir", repository)
    assert done.exit_code == 0
    assert "🔧" in done.stdout
    assert "shop/basket.py:4" in done.stdout
    assert any("marvin doctor" in line for line in lines(done.stderr))
    assert done.cost is not None
    assert done.cost["session_cost"] == 0.0


def test_offline_replaces_text_in_a_file(marvin: Marvin, repository: Path) -> None:
    prompt = 'replace "result -= price" with "result += price" in shop/basket.py'
    done = marvin("--non-interactive", "--provider", "offline", "--prompt", prompt, "--working-dir", repository)
    assert done.exit_code == 0, done.stdout
    assert "result += price" in (repository / "shop" / "basket.py").read_text()


def test_an_interactive_start_says_that_it_is_not_there_yet(marvin: Marvin) -> None:
    done = marvin()
    assert done.exit_code == 2
    assert "--non-interactive" in done.stderr


def test_a_signal_before_anything_was_asked_ends_with_the_cost(marvin: Marvin) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        running = marvin.start("--non-interactive", "--verbose")
        running.write("half a prompt")
        wait_for_read(running.pid)
        running.send_signal(number)
        done = running.wait()
        assert (done.exit_code, done.cost, done.stdout) == (130, COST_FREE, "")


def wait_for_read(pid: int) -> None:
    """Wait until the process sleeps in a read of its standard input."""
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        syscall = Path(f"/proc/{pid}/syscall").read_text().split()
        if syscall[:2] == ["0", "0x0"]:
            return
    raise AssertionError("the command does not read its standard input")


def test_a_reader_that_does_not_read_does_not_keep_the_command_from_ending(
    marvin: Marvin, model_server: ThreadedModelServer, model_environ: dict[str, str]
) -> None:
    import subprocess

    model_server.play([Reply(Said(("x" * 300_000,)), delivery=Delivery(stall_after=3))])
    command = [Path(sys.executable).with_name("marvin"), *ASK]
    environ = {**os.environ, **model_environ}
    with subprocess.Popen(
        command, env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        model_server.wait_for_request()
        assert process.stdout is not None
        assert process.stdout.read(1) == b"x"
        process.send_signal(signal.SIGTERM)
        assert process.wait(5) == 130
        assert process.stderr is not None
        assert process.stderr.read().splitlines()[-1].startswith(b"MARVIN_COST:")


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "http://127.0.0.1:9/x.json"},
        {"$ref": "file:///etc/passwd"},
        {"$ref": "#/nope"},
        {"properties": {"a": {"$ref": "other.json"}}},
    ],
)
def test_a_schema_that_leads_out_of_its_file_is_refused_before_anything_is_asked(
    ask: Any, model_server: ThreadedModelServer, tmp_path: Path, schema: dict[str, Any]
) -> None:
    path = tmp_path / "schema.json"
    path.write_text(json.dumps(schema))
    done = ask("--output-schema", path)
    assert (done.exit_code, done.stdout, len(model_server.requests)) == (2, "", 0)
    assert "$ref" in done.stderr


@pytest.mark.parametrize("answer", ["NaN", "[" * 100_000 + "]" * 100_000])
def test_an_answer_that_cannot_be_checked_is_never_printed(
    ask: Any, model_server: ThreadedModelServer, tmp_path: Path, answer: str
) -> None:
    path = tmp_path / "schema.json"
    path.write_text("{}")
    model_server.play([says(answer)])
    for form in ("text", "final"):
        done = ask("--output-schema", path, "--output", form)
        assert (done.exit_code, done.stdout) == (1, "")
    for form in ("json", "stream-json"):
        (line,) = ask("--output-schema", path, "--output", form).stdout.splitlines()
        report = json.loads(line)
        assert (report.get("answer", ""), report["error"]["kind"]) == ("", "SchemaMismatch")


@pytest.mark.parametrize("form", ["json", "stream-json"])
def test_a_wrong_option_is_told_in_the_form_that_was_asked_for(marvin: Marvin, form: str) -> None:
    done = marvin("--non-interactive", "--output", form, "--bogus")
    assert done.exit_code == 2
    assert json.loads(done.stdout)["error"]["kind"] == "UsageError"


@pytest.mark.parametrize("option", ["--resume", "--working-dir", "--output-schema", "--config", "--model"])
def test_an_empty_value_is_a_mistake(ask: Any, model_server: ThreadedModelServer, option: str) -> None:
    done = ask(option, "")
    assert (done.exit_code, len(model_server.requests)) == (2, 0)
    assert f"argument {option}: it must not be empty" in done.stderr


@pytest.mark.parametrize("parts", [("\n\n",), ("   ",), (Thought("Hm."),)], ids=["newlines", "blanks", "a thought"])
def test_an_answer_that_says_nothing_is_an_error_but_paid_for(
    ask: Any, model_server: ThreadedModelServer, parts: tuple[Any, ...]
) -> None:
    model_server.play([Reply(Said(parts))])
    done = ask("--output", "final")
    assert (done.exit_code, done.stdout.strip(), done.cost["llm_turns"]) == (1, "", 1)
    assert "empty answer" in done.stderr


def test_a_session_has_one_process_at_work_at_a_time(
    ask: Any, marvin: Marvin, model_server: ThreadedModelServer, model_environ: dict[str, str]
) -> None:
    session = json.loads(ask("--output", "json").stdout)["sessionId"]
    model_server.play([Reply(Said(("Slowly ", "...")), delivery=Delivery(stall_after=2))])
    first = marvin.start("--non-interactive", "--prompt", "one", "--resume", session, env=model_environ)
    first.read_until("Slowly")
    second = ask("--resume", session)
    assert (second.exit_code, second.stdout) == (1, "")
    assert f"another marvin is at work in session {session}" in second.stderr
    first.send_signal(signal.SIGKILL)
    first.wait()
    model_server.play("text")
    assert ask("--resume", session).exit_code == 0


def test_a_message_with_too_many_calls_is_answered_in_full_but_run_in_part(
    ask: Any, model_server: ThreadedModelServer
) -> None:
    many = tuple(Call("get_working_dir", "{}", id=f"call_{number}") for number in range(300))
    model_server.play([Reply(Said(many)), says("Done.")])
    done = ask()
    assert done.stdout.splitlines()[0].endswith("get_working_dir, and 250 more")
    answers = [m["content"] for m in model_server.requests[1].json["messages"] if m["role"] == "tool"]
    assert [answer.startswith("Not run") for answer in answers] == [False] * 128 + [True] * 172


@pytest.mark.parametrize("tokens", [Tokens(2**63, 2**63), Tokens(-5, -5)])
def test_impossible_usage_costs_nobody_a_turn(ask: Any, model_server: ThreadedModelServer, tokens: Tokens) -> None:
    model_server.play([Reply(Said(("Fine.",), tokens=tokens))])
    assert (done := ask()).exit_code == 0, done.stderr


def test_secrets_are_blotted_out_of_what_tools_say_and_of_the_log(
    ask: Any, model_server: ThreadedModelServer, home: Path
) -> None:
    call = Call("run_command", '{"command": "cat key.txt; exit 3"}')
    model_server.play([calls(call), says("ok")])
    cwd = home / "project"
    cwd.mkdir()
    (cwd / "key.txt").write_text("the key is ghp_0123456789\n")
    done = ask("--output", "stream-json", "--verbose", env={"GITHUB_TOKEN": "ghp_0123456789"}, cwd=cwd)
    assert "the key is ***" in done.stdout
    assert "ghp_0123456789" not in done.stdout + done.stderr + model_server.requests[1].body.decode()


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


@pytest.mark.parametrize("wire_api", ["openai_chat", "openai_responses", "anthropic"])
def test_a_gateway_takes_its_key_in_a_header_and_its_version_in_the_query(
    marvin: Marvin, model_server: ThreadedModelServer, home: Path, wire_api: str
) -> None:
    vendors = home / "marvin" / "config" / "vendors"
    vendors.mkdir(parents=True)
    vendor = {
        "title": "Azure",
        "wire_api": wire_api,
        "base_url": f"{model_server.origin}/openai/deployments/gpt?api-version=2026-10-01",
        "key_variable": "GATEWAY_KEY",
        "key_header": "Api-Key",
        "default_model": "gpt",
    }
    (vendors / "azure.json").write_text(json.dumps(vendor))
    done = marvin(*ASK, "--provider", "azure", env={"GATEWAY_KEY": "k-123456"})
    assert done.exit_code == 0, done.stderr
    request = model_server.requests[-1]
    assert request.path.startswith("/openai/deployments/gpt/")
    assert request.path.endswith("?api-version=2026-10-01")
    assert (request.headers["api-key"], "authorization" in request.headers) == ("k-123456", False)
