"""Neovim's own LSP client, with no Marvin plugin: explain, fix in the buffer, write a commit message."""

from pathlib import Path

from tests.e2e import editors
from tests.servers.model_server import ThreadedModelServer


def test_neovim_s_own_client_explains_fixes_and_writes_a_commit_message(
    repository: Path, model_server: ThreadedModelServer, model_environ: dict[str, str]
) -> None:
    model_server.play(editors.answers)
    file = repository / "shop" / "basket.py"
    typed = file.read_text().replace("What a customer wants to buy.", "What a customer buys.")
    script = Path(__file__).with_name("neovim_client.lua")
    options = ("--headless", "-u", "NONE", "-i", "NONE", "-n")
    command = (editors.neovim(), *options, "-l", script, editors.MARVIN, file)
    assert editors.run(*command, cwd=repository, environ=model_environ) == {
        "explained": editors.EXPLANATION,
        "stayed": True,
        "fixed": typed.replace(editors.BEFORE, editors.AFTER),
        "saved": False,
        "undone": True,
        "message": editors.MESSAGE,
    }
    assert file.read_text() == typed.replace(editors.BEFORE, editors.AFTER)
    told = [str(request.json) for request in model_server.requests]
    assert any("line 8: error: the sum is negative [checker]" in each for each in told)
    assert "+        result += price" in told[-1]
