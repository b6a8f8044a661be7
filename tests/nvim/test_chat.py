"""The chat panel, in a real Neovim against the real server."""

from pathlib import Path

from tests.nvim.neovim import Drive
from tests.servers.model_server import ThreadedModelServer

CHAT = "## You\n\nWhat is this?\n\nThinking\nLet me think.\n\n## Marvin\n\nHello, wörld! 🌍"


def test_an_answer_streams_into_a_markdown_buffer_that_outlives_its_windows(
    drive: Drive, repository: Path, model_server: ThreadedModelServer, model_environ: dict[str, str]
) -> None:
    model_server.play("thoughts")
    file = repository / "shop" / "basket.py"
    result = drive("chat.lua", repository, model_environ, file)
    assert result.pop("status").startswith("Marvin: ready, test-model, auto, context ")
    assert result == {
        "in_input": "marvin-input",
        "text": CHAT,
        "input": "",
        "folded": [True, "Thinking, 1 line"],
        "at_end": True,
        "is_locked": True,
        "earlier": "What is this?",
        "later": "half a prompt",
        "closed": True,
        "reopened": True,
        "kept": "half a prompt",
        "again": True,
        "completed": ["@shop/basket.py", "@tests/test_basket.py"],
        "empty": "",
        "offered": ["A greeting", "Archive one", "Delete one"],
        "fork": True,
    }
