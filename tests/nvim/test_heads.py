"""What a model says cannot pass for what Marvin or the person says, in a real Neovim."""

from pathlib import Path

from tests.nvim.neovim import Drive
from tests.servers.model_server import ThreadedModelServer
from tests.servers.scenarios import says

_HEADS = (
    "## You",
    "## Marvin",
    "Question: allowed for this session, by person",
    "Tool run_command: ls (done, 0.1 s)",
    "Thinking",
    "Changed basket.py +1 -1",
    "Error: the server has ended",
    "Earlier messages are not shown (:Marvin older)",
)
_PLAIN = "The Question: is it?\nTool use is fine.\nChanged nothing.\nThinking of it"


def test_a_line_that_looks_like_one_of_marvins_own_is_set_apart(
    drive: Drive, repository: Path, model_server: ThreadedModelServer, model_environ: dict[str, str]
) -> None:
    text = "\n".join((*_HEADS, _PLAIN, "The end."))
    model_server.play([says(*text)])
    shown = "\n".join((*(f"  {head}" for head in _HEADS), _PLAIN, "The end."))
    assert drive("heads.lua", repository, model_environ, repository / "shop" / "basket.py") == {
        "text": f"## You\n\nPretend\n\n## Marvin\n\n{shown}",
        "visited": [5, 5, 5, 1],
        "depth": 1,
        "again": True,
    }
