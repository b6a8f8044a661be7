"""What a person sees, as text, in a terminal."""

from pathlib import Path

from tests.nvim import screens
from tests.servers.model_server import ThreadedModelServer


def test_chat_question_and_review_look_as_the_documentation_shows_them(
    tmp_path: Path, model_server: ThreadedModelServer, model_environ: dict[str, str]
) -> None:
    model_server.play(screens.answer)
    assert screens.seen(model_environ, tmp_path, 100, 30) == screens.documented()


def test_in_a_small_terminal_the_panel_takes_half_of_it_and_nothing_runs_over(
    tmp_path: Path, model_server: ThreadedModelServer, model_environ: dict[str, str]
) -> None:
    model_server.play(screens.answer)
    shown = screens.seen(model_environ, tmp_path, 80, 24)
    expected = (Path(__file__).parent / "shown" / "small.txt").read_text().removesuffix("\n")
    assert f"{shown['chat']}\n\n{shown['question']}" == expected
