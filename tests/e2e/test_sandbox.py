"""The installed command keeps commands in the sandbox, and says when there is none."""

import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.command import Marvin
from tests.patience import SECONDS
from tests.servers.model_server import ThreadedModelServer
from tests.servers.scenarios import runs, says

COMMAND = Path(sys.executable).with_name("marvin")
ASK = ("--non-interactive", "--prompt", "Do it")


def answer(model_server: ThreadedModelServer) -> str:
    """What the model was told of its command."""
    return [message["content"] for message in model_server.requests[-1].json["messages"] if message["role"] == "tool"][
        -1
    ]


@pytest.fixture
def without_sandbox(tmp_path: Path) -> Any:
    """Run ``marvin`` on a machine that has neither bubblewrap nor landlockpy; a real one, made by bubblewrap."""
    bwrap, spec = shutil.which("bwrap"), find_spec("landlockpy")
    assert bwrap
    assert spec
    assert spec.origin
    hidden = ("--tmpfs", str(Path(spec.origin).parent), "--ro-bind", "/dev/null", os.path.realpath(bwrap))

    def run(*args: str, **environ: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [bwrap, "--dev-bind", "/", "/", *hidden, "--", COMMAND, *args],
            env={**os.environ, **environ},
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )

    return run


def test_commands_are_confined_and_nothing_is_said_of_it(
    marvin: Marvin, model_server: ThreadedModelServer, model_environ: dict[str, str], tmp_path: Path, home: Path
) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    model_server.play([runs("echo inside > here; echo outside > ../there; cat ~/marvin/data/*/*/*.db"), says("ok")])
    done = marvin(*ASK, env=model_environ, cwd=workspace)
    assert (done.exit_code, len(done.stderr.splitlines())) == (0, 1)
    assert ((workspace / "here").read_text(), (tmp_path / "there").exists()) == ("inside\n", False)
    assert "SQLite" not in answer(model_server)
    assert list((home / "marvin" / "cache" / "sandbox").iterdir()) == []


def test_a_key_file_that_a_vendor_names_is_hidden_wherever_it_is(
    marvin: Marvin, model_server: ThreadedModelServer, model_environ: dict[str, str], tmp_path: Path, home: Path
) -> None:
    vendors = home / "marvin" / "config" / "vendors"
    vendors.mkdir(parents=True)
    key = tmp_path / "gateway-token"
    key.write_text("5ecret-9f1c\n")
    key.chmod(0o600)
    (vendors / "gateway.yaml").write_text(f"wire_api: openai_chat\nbase_url: http://127.0.0.1:9\nkey_file: {key}\n")
    model_server.play([runs(f"cat {key}; echo end"), says("ok")])
    done = marvin(*ASK, env=model_environ)
    assert (done.exit_code, "end" in answer(model_server), "5ecret" in answer(model_server)) == (0, True, False)


def test_without_the_sandbox_commands_run_with_the_persons_rights(
    marvin: Marvin, model_server: ThreadedModelServer, model_environ: dict[str, str], tmp_path: Path
) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    model_server.play([runs("echo outside > ../there"), says("ok")])
    done = marvin(*ASK, "--sandbox", "off", env=model_environ, cwd=workspace)
    assert (done.exit_code, len(done.stderr.splitlines())) == (0, 1)
    assert (tmp_path / "there").exists()


@pytest.mark.parametrize(
    ("settings", "reached"), [("", False), ("sandbox_network: true\n", True)], ids=["by default", "by a setting"]
)
def test_the_network_is_off_under_approve_all_unless_a_setting_says_otherwise(
    settings: str,
    reached: bool,
    marvin: Marvin,
    model_server: ThreadedModelServer,
    model_environ: dict[str, str],
    home: Path,
) -> None:
    (home / "marvin" / "config").mkdir(parents=True)
    (home / "marvin" / "config" / "config.yaml").write_text(settings)
    host, _, port = model_server.url.removeprefix("http://").partition("/")[0].partition(":")
    model_server.play([runs(f"exec 3<>/dev/tcp/{host}/{port} && echo reached"), says("ok")])
    marvin(*ASK, env=model_environ)
    assert ("reached\n" in answer(model_server)) is reached


def test_folders_of_the_setting_may_be_written(
    marvin: Marvin, model_server: ThreadedModelServer, model_environ: dict[str, str], home: Path, tmp_path: Path
) -> None:
    more = tmp_path / "more"
    workspace = tmp_path / "workspace"
    for folder in (more, workspace, home / "marvin" / "config"):
        folder.mkdir(parents=True)
    (home / "marvin" / "config" / "config.yaml").write_text(f"sandbox_roots: ['{more}']\n")
    model_server.play([runs(f"echo x > {more}/there"), says("ok")])
    marvin(*ASK, env=model_environ, cwd=workspace)
    assert (more / "there").read_text() == "x\n"


def test_where_there_is_none_one_line_says_so_before_the_first_command(
    without_sandbox: Any, model_server: ThreadedModelServer, model_environ: dict[str, str]
) -> None:
    model_server.play([runs("echo one"), runs("echo two"), says("ok")])
    done = without_sandbox(*ASK, **model_environ)
    (said, _) = done.stderr.splitlines()
    start = "marvin: commands run without a sandbox, with your own rights (--approve none denies them): "
    why = "bubblewrap is not installed; Landlock needs the extra: pip install 'marvin-assistant[sandbox]'"
    assert (done.returncode, said) == (0, start + why)
    assert "two" in answer(model_server)


def test_where_there_is_none_a_run_without_commands_says_nothing(
    without_sandbox: Any, model_environ: dict[str, str]
) -> None:
    done = without_sandbox(*ASK, **model_environ)
    assert (done.returncode, len(done.stderr.splitlines())) == (0, 1)


def test_where_there_is_none_and_one_is_asked_for_nothing_runs(
    without_sandbox: Any, model_server: ThreadedModelServer, model_environ: dict[str, str], tmp_path: Path
) -> None:
    model_server.play([runs("touch mark"), says("ok")])
    done = without_sandbox(*ASK, "--sandbox", "on", **model_environ)
    assert (done.returncode, done.stdout, list(model_server.requests)) == (1, "", [])
    assert "--sandbox on: no sandbox works here, so nothing is run (bubblewrap is not installed;" in done.stderr
    assert not (tmp_path / "mark").exists()


def test_doctor_says_what_confines_commands_or_why_nothing_does(marvin: Marvin, without_sandbox: Any) -> None:
    there = [finding for finding in json.loads(marvin("doctor", "--json").stdout) if finding["area"] == "Sandbox"]
    assert [(finding["level"], finding["text"]) for finding in there] == [("ok", "commands are confined by bubblewrap")]
    none = without_sandbox("doctor")
    assert "none works here: commands run with your own rights" in none.stdout
    assert "bubblewrap is not installed" in none.stdout
