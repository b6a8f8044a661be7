"""The plain view: what goes through pipes, and what a person types line by line."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.view.screen import ROOT, paste, report, stage
from tests.patience import SECONDS


def piped(text: str, **environ: str) -> str:
    """What the stage prints into a pipe when this comes from one."""
    command = (sys.executable, "-m", "tests.cli.view.stage", "inline")
    variables = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor", **environ}
    done = subprocess.run(
        command, input=text.encode(), env=variables, cwd=ROOT, capture_output=True, timeout=SECONDS, check=True
    )
    return done.stdout.decode()


def test_nothing_but_text_goes_into_a_pipe() -> None:
    shown = piped("chat\nhello\n")
    assert "\x1b" not in shown
    assert "\r" not in shown
    assert "› chat\n" in shown
    assert "∴ Thought for " in shown
    assert "entered: 5\n" in shown


def test_the_end_of_the_input_is_no_yes_and_neither_is_a_line_that_came_before() -> None:
    assert "allow" not in piped("ask\ny\ny\n")


def test_a_last_line_without_an_end_counts() -> None:
    assert "entered: 3" in piped("abc")


def test_a_line_goes_on_behind_a_backslash_and_steers_with_two_angles() -> None:
    shown = piped("one\\\ntwo\n>> left\n")
    assert "entered: 7" in shown
    assert "steered: 4" in shown


def test_a_screen_reader_gets_words_in_place_of_signs() -> None:
    shown = piped("chat\n", SCREEN_READER="1")
    assert "You: chat\n" in shown
    assert "Thought: Thought for " in shown
    assert not {"›", "●", "∴"} & set(shown)


def test_a_terminal_without_utf_8_gets_signs_that_it_has() -> None:
    shown = piped("chat\n", PYTHONIOENCODING="ascii")
    assert "> chat\n" in shown


def test_a_question_is_answered_in_a_line_of_its_own(tmp_path: Path) -> None:
    with stage("plain", tmp_path, lines=40) as terminal:
        terminal.type("ask", "Enter")
        terminal.see("no, and stop:")
        terminal.type("make it faster", "Enter")
        terminal.see("kept as a prompt; the question is still open", "entered: 14")
        terminal.type("e", "Enter")
        terminal.see("Command:")
        terminal.type("Enter")
        terminal.see("(?s)stop: e.*Command:.*stop:")
        terminal.type("e", "Enter")
        terminal.see("(?s)Command:.*Command:")
        terminal.type("make -k", "Enter")
        terminal.see("allow_edited make -k None")
        terminal.type("ask", "Enter")
        terminal.see("(?s)allow_edited.*no, and stop:")
        terminal.type("no", "Enter")
        terminal.see("deny None None")


def test_a_hunk_is_decided_on_by_a_word_or_a_key(tmp_path: Path) -> None:
    with stage("plain", tmp_path, lines=40) as terminal:
        for word, said in (("later", "later None"), ("k", "keep None"), ("reject", "reject None")):
            terminal.type("judge", "Enter")
            terminal.see(r"later:\s*\Z")
            terminal.type(word, "Enter")
            terminal.see(said)
        terminal.type("judge", "Enter")
        terminal.see(r"later:\s*\Z")
        terminal.type("t", "Enter")
        terminal.see("Reason:")
        terminal.type("too dear", "Enter")
        terminal.see("reject too dear")


def test_a_long_question_is_shown_page_by_page(tmp_path: Path) -> None:
    with stage("plain", tmp_path, lines=24) as terminal:
        terminal.type("ask much", "Enter")
        terminal.see("more = shows the next page")
        terminal.type("y", "Enter")
        screen = terminal.see("kept as a prompt", r"stop:\s*\Z")
        while (seen := max(int(number) for number in re.findall(r"line (\d+)", screen))) < 60:
            terminal.type("more", "Enter")
            screen = terminal.see(rf"line {seen + 1}\b", r"stop:\s*\Z")
        assert "y = yes" in screen
        terminal.type("y", "Enter")
        terminal.see("allow_once None None")


def test_the_line_is_edited_with_earlier_ones_completion_and_the_editor(tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nprintf "from the editor" > "$1"\n')
    editor.chmod(0o755)
    with stage("plain", tmp_path, EDITOR=str(editor)) as terminal:
        terminal.type("Up")
        terminal.see("> the second line")
        terminal.type("Up", "C-e", "!", "Enter")
        terminal.see("entered: 15", r">\s*\Z")
        terminal.type("/mo")
        assert "about" not in terminal.see("> /mo")
        terminal.type("Tab")
        terminal.see("> /model")
        terminal.type("Tab")
        terminal.see(r"> /mode\s*\Z")
        terminal.type("Enter", "Enter")
        terminal.see("> /mode\n", "entered: 5", r">\s*\Z")
        terminal.type("C-x", "C-e")
        terminal.see("> from the editor")
        terminal.type("M-s")
        terminal.see("steered: 15")


def test_a_line_may_be_longer_than_a_terminal_keeps(tmp_path: Path) -> None:
    with stage("plain", tmp_path) as terminal:
        paste(terminal, tmp_path, "x" * 9_000)
        terminal.see("x{70}")
        terminal.type("Enter")
        terminal.see("entered: 9000")


def test_what_is_half_typed_when_a_question_comes_is_no_answer_and_is_there_again_afterwards(tmp_path: Path) -> None:
    with stage("plain", tmp_path, lines=40) as terminal:
        terminal.type("ask", "Enter", "y")
        terminal.see(r"no, and\s+stop:\s*\Z")
        terminal.type("n", "Enter")
        terminal.see("deny None None", r"> y\s*\Z")


def test_a_screen_reader_meets_neither_colours_nor_signs_on_a_terminal(tmp_path: Path) -> None:
    with stage("plain", tmp_path, SCREEN_READER="1") as terminal:
        terminal.tmux("pipe-pane", "-t", "s", f"cat > {tmp_path / 'sent'}")
        terminal.type("patch", "Enter")
        terminal.see("Hunks of the patch")
        terminal.type("/mo", "Tab")
        terminal.see("> /model")
        terminal.type("C-c")
        terminal.see("'/model' was typed")
        terminal.type("C-d")
        report(tmp_path)
    sent = (tmp_path / "sent").read_text()
    assert re.findall(r"\x1b\[[\d;]*[1-9]m", sent) == []
    assert not {"›", "●", "∴", "▪", "…"} & set(sent)


def test_lines_that_are_pasted_are_one_prompt(tmp_path: Path) -> None:
    with stage("plain", tmp_path) as terminal:
        paste(terminal, tmp_path, "one\ntwo\nthree\n")
        terminal.see("> one\n  two\n  three")
        terminal.type("Enter")
        terminal.see("entered: 13")


def test_a_choice_is_made_by_number_or_by_a_part(tmp_path: Path) -> None:
    with stage("plain", tmp_path, lines=40) as terminal:
        terminal.type("choose", "Enter")
        terminal.see("30. item 29")
        terminal.type("28", "Enter")
        terminal.see("chosen: 27")
        terminal.type("choose", "Enter")
        terminal.see("(?s)chosen.*for none:")
        terminal.type("item 29", "Enter")
        terminal.see("chosen: 29")


@pytest.mark.parametrize("kind", ["inline", "curses", "plain"])
def test_ctrl_c_and_ctrl_d_are_understood_in_every_view(kind: str, tmp_path: Path) -> None:
    with stage(kind, tmp_path) as terminal:
        terminal.type("C-c")
        terminal.see("interrupted, '' was typed")
        terminal.type("C-d")
        assert report(tmp_path) == "ended, '' was typed\n"
