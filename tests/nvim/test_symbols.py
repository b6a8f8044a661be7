"""`#name` in a prompt: found by the editor's other language servers, in a real Neovim."""

import sys
from pathlib import Path

from tests.nvim.neovim import FOLDER, Drive
from tests.servers.model_server import ThreadedModelServer
from tests.servers.scenarios import says


def test_a_symbol_is_completed_by_another_language_server_and_goes_along_with_the_prompt(
    drive: Drive, repository: Path, model_server: ThreadedModelServer, model_environ: dict[str, str]
) -> None:
    model_server.play(lambda _body, _number: says("I looked."))
    (repository / "shop" / "tax.py").write_text("def tax(price):\n    return price // 5\n")
    file = repository / "shop" / "basket.py"
    file.write_text(file.read_text() + "\n\ndef tax(price):\n    return 0\n")
    shown = drive("symbols.lua", repository, model_environ, file, sys.executable, FOLDER / "symbol_server.py")
    total, tax = ["#total", "Function shop/basket.py:4"], "Function shop/basket.py:12"
    assert shown == {
        "nobody": [],
        "all": [total, ["#tax", tax]],
        "here": [total],
        "elsewhere": [["#TotalTest", "Class tests/test_basket.py:6"]],
        "twice": [["#tax@shop/basket.py:12", tax], ["#tax@shop/tax.py:1", "Function shop/tax.py:1"]],
        "left": [],
    }
    prompt = str(next(request.json for request in model_server.requests if "Look at" in str(request.json)))
    assert "result -= price" in prompt
    assert "tests/test_basket.py, lines 6 to 8" in prompt
    assert "return 0" not in prompt
