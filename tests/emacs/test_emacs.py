"""The Emacs package in real Emacs, batch and on a terminal, with the real server and a scripted model."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.emacs.model import answer
from tests.patience import ALL_SECONDS, SECONDS
from tests.servers.model_server import ThreadedModelServer

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
INIT = ROOT / "editors" / "emacs" / "minimal.el"
MARVIN = Path(sys.executable).with_name("marvin")
SUITES = sorted(path.name for path in HERE.glob("*-tests.el"))


def emacs(version: str) -> Path:
    """Emacs of this major version, of tests/e2e/install-emacs.sh or the system's."""
    folder = {"28": "emacs28", "30": "emacs"}[version]
    for candidate in (str(ROOT / ".cache" / folder / "emacs"), shutil.which("emacs")):
        if candidate and Path(candidate).exists():
            told = subprocess.run(
                (candidate, "--version"), capture_output=True, text=True, timeout=SECONDS, check=False
            )
            if told.stdout.startswith(f"GNU Emacs {version}."):
                return Path(candidate)
    problem = f"Emacs {version} is not installed: tests/e2e/install-emacs.sh .cache/{folder} {version}"
    if os.environ.get("CI"):
        pytest.fail(problem)
    pytest.skip(problem)


@pytest.fixture(params=["28", "30"])
def editor(request: pytest.FixtureRequest) -> Path:
    return emacs(request.param)


def _run(editor: Path, *args: str | Path, cwd: Path, **environ: str) -> str:
    env = {**os.environ, **environ, "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        (editor, "-Q", "--batch", *args), cwd=cwd, env=env, capture_output=True, timeout=ALL_SECONDS, check=False
    )
    said = (done.stdout + done.stderr).decode(errors="replace")
    assert done.returncode == 0, said[-8000:]
    return said


@pytest.fixture
def run_suite(
    repository: Path, model_server: ThreadedModelServer, model_environ: dict[str, str]
) -> Callable[[Path, str], None]:
    """Runs a file of ERT tests in an Emacs."""
    model_server.play(answer)
    environ = {**model_environ, "MARVIN_TEST_COMMAND": str(MARVIN), "MARVIN_TEST_REPOSITORY": str(repository)}
    environ |= {"MARVIN_TEST_PYTHON": sys.executable, "MARVIN_TEST_ROOT": str(ROOT)}

    def run(editor: Path, suite: str) -> None:
        files = ("-l", INIT, "-l", HERE / "driving.el", "-l", HERE / suite)
        said = _run(editor, *files, "-f", "ert-run-tests-batch-and-exit", cwd=repository, **environ)
        assert re.search(r"Ran (\d+) tests?, \1 results as expected, 0 unexpected", said), said[-3000:]

    return run


@pytest.mark.timeout(300)
@pytest.mark.parametrize("suite", SUITES)
def test_the_suite_passes(editor: Path, suite: str, run_suite: Callable[[Path, str], None]) -> None:
    run_suite(editor, suite)


def test_eglot_with_a_language_server_and_marvin_see_the_same_text(run_suite: Callable[[Path, str], None]) -> None:
    run_suite(emacs("30"), "beside-eglot.el")


def test_lsp_mode_with_a_language_server_and_marvin_see_the_same_text(
    editor: Path, run_suite: Callable[[Path, str], None]
) -> None:
    run_suite(editor, "beside-lsp-mode.el")


def test_the_package_compiles_without_a_warning_and_is_clean(editor: Path, tmp_path: Path) -> None:
    assert "0 problems" in _run(editor, "-l", HERE / "check.el", cwd=tmp_path)


def test_nothing_waits_for_an_answer() -> None:
    waits = re.compile(r"\((jsonrpc-request|accept-process-output|sleep-for|sit-for|jsonrpc-shutdown)\b")
    sources = (ROOT / "editors" / "emacs").glob("*.el")
    assert [(path.name, found[0]) for path in sources for found in waits.finditer(path.read_text())] == []
