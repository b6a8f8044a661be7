"""Eglot, with no Marvin plugin: explain, fix in the buffer, write a commit message."""

from pathlib import Path

from tests.e2e import editors
from tests.servers.model_server import ThreadedModelServer


def test_eglot_explains_fixes_and_writes_a_commit_message(
    repository: Path, tmp_path: Path, model_server: ThreadedModelServer, model_environ: dict[str, str]
) -> None:
    model_server.play(editors.answers)
    file = repository / "shop" / "basket.py"
    typed = file.read_text().replace("What a customer wants to buy.", "What a customer buys.")
    script, result = Path(__file__).with_name("eglot_client.el"), tmp_path / "result.json"
    command = (editors.emacs(), "-nw", "-Q", "-l", script, editors.MARVIN, file, result)
    assert editors.run_on_terminal(*command, cwd=repository, environ=model_environ, result=result) == {
        "explained": editors.EXPLANATION,
        "fixed": typed.replace(editors.BEFORE, editors.AFTER),
        "saved": False,
        "undone": True,
        "message": editors.MESSAGE,
    }
    assert file.read_text() == typed.replace(editors.BEFORE, editors.AFTER)
    assert "+        result += price" in str(model_server.requests[-1].json)
