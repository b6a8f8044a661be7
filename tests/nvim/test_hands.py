"""The mouse and the keyboard on a real terminal: clicks on a question, typing while an answer streams in."""

from pathlib import Path

from tests.e2e import editors
from tests.nvim import screens, speed
from tests.nvim.neovim import OPTIONS, neovim
from tests.nvim.terminal import Terminal
from tests.servers.model_server import ThreadedModelServer


def _terminal(cwd: Path, environ: dict[str, str], folder: Path) -> Terminal:
    environ = {**environ, "MARVIN": str(editors.MARVIN), "LC_ALL": "C.UTF-8"}
    return Terminal((neovim(), *OPTIONS, "shop/basket.py"), cwd, environ, folder, 120, 36)


def test_a_click_on_an_answer_of_the_card_answers_and_any_other_click_does_not(
    repository: Path, tmp_path: Path, model_server: ThreadedModelServer, model_environ: dict[str, str]
) -> None:
    model_server.play(screens.ask)
    with _terminal(repository, model_environ, tmp_path) as terminal:
        terminal.see("def total")
        terminal.type(":Marvin", "Enter")
        terminal.see("Ready")
        terminal.type("i", "Run it", "C-s")
        terminal.see("deny and stop the turn")
        # The person writes on meanwhile.
        terminal.type("and then")
        terminal.rest(1.0)
        terminal.click("Because:")
        terminal.rest(0.5)
        terminal.see("QUESTION waits")
        terminal.click("allow once")
        terminal.see("allowed once, by person", "It ran", "and then", "Ready")


def test_what_is_typed_is_there_at_once_while_fifty_thousand_tokens_stream_in(
    repository: Path, tmp_path: Path, model_server: ThreadedModelServer, model_environ: dict[str, str]
) -> None:
    model_server.play(lambda _body, _number: speed.stream(stall_after=speed.TOKENS))
    with _terminal(repository, model_environ, tmp_path) as terminal:
        terminal.see("def total")
        terminal.type(":Marvin", "Enter")
        terminal.see("Ready")
        terminal.type("i", "Count", "C-s")
        for number, word in enumerate(("The", "quick", "brown", "fox")):
            terminal.shows("Working" if number else "word")
            terminal.type(word, "Space")
        terminal.see("The quick brown fox", "Working", f"word{speed.TOKENS - 1}")
