"""One-shots, context, options and health, in a real Neovim."""

from pathlib import Path
from typing import Any

from tests.e2e import editors
from tests.nvim.neovim import Drive
from tests.servers.model_server import ThreadedModelServer


def test_what_is_asked_about_the_code_at_the_cursor_is_answered_where_it_belongs(
    drive: Drive, repository: Path, model_server: ThreadedModelServer, model_environ: dict[str, str]
) -> None:
    model_server.play(editors.answers)
    expected: dict[str, Any] = {
        "words": ["redo", "refactor", "reject", "rename", "restart", "review"],
        "modes": ["auto", "full", "plan", "review"],
        "unknown": True,
        "mappings": ":Marvin explain<CR>",
        "stayed": True,
        "title": "Explain basket.py:4-9",
        "fixed": [editors.AFTER.rstrip("\n")],
        "context": ["basket.py:4-5", "diagnostics of basket.py", "README.md"],
        "used": [],
        "commit": [editors.MESSAGE, "# Please enter the commit message"],
        "options": (
            'Marvin: setup: panel.position: "top" is none of bottom, left, right\n'
            "panel.width: expected a whole number above 0, got 0\n"
            "pannel: there is no such option; there are cmd, env, keys, panel, root_markers"
        ),
        "kept": "right",
        "health": True,
        "help": ["help", "marvin.txt"],
        "globals": True,
    }
    assert drive("oneshots.lua", repository, model_environ, repository / "shop" / "basket.py") == expected
    told = [str(request.json["messages"][1:]) for request in model_server.requests]
    assert any("- line 8: the sum is negative (checker)" in each for each in told)
    look = next(each for each in told if "Look" in each)
    assert "def total" in look
    assert "the sum is negative" in look
