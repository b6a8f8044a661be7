"""The small subcommands, as a person and a script use them."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.command import Marvin
from tests.patience import SECONDS
from tests.servers.model_server import ThreadedModelServer


@pytest.fixture
def session(marvin: Marvin, model_server: ThreadedModelServer, model_environ: dict[str, str]) -> str:
    """The id of a session that greets."""
    done = marvin("--non-interactive", "--prompt", "Say `hello`", "--output", "json", env=model_environ)
    return json.loads(done.stdout)["sessionId"]


def findings(marvin: Marvin, **environ: str) -> list[dict[str, Any]]:
    return json.loads(marvin("doctor", "--json", env=environ).stdout)


def test_doctor_says_what_is_there_and_what_to_do_next(marvin: Marvin, home: Path) -> None:
    done = marvin("doctor")
    assert done.exit_code == 0
    assert f"settings  {home}/marvin/config/config.yaml (not there: the defaults hold)" in done.stdout
    assert f"logs      {home}/marvin/state/logs" in done.stdout
    assert "export OPENAI_API_KEY=..." in done.stdout
    assert "in use: offline" in done.stdout
    assert "commands are confined by" in done.stdout


def test_doctor_names_the_provider_in_use_and_never_shows_a_key(marvin: Marvin) -> None:
    done = marvin("doctor", env={"OPENAI_API_KEY": "sk-very-secret"})
    assert "in use: openai with gpt-5.1" in done.stdout
    assert "key from OPENAI_API_KEY" in done.stdout
    assert "sk-very-secret" not in done.stdout + done.stderr


def test_doctor_asks_the_servers_of_this_machine(marvin: Marvin, model_server: ThreadedModelServer) -> None:
    nobody = "http://127.0.0.1:9/v1"
    environ = {"LLAMA_CPP_URL": model_server.url, "VLLM_URL": nobody, "LM_STUDIO_URL": model_server.origin}
    found = {f["text"].partition(":")[0]: f for f in findings(marvin, **environ) if f["area"] == "Providers"}
    assert found["llama-cpp"] == {
        "area": "Providers",
        "level": "ok",
        "text": f"llama-cpp: answers at {model_server.url}; no key is needed",
        "advice": None,
    }
    assert found["vllm"] == {
        "area": "Providers",
        "level": "note",
        "text": f"vllm: not running: nothing answers at {nobody}",
        "advice": "start it with: vllm serve MODEL, or set VLLM_URL to where it answers",
    }
    assert found["lm-studio"]["text"] == (
        f"lm-studio: answers at {model_server.origin}; lm-studio has no default model: "
        "name one with --model or LM_STUDIO_MODEL"
    )
    assert {request.path for request in model_server.requests} == {"/v1/models", "/models"}


def test_doctor_says_that_the_chosen_server_does_not_run_and_exits_0(marvin: Marvin) -> None:
    done = marvin("doctor", env={"LLM_PROVIDER": "llama-cpp", "LLAMA_CPP_URL": "http://127.0.0.1:9/v1"})
    assert done.exit_code == 0
    assert "  --  llama-cpp: not running: nothing answers at http://127.0.0.1:9/v1\n" in done.stdout
    assert "  --  in use: llama-cpp with default\n" in done.stdout


def test_doctor_lists_the_fallback_chain_in_order(marvin: Marvin, home: Path) -> None:
    (home / "marvin" / "config").mkdir(parents=True)
    (home / "marvin" / "config" / "config.yaml").write_text("fallback: [openai, nobody, llama-cpp, groq]\n")
    environ = {"OPENAI_API_KEY": "sk-secret", "LLAMA_CPP_URL": "http://127.0.0.1:9/v1", "LLM_PROVIDER": "gemini"}
    chain = [(f["level"], f["text"]) for f in findings(marvin, **environ) if f["area"] == "When it fails"]
    assert [(level, text.partition(" (known: ")[0]) for level, text in chain] == [
        ("ok", "1. openai: key from OPENAI_API_KEY"),
        ("problem", "2. nobody: unknown provider 'nobody'"),
        ("note", "3. llama-cpp: not running: nothing answers at http://127.0.0.1:9/v1"),
        ("note", "4. groq: GROQ_API_KEY is not set"),
    ]


def test_doctor_finds_what_is_wrong_and_exits_1(marvin: Marvin, home: Path) -> None:
    config = home / "marvin" / "config"
    (config / "vendors").mkdir(parents=True)
    (config / "config.yaml").write_text("sandbx: on\n")
    (config / "vendors" / "broken.json").write_text("{\n")
    done = marvin("doctor")
    assert done.exit_code == 1
    problems = [line for line in done.stdout.splitlines() if "!!" in line]
    assert [name for name in ("config.yaml:1", "broken.json:2") if any(name in line for line in problems)] == [
        "config.yaml:1",
        "broken.json:2",
    ]


def test_doctor_says_when_ripgrep_and_git_are_missing(marvin: Marvin, tmp_path: Path) -> None:
    found = findings(marvin, PATH=str(tmp_path))
    assert [f["advice"] for f in found if f["text"].startswith(("git:", "rg:"))] == ["install git", "install ripgrep"]


def test_doctor_warns_of_another_marvin_that_comes_first(marvin: Marvin, tmp_path: Path) -> None:
    other = tmp_path / "bin" / "marvin"
    other.parent.mkdir()
    other.write_text("#!/bin/sh\n")
    other.chmod(0o755)
    problems = [f["text"] for f in findings(marvin, PATH=f"{other.parent}:/usr/bin:/bin") if f["level"] == "problem"]
    assert problems == [f"another command comes first on PATH: {other}"]


def test_models_lists_every_provider_with_price_and_context(marvin: Marvin) -> None:
    rows = {row["provider"]: row for row in json.loads(marvin("models", "--json").stdout)}
    assert {"gemini", "groq", "openai", "openai-compat", "offline"} <= set(rows)
    assert (rows["openai"]["model"], rows["openai"]["context"], rows["openai"]["input"]) == ("gpt-5.1", 272_000, 1.25)
    abilities = {name: [rows[name][ability] for ability in ("tools", "images", "thinking")] for name in rows}
    assert abilities["openai"] == abilities["anthropic"] == [True, True, True]
    assert (abilities["groq"], abilities["vllm"]) == ([True, False, False], [None, None, None])
    table = marvin("models", env={"OPENAI_COMPAT_MODEL": "nobody/knows"}).stdout
    assert "nobody/knows" in table
    assert "price unknown" in table


@pytest.fixture
def acme(home: Path, model_server: ThreadedModelServer) -> ThreadedModelServer:
    """A vendor of the person's own that sets OpenAI's prices."""
    folder = home / "marvin" / "config" / "vendors"
    folder.mkdir(parents=True)
    vendor = {"title": "Acme", "wire_api": "openai_chat", "base_url": model_server.url, "price_vendor": "openai"}
    (folder / "acme.json").write_text(json.dumps({**vendor, "default_model": "gpt-5.1"}))
    return model_server


def test_models_refresh_lists_what_is_offered_and_keeps_it(marvin: Marvin, acme: ThreadedModelServer) -> None:
    assert json.loads(marvin("models", "acme", "--json").stdout)[0]["offered"] is None
    done = marvin("models", "acme", "--refresh", "--json")
    (row,) = json.loads(done.stdout)
    (offer,) = row["offered"]["models"]
    assert (done.exit_code, done.stderr) == (0, "")
    assert offer == {
        "model": "test-model",
        **dict.fromkeys(("context", "input", "output", "tools", "images", "thinking")),
    }
    assert [(request.method, request.path) for request in acme.requests] == [("GET", "/v1/models")]
    assert json.loads(marvin("models", "acme", "--json").stdout) == [row]
    assert f"Models of acme, as of {row['offered']['at'][:10]}" in marvin("models").stdout
    assert len(acme.requests) == 1


def test_models_refresh_fails_only_when_the_one_asked_for_fails(marvin: Marvin, acme: ThreadedModelServer) -> None:
    nobody = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "GROQ_BASE_URL": "nonsense", "GROQ_API_KEY": "k"}
    one = marvin("models", "openai", "--refresh", env=nobody)
    assert (one.exit_code, one.stderr.startswith("marvin: cannot reach 127.0.0.1:9")) == (1, True)
    every = marvin("models", "--refresh", env=nobody)
    assert (every.exit_code, len(every.stderr.splitlines())) == (0, 1)
    assert every.stderr.startswith("marvin: GROQ_BASE_URL needs an address")
    assert "Models of acme" in every.stdout
    assert marvin("models", "offline", "--refresh").exit_code == 2


def test_models_refuses_an_unknown_provider(marvin: Marvin) -> None:
    done = marvin("models", "opnai")
    assert (done.exit_code, "did you mean openai" in done.stderr) == (2, True)


def test_tools_lists_all_and_explains_one(marvin: Marvin) -> None:
    names = [tool["name"] for tool in json.loads(marvin("tools", "--json").stdout)]
    assert {"read_file", "apply_patch", "code_grep", "run_command", "find_tools"} <= set(names)
    one = marvin("tools", "read_file")
    assert "start_line (optional)" in one.stdout
    assert marvin("tools", "no_such_tool").exit_code == 2


def test_a_persons_own_broken_tool_is_named(marvin: Marvin, home: Path) -> None:
    tools = home / "marvin" / "config" / "tools"
    tools.mkdir(parents=True)
    (tools / "wrong.py").write_text("1 / 0\n")
    assert "wrong.py: ZeroDivisionError" in marvin("tools").stderr
    done = marvin("tools", "--json")
    assert json.loads(done.stdout)
    assert "wrong.py: ZeroDivisionError" in done.stderr


def test_sessions_are_listed_shown_searched_and_exported(marvin: Marvin, session: str, tmp_path: Path) -> None:
    assert f"{session}  " in marvin("sessions", "list").stdout
    assert marvin("sessions", "list", "--here", cwd=tmp_path.parent).stdout == "There are no sessions yet.\n"
    shown = marvin("sessions", "show", session[:10]).stdout
    assert shown.startswith("# Say `hello`\n")
    assert "## Assistant\n\nHello, wörld! 🌍" in shown
    hits = json.loads(marvin("sessions", "search", "--json", "wörl").stdout)
    assert [hit["session_id"] for hit in hits] == [session]
    assert marvin("sessions", "search", 'no" such OR words').stdout == "Nothing found.\n"
    target = tmp_path / "session.json"
    assert marvin("sessions", "export", session, "--to", target).exit_code == 0
    exported = json.loads(target.read_text())
    assert [entry["body"]["role"] for entry in exported["entries"]] == ["user", "assistant"]
    assert marvin("sessions", "export", session, "--to", target).exit_code == 2
    assert json.loads(target.read_text()) == exported


def test_without_sessions_there_is_nothing_to_list_and_no_store_is_made(marvin: Marvin, home: Path) -> None:
    assert marvin("sessions", "list").stdout == "There are no sessions yet.\n"
    assert marvin("sessions", "list", "--json").stdout == "[]\n"
    assert marvin("sessions", "show", "0123456789").exit_code == 2
    assert not (home / "marvin").exists()


@pytest.mark.parametrize("name", ["doctor", "login", "models", "sessions", "tools"])
def test_every_subcommand_has_help_and_refuses_what_it_does_not_know(marvin: Marvin, name: str) -> None:
    done = marvin(name, "--help")
    assert (done.exit_code, done.stdout.startswith(f"usage: marvin {name}")) == (0, True)
    assert marvin(name, "--nonsense").exit_code == 2


@pytest.mark.parametrize("words", [("tools",), ("doctor",), ("sessions", "list")])
def test_a_full_or_closed_standard_output_is_no_crash(words: tuple[str, ...], home: Path) -> None:
    command = [Path(sys.executable).with_name("marvin"), *words]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=SECONDS, check=False)
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert done.stderr.endswith(": No space left on device\n")
    closed = subprocess.run(
        ["/bin/sh", "-c", 'exec "$0" "$@" >&-', *command],
        stderr=subprocess.PIPE,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert (closed.returncode, closed.stderr) == (141, "")


def test_a_folder_that_is_gone_is_no_crash(home: Path, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    script = 'rmdir "$PWD"; exec "$0" doctor'
    command = ["/bin/sh", "-c", script, Path(sys.executable).with_name("marvin")]
    done = subprocess.run(command, cwd=gone, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert "Traceback" not in done.stderr
    assert done.returncode in {0, 1}
