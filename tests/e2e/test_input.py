"""The prompt, and every wrong way to ask."""

import os
import pty
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.command import Marvin
from tests.e2e.oneshot import COST_FREE, GREETING, lines
from tests.patience import SECONDS
from tests.servers.model_server import ThreadedModelServer


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
            [command, "--non-interactive"], stdin=follower, capture_output=True, timeout=SECONDS, check=False
        )
    finally:
        os.close(leader)
        os.close(follower)
    assert done.returncode == 1
    assert b"there is no prompt" in done.stderr


@pytest.mark.parametrize("option", ["--resume", "--working-dir", "--output-schema", "--config", "--model"])
def test_an_empty_value_is_a_mistake(ask: Any, model_server: ThreadedModelServer, option: str) -> None:
    done = ask(option, "")
    assert (done.exit_code, len(model_server.requests)) == (2, 0)
    assert f"argument {option}: it must not be empty" in done.stderr


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
