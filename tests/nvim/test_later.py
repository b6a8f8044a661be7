"""What one Neovim has left behind is taken up by the next: conversations, hunks, drafts, turns to be undone."""

import json
from pathlib import Path
from typing import Any

from tests.e2e import editors
from tests.nvim.neovim import Drive
from tests.servers.model_server import ThreadedModelServer
from tests.servers.openai_request import asked
from tests.servers.reply import Call, Reply
from tests.servers.scenarios import calls, deltas, says


def _answer(body: Any, _: int) -> Reply:
    messages = body["messages"]
    prompt = asked(body)
    if prompt.startswith("Fix"):
        patch = {"path": "shop/basket.py", "old_str": editors.BEFORE, "new_str": editors.AFTER}
        return says("Done.") if messages[-1]["role"] == "tool" else calls(Call("apply_patch", json.dumps(patch)))
    return says("You are welcome.") if prompt.startswith("Thanks") else deltas(1, stall_after=1)


def test_hunks_drafts_and_turns_of_an_earlier_editor_are_there_in_the_next(
    drive: Drive, repository: Path, model_server: ThreadedModelServer, model_environ: dict[str, str]
) -> None:
    model_server.play(_answer)
    file = repository / "shop" / "basket.py"
    drive("later.lua", repository, model_environ, file, "first")
    assert drive("later.lua", repository, model_environ, file, "second") == {"status": "1 draft", "empty": ""}
