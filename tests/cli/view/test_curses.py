"""The full screen, in a real terminal."""

from pathlib import Path

from tests.cli.view.screen import report, stage


def test_it_follows_the_end_unless_it_is_scrolled_up(tmp_path: Path) -> None:
    with stage("curses", tmp_path, lines=16) as terminal:
        terminal.type("flood", "Enter")
        terminal.see("word 19999", "›")
        terminal.type("PPage")
        assert "word 19999" not in terminal.see("word 19[0-8]")
        terminal.type("hello", "Enter")
        terminal.see(r"(?m)^›\s*$")
        assert "entered: 5" not in terminal.screen
        terminal.type("C-Home")
        terminal.see("› flood", "word 0 word 1")
        terminal.type("C-End")
        terminal.see("entered: 5")


def test_a_new_width_breaks_the_lines_anew(tmp_path: Path) -> None:
    with stage("curses", tmp_path, columns=80, lines=16) as terminal:
        terminal.type("failed", "Enter")
        terminal.see("doctor")
        terminal.resize(40, 16)
        terminal.see(r"(?m)^provided: sk-wrong; check$")
        terminal.resize(80, 16)
        terminal.see("sk-wrong; check OPENAI_COMPAT_API_KEY, or run: marvin doctor")


def test_ctrl_q_leaves_and_tells_what_was_typed(tmp_path: Path) -> None:
    with stage("curses", tmp_path) as terminal:
        terminal.type("half", "C-q")
        assert report(tmp_path) == "ended, 'half' was typed\n"
