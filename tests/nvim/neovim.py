"""Scripts that drive a real Neovim with the plugin in it, as a person would."""

from pathlib import Path
from typing import Any

from tests.e2e import editors

FOLDER = Path(__file__).parent
PLUGIN = FOLDER.parents[1] / "editors" / "nvim"
OPTIONS = ("--headless", "-i", "NONE", "-n", "-u", PLUGIN / "minimal.lua")


def drive(script: str, cwd: Path, environ: dict[str, str], *arguments: str | Path) -> dict[str, Any]:
    """Run a script of ``scripts/`` in a Neovim that was started in ``cwd``, and give the object that it prints."""
    lua = f"package.path = package.path .. ';{FOLDER}/?.lua'"
    command = (editors.neovim(), *OPTIONS, "--cmd", f"lua {lua}", "-l", FOLDER / "scripts" / script, *arguments)
    return editors.run(*command, cwd=cwd, environ={"MARVIN": str(editors.MARVIN), **environ})
