"""``python -m tests.emacs.speed`` measures how long a long stream and a large edit hold up Emacs' main loop."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.emacs.model import answer
from tests.emacs.test_emacs import HERE, MARVIN, ROOT, emacs
from tests.servers.model_server import ThreadedModelServer


def measured(version: str, folder: Path) -> list[str]:
    """A line each for the stream and the edit, in an Emacs of this major version."""
    repository = folder / "repository"
    (repository / "shop").mkdir(parents=True)
    (repository / "shop" / "basket.py").write_text("def total(prices):\n    return sum(prices)\n")
    subprocess.run(("git", "init", "--quiet", repository), check=True)
    with ThreadedModelServer(answer) as server:
        environ = {
            **os.environ,
            "LC_ALL": "C.UTF-8",
            "HOME": str(folder),
            "MARVIN_HOME": str(folder / "marvin"),
            "LLM_PROVIDER": "openai-compat",
            "OPENAI_COMPAT_URL": server.url,
            "OPENAI_COMPAT_API_KEY": "sk-test",
            "OPENAI_COMPAT_MODEL": "test-model",
            "MARVIN_TEST_COMMAND": str(MARVIN),
            "MARVIN_TEST_REPOSITORY": str(repository),
            "MARVIN_TEST_PYTHON": sys.executable,
            "MARVIN_TEST_ROOT": str(ROOT),
        }
        files = [word for name in ("init.el", "driving.el", "speed.el") for word in ("-l", HERE / name)]
        command = (emacs(version), "-Q", "--batch", *files, "-f", "ert-run-tests-batch-and-exit")
        done = subprocess.run(command, cwd=repository, env=environ, capture_output=True, text=True, check=True)
    return [f"Emacs {version}, {line}" for line in done.stderr.splitlines() if line.endswith(" ms at most")]


if __name__ == "__main__":
    for each in ("28", "30"):
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
            print("\n".join(measured(each, Path(place))), flush=True)
