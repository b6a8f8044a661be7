"""What must not leak, and who may read what is kept."""

import sqlite3
import stat
from pathlib import Path
from typing import Any

from tests.servers.model_server import ThreadedModelServer
from tests.servers.reply import Call
from tests.servers.scenarios import calls, runs, says


def test_the_store_is_private(ask: Any, home: Path) -> None:
    ask()
    database = home / "marvin" / "data" / "profiles" / "default" / "marvin.db"
    assert stat.S_IMODE(database.stat().st_mode) == 0o600
    with sqlite3.connect(database) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()


def test_secrets_do_not_reach_a_command(ask: Any, model_server: ThreadedModelServer) -> None:
    model_server.play([runs("env"), says("ok")])
    ask(env={"GITHUB_TOKEN": "ghp_secret", "MY_PASSWORD": "hush", "PLAIN": "seen"})
    output = next(m for m in model_server.requests[-1].json["messages"] if m["role"] == "tool")["content"]
    assert "PLAIN=seen" in output
    assert not any(secret in output for secret in ("ghp_secret", "hush", "sk-test"))


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
