"""The recorded transcripts, played to a real Neovim: what is in its chat at the end."""

import re
import sys
from pathlib import Path

import pytest

from tests.nvim.neovim import Drive
from tests.transcripts import record

_ROOT = Path(__file__).parents[2]
_YOU = "## You\n\n{}\n\n"
_CHANGE = (
    "```diff\n@@ shop.py:6 @@\n"
    "-    return total(prices) / len(prices)\n"
    "+    return total(prices) / len(prices) if prices else 0\n```\n\n"
)


# ``worked`` is for the page of the protocol, with requests that no person makes.
@pytest.mark.parametrize("name", [name for name in record.SCENES if name != "worked"])
def test_a_recorded_conversation_is_shown_as_it_was(drive: Drive, name: str, tmp_path: Path) -> None:
    server = tmp_path / "server"
    play = f"{sys.executable} -m tests.transcripts.play {record.FOLDER / name}.jsonl"
    server.write_text(f"#!/bin/sh\nPYTHONPATH={_ROOT} exec {play}\n")
    server.chmod(0o755)
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "shop.py").write_text(record.SAVED)
    shown = drive("replay.lua", workspace, {"MARVIN": str(server)}, name)
    changed = record.UNSAVED.replace("len(prices)\n", "len(prices) if prices else 0\n")
    assert shown.pop("code") + "\n" == (changed if name == "patch" else record.UNSAVED)
    assert shown.pop("hunks", 1) == 1
    assert (shown["hunks_left"], shown["card"]) == (0, False)
    chat = re.sub(r"^Thinking \(\d+ s\)$", "Thinking", shown["chat"], flags=re.MULTILINE)
    assert chat == (Path(__file__).parent / "shown" / f"{name}.md").read_text().removesuffix("\n")
