"""What a person sees, as text: the chat, a question, and the review of a hunk, in a terminal.

``python -m tests.nvim.screens`` puts them into ``docs/neovim.md``; the tests compare.
"""

import json
import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

from tests.e2e import editors
from tests.nvim.neovim import OPTIONS, neovim
from tests.nvim.terminal import Terminal
from tests.servers.model_server import ThreadedModelServer
from tests.servers.reply import Call, Reply, Said, Thought

_DOCS = Path(__file__).parents[2] / "docs" / "neovim.md"
_BLOCK = r"(<!-- screen: (\w+) -->\n```\n)(.*?)(\n```)"
_HOME = "/home/ada/shop"
_FILE = (
    '"""What a customer wants to buy."""\n\n\ndef total(prices: list[int]) -> int:\n'
    '    """The sum of all prices, in cents."""\n    result = 0\n    for price in prices:\n'
    "        result -= price\n    return result\n"
)
_PATCH = {"path": "basket.py", "old_str": "        result -= price\n", "new_str": "        result += price\n"}
_RUN = {"command": "python3 -c 'import basket; print(basket.total([250, 150]))'"}


def answer(body: Any, _: int) -> Reply:
    """Think, change the file, ask to run a command, and sum up."""
    tools = [message for message in body["messages"] if message["role"] == "tool"]
    if not tools:
        thought = Thought("The loop subtracts each price from 0, so that the sum is negative.")
        say = "`total` subtracts each price instead of adding it. I change the sign, and run it to check."
        return Reply(Said((thought, say, Call("apply_patch", json.dumps(_PATCH)))))
    if len(tools) == 1:
        return Reply(Said((Call("run_command", json.dumps(_RUN), id="call_2"),)))
    return Reply(Said(("It prints **400** now:\n\n- one line of `basket.py` was changed\n- nothing else was touched",)))


def ask(body: Any, _: int) -> Reply:
    """Ask to run a command, and say that it ran."""
    has_run = body["messages"][-1]["role"] == "tool"
    return Reply(Said(("It ran.",) if has_run else (Call("run_command", json.dumps(_RUN)),)))


def documented() -> dict[str, str]:
    """The screens that the documentation shows, by their names."""
    return {found[2]: found[3] for found in re.finditer(_BLOCK, _DOCS.read_text(), re.DOTALL)}


def seen(environ: dict[str, str], folder: Path, columns: int, lines: int) -> dict[str, str]:
    """``question``, ``chat`` and ``review``, in a terminal of this size; ``folder`` is private.

    ``environ`` makes ``marvin`` talk to a model that says ``answer``.
    """
    # A workspace whose path is as long as the one that is shown for it.
    shop = Path(tempfile.mkdtemp(prefix="m", dir="/tmp"))
    assert len(str(shop)) == len(_HOME)
    (shop / "basket.py").write_text(_FILE)
    environ = {**environ, "MARVIN": str(editors.MARVIN), "LC_ALL": "C.UTF-8"}
    screens: dict[str, str] = {}
    try:
        with Terminal((neovim(), *OPTIONS, "basket.py"), shop, environ, folder, columns, lines) as terminal:
            terminal.see(r"def total")
            terminal.type(":Marvin", "Enter")
            terminal.see("test-model, auto", "Ready")
            terminal.type("i", "Why is the total negative? Mend it.", "Escape", "Enter")
            screens["question"] = terminal.see("deny and stop the turn", "QUESTION waits")
            terminal.type(":Marvin question", "Enter")
            terminal.see("QUESTION waits")
            terminal.rest(1.0)
            terminal.type("a")
            screens["chat"] = terminal.see("nothing else was touched", r"context \d", "Ready")
            terminal.type(":Marvin close", "Enter")
            terminal.see(r"basket.py  Marvin: ready")
            terminal.type(" n")
            screens["review"] = terminal.see("hunk 1 of 1")
            terminal.type(":qa!", "Enter")
    finally:
        shutil.rmtree(shop)
    return {name: _normal(screen.replace(str(shop), _HOME)) for name, screen in screens.items()}


def _normal(screen: str) -> str:
    """Without what differs from one machine to the next."""

    def folded(line: re.Match[str]) -> str:
        ending = "… (done, 1.5 s)"
        return f"Tool run_command: {_RUN['command']}"[: len(line[0]) - len(ending)] + ending

    shown = re.sub(r"context \d+ tokens", "context 99 tokens", screen).rstrip()
    shown = re.sub(r"Tool run_command[^│\n]*… \(done(?:, [\d.]+ s)?\)", folded, shown)
    shown = re.sub(r"(?<=Thinking) \(\d+ s\)", "", shown)
    shown = re.sub(
        r"sandbox: [^│]*│", lambda line: "sandbox: bubblewrap, with network".ljust(len(line[0]) - 1) + "│", shown
    )
    return re.sub(r"(\n~)+$", "\n~", "\n".join(line.rstrip() for line in shown.splitlines()), flags=re.MULTILINE)


def _write() -> None:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place, ThreadedModelServer(answer) as server:
        environ = {
            **os.environ,
            "HOME": place,
            "MARVIN_HOME": f"{place}/marvin",
            "LLM_PROVIDER": "openai-compat",
            "OPENAI_COMPAT_URL": server.url,
            "OPENAI_COMPAT_API_KEY": "sk-test",
            "OPENAI_COMPAT_MODEL": "test-model",
        }
        screens = seen(environ, Path(place), 100, 30)
    text = re.sub(_BLOCK, lambda found: found[1] + screens[found[2]] + found[4], _DOCS.read_text(), flags=re.DOTALL)
    _DOCS.write_text(text)


if __name__ == "__main__":
    _write()
