"""Prompts that wait, are steered, and come back, in a real Neovim."""

from pathlib import Path
from typing import Any

from tests.nvim.neovim import Drive
from tests.servers.model_server import ThreadedModelServer
from tests.servers.reply import Call, Reply
from tests.servers.scenarios import calls, deltas, says


def _answer(body: Any, _: int) -> Reply:
    asked = str(next(one["content"] for one in reversed(body["messages"]) if one["role"] == "user"))
    if asked.startswith("Stall"):
        return deltas(1, stall_after=1)
    if asked.startswith("Look"):
        return says("I see the basket" if "def total" in asked else "I see nothing")
    return calls(Call("run_command", '{"command": "true"}')) if asked == "Run" else says("Well.")


def test_no_prompt_is_lost_between_the_input_and_the_model(
    drive: Drive, repository: Path, model_server: ThreadedModelServer, model_environ: dict[str, str]
) -> None:
    model_server.play(_answer)
    added = ["All of shop/basket.py"]
    assert drive("waiting.lua", repository, model_environ, repository / "shop" / "basket.py") == {
        "conversations": 1,
        "order": "Stall",
        "added": added,
        "labels": [],
        "no_longer": True,
        "status": "1 draft",
        "again": added,
        "forks": 1,
    }
