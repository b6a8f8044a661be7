"""Files and lines that change while Marvin works, in a real Neovim."""

import json
from pathlib import Path
from typing import Any

from tests.e2e import editors
from tests.nvim.neovim import Drive
from tests.servers.model_server import ThreadedModelServer
from tests.servers.reply import Call, Reply
from tests.servers.scenarios import calls, says

_RUN = Call("run_command", json.dumps({"command": "sed -i '1s/.*/# by a command/' shop/basket.py"}), id="call_run")


def _change(old: str, new: str) -> Call:
    return Call(
        "apply_patch", json.dumps({"path": "shop/basket.py", "old_str": old, "new_str": new}), id=f"c{old[:9]!r}"
    )


_STEPS = {
    "Run and change": (_RUN, _change(editors.BEFORE, editors.AFTER)),
    "Change and run": (
        _change("# by a command", "# once more"),
        Call("run_command", json.dumps({"command": "cat shop/basket.py"}), id="call_cat"),
    ),
    "Delete": (_change("    result = 0\n", ""),),
    "Both": (_change("# once more", "# names"), _change("    return result\n", "    return result + 1\n")),
}


def _answer(body: Any, _: int) -> Reply:
    messages = body["messages"]
    last = max(at for at, one in enumerate(messages) if one["role"] == "user")
    steps = _STEPS.get(str(messages[last]["content"]), ())
    done = sum(one["role"] == "tool" for one in messages[last:])
    return calls(steps[done]) if done < len(steps) else says("It adds.")


def test_buffers_follow_their_files_and_hunks_and_questions_their_lines(
    drive: Drive, repository: Path, model_server: ThreadedModelServer, model_environ: dict[str, str]
) -> None:
    model_server.play(_answer)
    assert drive("followed.lua", repository, model_environ, repository / "shop" / "basket.py") == {
        "saved_before": False,
        "followed": ["# by a command", editors.AFTER.rstrip(), True, editors.BEFORE.rstrip()],
        "saved": "Saved:    basket.py, with what Marvin changed",
        "deleted": [True, 1],
        "undone": [False, 0],
        "redone": [True, 1],
        "after": True,
        "before": True,
        "asked": "lines 6-7",
    }
