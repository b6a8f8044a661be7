"""The installed command as a pipeline uses it, against the loopback model server and the offline provider."""

import json
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.command import Marvin
from tests.e2e.oneshot import ASK, GREETING, lines
from tests.servers.model_server import ThreadedModelServer
from tests.servers.reply import Call, Delivery, Reply, Said
from tests.servers.scenarios import calls, says


def test_the_whole_job_reads_greps_patches_and_tests_a_repository(
    ask: Any, model_server: ThreadedModelServer, repository: Path
) -> None:
    patch = json.dumps({"path": "shop/basket.py", "old_str": "result -= price", "new_str": "result += price"})
    # A command in the sandbox sees nothing of /tmp, where the environment of the tests may lie.
    python = Path(sys.base_prefix, "bin", f"python3.{sys.version_info.minor}")
    test = json.dumps({"command": f"{python} -m unittest 2>&1"})
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
    assert len(model_server.requests[0].body) < 14_000


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


def test_a_session_has_one_process_at_work_at_a_time(
    ask: Any, marvin: Marvin, model_server: ThreadedModelServer, model_environ: dict[str, str]
) -> None:
    session = json.loads(ask("--output", "json").stdout)["sessionId"]
    model_server.play([Reply(Said(("Slowly ", "...")), delivery=Delivery(stall_after=2))])
    first = marvin.start("--non-interactive", "--prompt", "one", "--resume", session, env=model_environ)
    first.read_until("Slowly")
    second = ask("--resume", session)
    assert (second.exit_code, second.stdout) == (1, "")
    assert f"is at work in session {session}: wait for it, or end it" in second.stderr
    first.send_signal(signal.SIGKILL)
    first.wait()
    model_server.play("text")
    assert ask("--resume", session).exit_code == 0


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
