"""Turns that wait, are steered and cancelled, and a server that dies, in a real Neovim."""

from pathlib import Path
from typing import Any

from tests.nvim.neovim import Drive
from tests.servers.model_server import ThreadedModelServer
from tests.servers.openai_request import asked
from tests.servers.reply import Reply
from tests.servers.scenarios import deltas, runs, says


def _answer(body: Any, _: int) -> Reply:
    prompt = asked(body)
    if prompt == "Run":
        return runs("true")
    if "Stall" in prompt:
        return deltas(1, stall_after=1)
    if "there?" in prompt:
        return says("Here I am.")
    return says("Then this." if "then?" in prompt else "I look.")


def test_prompts_wait_and_steer_a_cancel_keeps_what_came_and_a_dead_server_is_started_again(
    drive: Drive, repository: Path, model_server: ThreadedModelServer, model_environ: dict[str, str]
) -> None:
    model_server.play(_answer)
    assert drive("turns.lua", repository, model_environ, repository / "shop" / "basket.py") == {
        "queued": True,
        "was_queued": True,
        "said": True,
        "kept": ["Run", "Look left", "And then?", "Stall", "Stall again"],
        "attached": 1,
        "advice": True,
    }
