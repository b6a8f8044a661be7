"""What a person sees, as text: the chat, a question, and the review of a hunk. ``docs/neovim.md`` shows the same."""

import json
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e import editors
from tests.nvim.neovim import PLUGIN
from tests.nvim.terminal import Terminal
from tests.servers.model_server import ThreadedModelServer
from tests.servers.reply import Call, Reply, Said, Thought

_DOCS = Path(__file__).parents[2] / "docs" / "neovim.md"
_HOME = "/home/ada/shop"
_FILE = (
    '"""What a customer wants to buy."""\n\n\ndef total(prices: list[int]) -> int:\n'
    '    """The sum of all prices, in cents."""\n    result = 0\n    for price in prices:\n'
    "        result -= price\n    return result\n"
)
_PATCH = {"path": "basket.py", "old_str": "        result -= price\n", "new_str": "        result += price\n"}
_RUN = {"command": "python3 -c 'import basket; print(basket.total([250, 150]))'"}


def _answer(body: Any, _: int) -> Reply:
    tools = [message for message in body["messages"] if message["role"] == "tool"]
    if not tools:
        thought = Thought("The loop subtracts each price from 0, so that the sum is negative.")
        say = "`total` subtracts each price instead of adding it. I change the sign, and run it to check."
        return Reply(Said((thought, say, Call("apply_patch", json.dumps(_PATCH)))))
    if len(tools) == 1:
        return Reply(Said((Call("run_command", json.dumps(_RUN), id="call_2"),)))
    return Reply(Said(("It prints **400** now:\n\n- one line of `basket.py` was changed\n- nothing else was touched",)))


@pytest.fixture
def shop() -> Iterator[Path]:
    """A workspace whose path is as long as the one that is shown for it."""
    folder = Path(tempfile.mkdtemp(prefix="m", dir="/tmp"))
    assert len(str(folder)) == len(_HOME)
    (folder / "basket.py").write_text(_FILE)
    yield folder
    shutil.rmtree(folder)


def test_chat_question_and_review_look_as_the_documentation_shows_them(
    shop: Path, tmp_path: Path, model_server: ThreadedModelServer, model_environ: dict[str, str]
) -> None:
    model_server.play(_answer)
    environ = {**model_environ, "MARVIN": str(editors.MARVIN), "LC_ALL": "C.UTF-8"}
    command = (editors.neovim(), "-i", "NONE", "-n", "-u", PLUGIN / "minimal.lua", "basket.py")
    with Terminal(command, shop, environ, tmp_path, columns=118, lines=34) as terminal:
        terminal.see(r"def total")
        terminal.type(":Marvin", "Enter")
        terminal.see("New conversation")
        terminal.type("i", "Why is the total negative? Mend it.", "Escape", "Enter")
        _compare("question", terminal.see("deny and stop the turn", "QUESTION waits"), shop)
        terminal.type(":Marvin question", "Enter")
        terminal.see("QUESTION waits")
        terminal.rest(0.5)
        terminal.type("a")
        _compare("chat", terminal.see("nothing else was touched", r"context \d", "ready"), shop)
        terminal.type(":Marvin close", "Enter")
        terminal.see(r"basket.py  Marvin: ready")
        terminal.type(" n")
        _compare("review", terminal.see("hunk 1 of 1"), shop)
        terminal.type(":qa!", "Enter")


def _compare(name: str, screen: str, shop: Path) -> None:
    shown = re.sub(r"context \d+", "context 999", screen.replace(str(shop), _HOME)).rstrip()
    shown = "\n".join(line.rstrip() for line in shown.splitlines())
    shown = re.sub(r"(\n~)+", "\n~", shown)
    shown = re.sub(
        r"sandbox: [^│]*│", lambda line: "sandbox: bubblewrap, with network".ljust(len(line[0]) - 1) + "│", shown
    )
    blocks = re.findall(r"<!-- screen: (\w+) -->\n```\n(.*?)\n```", _DOCS.read_text(), re.DOTALL)
    assert shown == dict(blocks)[name]
