"""The card of a permission question, in a real Neovim."""

from pathlib import Path
from typing import Any

from tests.nvim.neovim import Drive
from tests.servers.model_server import ThreadedModelServer
from tests.servers.reply import Reply
from tests.servers.scenarios import runs, says

_TOOL = "Run a bash command in the working directory, without input, and return its output and exit code."


def _answer(body: Any, _: int) -> Reply:
    last = body["messages"][-1]
    if last["role"] == "tool":
        return says(f"Ran: {last['content'].splitlines()[0]}")
    command = str(last["content"]).removeprefix("Run ")
    if command == "long":
        command = "\n".join(f"echo line{number}" for number in range(60))
    if command == "lines":
        command = "cat <<EOF\n    hidden\nEOF\necho last"
    if command == "wide":
        command = "echo " + " ".join(f"x{number}" for number in range(600))
    return runs(command)


def test_a_question_is_shown_whole_and_answered_from_anywhere(
    drive: Drive, repository: Path, model_server: ThreadedModelServer, model_environ: dict[str, str]
) -> None:
    model_server.play(_answer)
    assert drive("questions.lua", repository, model_environ, repository / "shop" / "basket.py") == {
        "focus": True,
        "status": True,
        "too_soon": True,
        "card": [
            "Marvin asks: Run echo one",
            "Run:      echo one",
            f"In:       {repository}",
            "With:     /bin/bash; sandbox: …",
            "Because:  mode auto: commands must be asked for",
            f"That is:  {_TOOL}",
            "",
            "  a   allow once",
            "  s   allow for this session",
            "  e   edit, then allow",
            "  d   deny",
            "  n   deny, and say why",
            "  x   deny and stop the turn",
        ],
        "stays": True,
        "unseen": True,
        "waits": True,
    }
    told = [str(request.json) for request in model_server.requests]
    assert any("rather not" in each for each in told)


def test_nothing_of_a_question_is_hidden_and_a_half_changed_command_is_not_run(
    drive: Drive, repository: Path, model_server: ThreadedModelServer, model_environ: dict[str, str]
) -> None:
    model_server.play(_answer)
    assert drive("guarded.lua", repository, model_environ, repository / "shop" / "basket.py") == {
        "folded": False,
        "folded_later": False,
        "told": True,
        "waits": True,
        "pages": True,
        "uncovered": True,
        "not_elsewhere": True,
        "waits_still": True,
        "kept": "echo one && echo evil >",
        "settled": "echo later",
    }
