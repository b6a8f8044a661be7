"""On a real terminal of 80 by 24: nothing that Marvin tells stops the editor until a key is pressed."""

import os
import re
import signal
from pathlib import Path
from typing import Any

from tests.e2e import editors
from tests.nvim.neovim import OPTIONS, neovim
from tests.nvim.terminal import Terminal
from tests.servers.model_server import ThreadedModelServer
from tests.servers.reply import Reply
from tests.servers.scenarios import deltas, runs, says


def _answer(body: Any, _: int) -> Reply:
    last = body["messages"][-1]
    if last["role"] == "tool":
        return says("It ran.")
    return runs("echo hi") if last["content"] == "Run" else deltas(1, stall_after=1)


def _terminal(cwd: Path, environ: dict[str, str], folder: Path, marvin: str) -> Terminal:
    environ = {**environ, "MARVIN": marvin, "LC_ALL": "C.UTF-8"}
    return Terminal((neovim(), *OPTIONS, "shop/basket.py"), cwd, environ, folder, 80, 24)


def test_a_server_that_is_killed_is_told_in_one_line_and_the_next_key_counts(
    repository: Path, tmp_path: Path, model_server: ThreadedModelServer, model_environ: dict[str, str]
) -> None:
    model_server.play(_answer)
    pids = tmp_path / "pids"
    server = tmp_path / "server"
    server.write_text(f'#!/bin/sh\necho $$ >> {pids}\nexec {editors.MARVIN} "$@"\n')
    server.chmod(0o755)
    with _terminal(repository, model_environ, tmp_path, str(server)) as terminal:
        terminal.see("def total")
        terminal.type(":Marvin say Stall", "Enter")
        terminal.see("word0")
        terminal.type(":wincmd t", "Enter")
        os.kill(int(pids.read_text().split()[0]), signal.SIGKILL)
        screen = terminal.shows(r"the server has ended \(signal 9\)")
        assert "Press ENTER" not in screen
        terminal.type("x", "x", "x")
        assert "Press ENTER" not in terminal.see(r"^What a customer")


def test_what_is_too_long_for_a_line_is_cut_and_whole_among_the_messages(
    repository: Path, tmp_path: Path, model_environ: dict[str, str]
) -> None:
    missing = str(tmp_path / "a-folder-with-a-very-long-name-that-takes-a-whole-line" / "marvin")
    with _terminal(repository, model_environ, tmp_path, missing) as terminal:
        terminal.see("def total")
        terminal.type(":Marvin say Hello", "Enter")
        assert "Press ENTER" not in terminal.see(r"… \(:Marvin messages\)")
        terminal.type(":Marvin messages", "Enter")
        assert ":checkhealth marvin" in re.sub(r"\s*\n", "", terminal.see("Press ENTER"))


def test_the_command_line_window_and_other_tab_pages_are_left_alone(
    repository: Path, tmp_path: Path, model_server: ThreadedModelServer, model_environ: dict[str, str]
) -> None:
    model_server.play(_answer)
    with _terminal(repository, model_environ, tmp_path, str(editors.MARVIN)) as terminal:
        terminal.see("def total")
        terminal.type(":Marvin", "Enter")
        terminal.see("Ready")
        terminal.type(":tabnew README.md", "Enter")
        terminal.see("Adds up")
        terminal.type(":Marvin open", "Enter")
        terminal.see("Ready")
        terminal.type(":tabnext 1", "Enter")
        terminal.see("def total")
        terminal.type(":wincmd t", "Enter", ":Marvin close", "Enter")
        terminal.see("def total")
        terminal.type(":Marvin say Run", "Enter", ":wincmd t", "Enter", "q:")
        terminal.see(r"\[Command Line\]", "QUESTION waits")
        terminal.type("iMarvin", "Escape", ":Marvin", "Enter")
        assert "E11" not in terminal.see("leave the command-line window first")
        terminal.type(":q", "Enter")
        terminal.see("deny and stop the turn")
        terminal.rest(1.0)
        terminal.type(":Marvin allow", "Enter")
        terminal.see("allowed once, by person", "It ran")
