"""Scripts that drive a real Neovim with the plugin in it, as a person would; and which Neovims there are."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e import editors
from tests.patience import SECONDS

FOLDER = Path(__file__).parent
PLUGIN = FOLDER.parents[1] / "editors" / "nvim"
OPTIONS = ("-i", "NONE", "-n", "-u", str(PLUGIN / "minimal.lua"))
_CACHE = FOLDER.parents[1] / ".cache"
# Where each is, and what it says of itself: of the development dependencies, and of tests/e2e/install-nvim.sh.
_NEOVIMS = {
    "0.11": (Path(sys.executable).with_name("nvim"), r"NVIM v0\.11\."),
    "0.10": (_CACHE / "nvim0.10" / "nvim", r"NVIM v0\.10\."),
    "newest": (_CACHE / "nvim-newest" / "nvim", r"NVIM v0\.(1[2-9]|[2-9]\d)\."),
}
# Which one is the newest, and whether it can be had today, is not for this project to say.
VERSIONS = tuple(version for version, (program, _) in _NEOVIMS.items() if version != "newest" or program.exists())

Drive = Callable[..., dict[str, Any]]
"""``drive(script, cwd, environ, *arguments)``, as below with a Neovim that was chosen."""


def neovim(version: str = "0.11") -> Path:
    """That Neovim. Where it is missing the test is skipped, and in CI it fails."""
    own, pattern = _NEOVIMS[version]
    for candidate in (str(own), shutil.which("nvim")):
        if candidate and Path(candidate).exists():
            told = subprocess.run(
                [candidate, "--version"], capture_output=True, text=True, timeout=SECONDS, check=False
            )
            if re.match(pattern, told.stdout):
                return Path(candidate)
    problem = f"Neovim {version} is not installed: tests/e2e/install-nvim.sh"
    if os.environ.get("CI"):
        pytest.fail(problem)
    pytest.skip(problem)


def drive(program: Path, script: str, cwd: Path, environ: dict[str, str], *arguments: str | Path) -> dict[str, Any]:
    """Run a script of ``scripts/`` in a Neovim that was started in ``cwd``, and give the object that it prints."""
    lua = f"package.path = package.path .. ';{FOLDER}/?.lua'"
    command = (program, "--headless", *OPTIONS, "--cmd", f"lua {lua}", "-l", FOLDER / "scripts" / script, *arguments)
    return editors.run(*command, cwd=cwd, environ={"MARVIN": str(editors.MARVIN), **environ})
