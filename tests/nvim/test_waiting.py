"""Prompts that wait, are steered, and come back, in a real Neovim."""

from pathlib import Path
from typing import Any

from tests.nvim.neovim import Drive
from tests.servers.model_server import ThreadedModelServer
from tests.servers.openai_request import asked
from tests.servers.reply import Reply
from tests.servers.scenarios import deltas, runs, says


def _answer(body: Any, _: int) -> Reply:
    prompt = asked(body)
    if prompt.startswith("Stall"):
        return deltas(1, stall_after=1)
    if prompt.startswith("Look"):
        return says("I see the basket" if "def total" in prompt else "I see nothing")
    return runs("true") if prompt == "Run" else says("Well.")


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
