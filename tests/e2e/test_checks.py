"""The setting ``checks``, through the command."""

import json
from pathlib import Path

import pytest

from marvin_server.setting_checks import file_checks
from tests.e2e.command import Marvin
from tests.servers.model_server import ThreadedModelServer
from tests.servers.reply import Call
from tests.servers.scenarios import calls, says


@pytest.fixture
def config(tmp_path: Path) -> Path:
    file = tmp_path / "config.yaml"
    file.write_text('checks:\n  "*.py": "! grep -Hn bad {file}"\n')
    return file


def test_the_model_reads_what_the_persons_check_finds_after_its_edit(
    marvin: Marvin, model_server: ThreadedModelServer, model_environ: dict[str, str], config: Path, tmp_path: Path
) -> None:
    (tmp_path / "work/.marvin").mkdir(parents=True)
    (tmp_path / "work/.marvin/config.yaml").write_text('checks: {"*": "touch ran"}\n')
    edit = json.dumps({"path": "a.py", "content": "bad\n"})
    model_server.play([calls(Call("create_file", edit)), says("I see.")])
    place = ("--working-dir", str(tmp_path / "work"), "--config", str(config), "--trust")
    done = marvin("--non-interactive", "--prompt", "Go", *place, env=model_environ)
    assert done.exit_code == 0, done.stderr
    told = model_server.requests[-1].json["messages"][-1]["content"]
    assert "[check: ! grep -Hn bad ./a.py]\n./a.py:1:bad\n[exit code 1]" in told
    assert not (tmp_path / "work/ran").exists()


@pytest.mark.parametrize("checks", ["true", "[ruff]", "{'*.py': [ruff]}", "{'*.py': ''}", "{1: ruff}"])
def test_checks_that_cannot_be_read_are_named_and_none_runs(marvin: Marvin, config: Path, checks: str) -> None:
    config.write_text(f"checks: {checks}\n")
    done = marvin("--non-interactive", "--provider", "offline", "--prompt", "Hi", "--config", str(config))
    assert f"{config}:1: checks needs file names with the command that checks them" in done.stderr


@pytest.mark.parametrize(
    "check",
    [
        'cat "{file}"',
        "cat '{file}'",
        "cat {file}.orig",
        "cat ./{file}",
        "sh -c 'cat {file}'",
        "cat \\{file}",
        "cat {file} '",
    ],
)
def test_a_check_that_puts_a_name_into_another_word_is_refused(check: str) -> None:
    with pytest.raises(ValueError, match=r"needs \{file\} as a word of its own, in no quotes, in "):
        file_checks({"*.py": check})


@pytest.mark.parametrize(
    "check",
    ["ruff check {file}", 'for f in {file}; do cat -- "$f"; done', "(cat {file}|grep 'a b')", "make 'it'", "{file}"],
)
def test_a_check_has_a_name_where_a_word_stands(check: str) -> None:
    assert file_checks({"*.py": check}) == {"*.py": check}
