"""``marvin context``: what would be sent, without a model and without a trace."""

import json
import os
from pathlib import Path

from tests.e2e.command import Marvin
from tests.servers.model_server import ThreadedModelServer


def test_the_blocks_are_listed_with_tokens_and_nothing_is_kept(
    marvin: Marvin, repository: Path, home: Path, model_server: ThreadedModelServer, model_environ: dict[str, str]
) -> None:
    (repository / "AGENTS.md").write_text("Use tabs.\n")
    environ = {**os.environ, **model_environ}
    done = marvin("context", "--working-dir", repository, env=environ)
    assert done.exit_code == 0, done.stderr
    lines = {line.split("  ")[0]: line.split()[-1] for line in done.stdout.splitlines()}
    assert {"rules", "coding mode", "project", "AGENTS.md", "skills", "place", "tools: files"} <= lines.keys()
    assert int(lines["AGENTS.md"]) > 5
    assert done.stdout.splitlines()[-1].endswith("for test-model (openai-compat), price unknown")
    assert "following the project's instructions in AGENTS.md" in done.stderr
    assert model_server.requests == ()
    assert not list((home / "marvin").rglob("marvin.db"))


def test_json_has_the_same_and_the_texts(marvin: Marvin, repository: Path, model_environ: dict[str, str]) -> None:
    words = ("context", "--json", "--texts", "--provider", "openai", "--model", "gpt-5.1")
    done = marvin(*words, cwd=repository, env={**os.environ, **model_environ, "OPENAI_API_KEY": "sk-secret"})
    assert done.exit_code == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["provider"], told["model"], told["context_size"]) == ("openai", "gpt-5.1", 272_000)
    assert told["tokens"] == sum(line["tokens"] for line in told["lines"])
    assert told["cost"] > told["cached_cost"] > 0
    assert told["texts"]["rules"].startswith("You are Marvin")
    assert [line["name"] for line in told["lines"]][:2] == ["rules", "coding mode"]


def test_who_has_no_key_yet_is_shown_what_it_would_cost(marvin: Marvin, repository: Path) -> None:
    words = ("context", "--provider", "anthropic", "--model", "claude-sonnet-4-5")
    done = marvin(*words, cwd=repository)
    assert done.exit_code == 0
    assert "ANTHROPIC_API_KEY is not set" in done.stderr
    assert "when all of it is cached" in done.stdout


def test_a_session_that_there_is_is_counted_with_its_conversation_and_stays_as_it_is(
    marvin: Marvin, tmp_path: Path, model_environ: dict[str, str]
) -> None:
    environ = {**os.environ, **model_environ}
    assert marvin("--non-interactive", "--prompt", "Hello", env=environ).exit_code == 0
    (before,) = json.loads(marvin("sessions", "list", "--json", env=environ).stdout)
    done = marvin("context", "--session", before["id"], env=environ)
    assert any(line.startswith("conversation: 2 messages ") for line in done.stdout.splitlines()), done.stderr
    assert json.loads(marvin("sessions", "list", "--json", env=environ).stdout) == [before]
    marvin("context", env=environ)
    assert json.loads(marvin("sessions", "list", "--json", env=environ).stdout) == [before]


def test_what_cannot_be_shown_says_why(marvin: Marvin, model_environ: dict[str, str]) -> None:
    environ = {**os.environ, **model_environ}
    for words, why in (
        (("--working-dir", "missing"), "--working-dir missing: there is no such folder"),
        (("--session", "abcdefgh"), "there is no session 'abcdefgh'"),
        (("--provider", "nobody"), "nobody"),
    ):
        done = marvin("context", *words, env=environ)
        assert done.exit_code != 0
        assert why in done.stderr
        assert done.stdout == ""


def test_sessions_are_shown_as_the_tree_that_forks_make(marvin: Marvin, model_environ: dict[str, str]) -> None:
    environ = {**os.environ, **model_environ}
    assert marvin("sessions", "tree", env=environ).stdout == "There are no sessions yet.\n"
    marvin("--non-interactive", "--prompt", "Hello", env=environ)
    (only,) = json.loads(marvin("sessions", "list", "--json", env=environ).stdout)
    tree = marvin("sessions", "tree", env=environ).stdout
    assert tree.startswith("- Hello  ")
    assert tree.endswith(f"  {only['id']}\n")
    assert json.loads(marvin("sessions", "tree", only["id"][:16], "--json", env=environ).stdout) == [
        {**only, "forks": []}
    ]
