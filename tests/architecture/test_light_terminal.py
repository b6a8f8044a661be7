"""What a terminal has imported by the time that its prompt is there: an allow-list of packages, and no more of ours."""

import os
import sys
from pathlib import Path

from tests.architecture.test_light_imports import ALWAYS, COMMAND, STANDARD, modules, python
from tests.nvim.terminal import Terminal

PACKAGES = {"marvin_cli", "marvin_server", "msgspec", "prompt_toolkit", "wcwidth"}
OURS = {
    *ALWAYS,
    *(f"marvin_server.{name}" for name in ("config_file", "events", "log", "messages", "model_settings", "paths")),
    *(f"marvin_server.{name}" for name in ("sanitise", "setting_checks", "settings")),
    *(f"marvin_server.profiles{name}" for name in ("", ".files", ".history", ".preferences", ".profile")),
    *(f"marvin_server.profiles.{name}" for name in ("taking_over",)),
    *(f"marvin_server.workspace{name}" for name in ("", ".process", ".descendants", ".orphans", ".names")),
    *(f"marvin_server.workspace.{name}" for name in ("file_names", "fuzzy", "confine", "beneath", "listing")),
    *(f"marvin_cli.{name}" for name in ("interactive", "ntfy", "request", "stdout", "repl", "view")),
    *(f"marvin_cli.repl.{name}" for name in ("person", "source")),
    "marvin_server.writer",
}


def test_a_prompt_needs_no_model_no_store_and_no_tool(tmp_path: Path) -> None:
    times = tmp_path / "times"
    # The session is opened beside the prompt; without a store that it could use, it stays at that.
    shell = f'exec 2>"$0"; exec "{sys.executable}" -X importtime "{COMMAND}" --provider offline'
    environ = {**os.environ, "LC_ALL": "C.UTF-8", "COLORFGBG": "15;0"}
    with Terminal(("bash", "-c", shell, str(times)), tmp_path, environ, tmp_path, 80, 24) as terminal:
        terminal.see("›")
    lines = times.read_text().splitlines()
    before = next(number for number, line in enumerate(lines) if line.endswith("marvin_cli.view.inline"))
    found = modules("\n".join(lines[:before])) - modules(python("-X", "importtime", "-c", STANDARD))
    packages = {module.partition(".")[0] for module in found} - set(sys.stdlib_module_names)
    assert packages <= PACKAGES
    ours = {module for module in found if module.startswith("marvin_")}
    assert {module for module in ours - OURS if not module.startswith("marvin_cli.view.")} == set()
