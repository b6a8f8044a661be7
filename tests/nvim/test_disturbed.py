"""What a person does while turns run breaks nothing and writes nothing to the wrong place, in a real Neovim."""

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
    if prompt.startswith("Wait"):
        patch = {"path": "shop/other.py", "old_str": "here = 1", "new_str": "here = 2"}
        steps = (Call("run_command", '{"command": "true"}'), Call("apply_patch", json.dumps(patch)))
        last = max(at for at, one in enumerate(messages) if one["role"] == "user")
        done = sum(one["role"] == "tool" for one in messages[last:])
        return calls(steps[done]) if done < len(steps) else says("Done.")
    if prompt.startswith("Look"):
        return says("I see: typed" if "result = typed" in prompt else "I see nothing")
    return deltas(200, gap=0.005)


def test_buffers_windows_and_files_may_go_while_turns_run(
    drive: Drive, repository: Path, model_server: ThreadedModelServer, model_environ: dict[str, str]
) -> None:
    model_server.play(_answer)
    (repository / "shop" / "other.py").write_text("here = 1\n")
    assert drive("disturbed.lua", repository, model_environ, repository / "shop" / "basket.py") == {
        "words": 200,
        "open": 1,
        "back": ["basket.py", 8],
        "sides": 2,
        "typed": ["        result = typed"],
        "left": True,
        "wiped": [-1, "here = 2"],
        "renamed": ["gone", "here = 2"],
        "marvin-input": [True, 1, 1],
        "marvin": [True, 1, 1],
    }
