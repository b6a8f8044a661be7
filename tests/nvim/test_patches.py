"""Changes of the model in a real Neovim: one undo step, a review hunk by hunk, an inline edit, undo of a turn."""

import json
from pathlib import Path
from typing import Any

from tests.nvim.neovim import Drive
from tests.servers.model_server import ThreadedModelServer
from tests.servers.openai_request import asked
from tests.servers.reply import Call, Reply
from tests.servers.scenarios import calls, says

_PATCH = """*** Begin Patch
*** Update File: shop/basket.py
@@
-    \"\"\"The sum of all prices, in cents.\"\"\"
+    \"\"\"The sum of all prices.
+
+    In cents.\"\"\"
@@
-        result -= price
+        result += price
*** End Patch"""
_TYPED = '"""What is bought."""\n\n\ndef total(prices: list[int]) -> int:\n'
_OLD = '    """The sum of all prices, in cents."""\n'
_NEW = '    """The sum of all prices.\n\n    In cents."""\n'
_REST = "    result = 0\n    for price in prices:\n        result {}= price\n    return result"


def _answer(body: Any, _: int) -> Reply:
    messages = body["messages"]
    prompt = asked(body)
    has_done = messages[-1]["role"] == "tool"
    if "Multiply" in prompt:
        patch = {"path": "shop/basket.py", "old_str": "result -= price", "new_str": "result *= price"}
        return says("It multiplies.") if has_done else calls(Call("apply_patch", json.dumps(patch)))
    return says("Fixed.") if has_done else calls(Call("apply_patch", json.dumps({"patch": _PATCH})))


def test_changes_are_one_undo_step_and_reviewed_hunk_by_hunk(
    drive: Drive, repository: Path, model_server: ThreadedModelServer, model_environ: dict[str, str]
) -> None:
    model_server.play(_answer)
    file = repository / "shop" / "basket.py"
    assert drive("patches.lua", repository, model_environ, file) == {
        "unsaved": True,
        "marks": [
            [5, "+ ", ""],
            [5, "", "-     " + _OLD.strip()],
            [10, "+ ", ""],
            [10, "", "-         result -= price"],
        ],
        "changed": _TYPED + _NEW + _REST.format("+"),
        "undone": True,
        "redone": True,
        "diff": [False, True],
        "first": 5,
        "second": 10,
        "left": _TYPED + _NEW + _REST.format("-"),
        "cleared": [],
        "proposed": [[10, "? ", ""], [10, "", "+         result *= price"]],
        "waits": True,
    }
