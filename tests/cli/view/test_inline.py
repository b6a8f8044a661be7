"""The view for every day, in a real terminal."""

import os
import signal
from pathlib import Path

import pytest

from tests.cli.view.screen import paste, pid, report, scrollback, stage


def test_what_is_typed_ahead_of_a_question_stays_in_the_input_and_answers_nothing(tmp_path: Path) -> None:
    with stage("inline", tmp_path, lines=30) as terminal:
        terminal.type("ask", "Enter", "yyy and y")
        terminal.see("yes, for this session", "› yyy and y")
        terminal.type("n")
        terminal.see("deny None None", "› yyy and y")


def test_a_text_that_begins_with_the_key_of_an_answer_is_no_answer(tmp_path: Path) -> None:
    with stage("inline", tmp_path, lines=30) as terminal:
        terminal.type("ask", "Enter")
        terminal.see("no, and stop")
        paste(terminal, tmp_path, "yes, but not now")
        terminal.see("yes, for this session", "› yes, but not now")
        terminal.type("x")
        terminal.see("deny_and_stop None None")


def test_a_long_question_is_shown_page_by_page_before_a_yes_counts(tmp_path: Path) -> None:
    with stage("inline", tmp_path, lines=24) as terminal:
        terminal.type("ask much", "Enter")
        for page in range(2, 6):
            hint = rf"shows page {page} of (\d+)"
            assert "yes, for" not in terminal.see(hint)
            terminal.type("y")
            terminal.rest(0.2)
            terminal.type("Space")
        terminal.see("yes, for this session", "line 60")
        terminal.type("s")
        terminal.see("allow_session None None")
        assert [f"   line {number}" in scrollback(terminal) for number in range(1, 61)] == [True] * 60


def test_a_command_is_edited_and_a_denial_has_a_reason(tmp_path: Path) -> None:
    with stage("inline", tmp_path, lines=34) as terminal:
        terminal.type("ask", "Enter")
        terminal.see("no, and stop")
        terminal.type("e")
        terminal.see("Command: make all")
        terminal.type("Escape")
        terminal.see("no, and stop")
        terminal.type("e")
        terminal.see("Command: make all")
        terminal.type("C-u", "BSpace", " -k", "Enter")
        terminal.see("allow_edited make all -k None")
        terminal.type("ask", "Enter")
        terminal.see("Esc|no, and stop")
        terminal.type("t")
        terminal.see("Reason:")
        terminal.type("too slow", "Enter")
        terminal.see("deny None too slow")


def test_a_hunk_is_kept_once_all_of_it_was_seen_and_rejected_at_any_time(tmp_path: Path) -> None:
    with stage("inline", tmp_path, lines=24) as terminal:
        terminal.type("judge much", "Enter")
        assert "keep all" not in terminal.see("shows page 2", "reject, and tell why")
        terminal.type("k")
        terminal.rest(0.2)
        terminal.type("t")
        terminal.see("Reason:")
        terminal.type("too dear", "Enter")
        terminal.see("reject too dear")
        terminal.type("judge", "Enter")
        terminal.see("keep all that follow")
        terminal.type("a")
        terminal.see("keep_all None")


def test_ctrl_c_at_a_question_interrupts_and_keeps_what_was_typed(tmp_path: Path) -> None:
    with stage("inline", tmp_path, lines=30) as terminal:
        terminal.type("ask", "Enter", "draft")
        terminal.see("no, and stop")
        terminal.type("C-c")
        terminal.see("interrupted, '' was typed", "› draft")
        terminal.type("C-c")
        terminal.see("interrupted, 'draft' was typed", r"(?m)^›\s*$")


def test_a_line_is_sent_steered_broken_and_found_again(tmp_path: Path) -> None:
    with stage("inline", tmp_path) as terminal:
        terminal.type("one", "M-Enter", "two", "C-j", "three", "Enter")
        terminal.see("entered: 13")
        terminal.type("turn left", "M-s")
        terminal.see("steered: 9")
        terminal.type("Up", "Up")
        terminal.see(r"› one\n  two\n  three\n.*128k")
        terminal.type("C-c")
        terminal.see(r"(?m)^›\s*$")
        terminal.type("C-r", "first")
        terminal.see("› the first line", "search back: first")
        terminal.type("Enter", "Enter")
        terminal.see("entered: 14")


def test_a_completion_is_chosen_before_the_line_is_sent(tmp_path: Path) -> None:
    with stage("inline", tmp_path) as terminal:
        terminal.type("/mo")
        terminal.see("/model  about model", "/mode   about mode")
        terminal.type("Tab", "Tab", "Enter")
        terminal.see(r"› /mode\n.*128k")
        terminal.type("Enter")
        terminal.see("entered: 5")


def test_a_choice_is_found_by_typing(tmp_path: Path) -> None:
    with stage("inline", tmp_path) as terminal:
        terminal.type("choose", "Enter")
        terminal.see("item 9")
        terminal.type("item 2")
        terminal.see("item 27")
        terminal.type("Down", "Enter")
        terminal.see("chosen: 12")
        terminal.type("choose", "Enter")
        terminal.see("Which one")
        terminal.type("Escape")
        terminal.see("chosen: None")


def test_a_paste_of_any_size_is_text_and_arrives_whole(tmp_path: Path) -> None:
    with stage("inline", tmp_path) as terminal:
        paste(terminal, tmp_path, "one \x1b[31mred\x1b[0m\x03\nrm -rf /\n")
        terminal.see(r"› one \^\[\[31mred", r"rm -rf /")
        terminal.type("Enter")
        terminal.see("entered: 26")
        terminal.type("<")
        paste(terminal, tmp_path, "x" * 99_999 + "\n" + "y" * 400_000)
        terminal.see(r"› <\[500,000 characters, 2 lines\]", "That is long: 500,001 characters")
        terminal.type(">", "Left", "BSpace")
        terminal.see(r"(?m)^› <>$")
        terminal.type("C-_")
        terminal.see("500,000 characters")
        terminal.type("Enter")
        terminal.see("entered: 500002")


def test_the_editor_gets_the_line_and_one_that_fails_changes_nothing(tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\ngrep -q fails "$1" && exit 7\necho "and more" >> "$1"\n')
    editor.chmod(0o755)
    with stage("inline", tmp_path, EDITOR=str(editor)) as terminal:
        terminal.type("begun", "C-x", "C-e")
        terminal.see(r"› begunand more|› begun\n  and more")
        terminal.type("C-c", "this fails", "C-x", "C-e")
        terminal.see("exit code 7", "› this fails")


def test_another_program_has_the_terminal_to_itself(tmp_path: Path) -> None:
    with stage("inline", tmp_path) as terminal:
        terminal.type("aside", "Enter")
        assert "128k" not in terminal.see("somebody else")
        terminal.type("y", "Enter")
        terminal.see("exit code 3", "128k")


def test_it_is_suspended_and_goes_on(tmp_path: Path) -> None:
    with stage("inline", tmp_path) as terminal:
        terminal.type("half a line", "C-z")
        terminal.see(r"(?m)^stopped")
        os.kill(pid(terminal), signal.SIGCONT)
        terminal.see("› half a line")


def test_what_was_printed_stays_as_it_was_when_the_size_changes(tmp_path: Path) -> None:
    with stage("inline", tmp_path, columns=80) as terminal:
        terminal.type("patch", "Enter")
        terminal.see("Hunks of the patch")
        before = scrollback(terminal).partition("› \n")[0]
        terminal.resize(50, 24)
        terminal.type("now", "Enter")
        after = terminal.see("entered: 3")
        assert after.count("Hunks of the patch") == 1
        assert after.count("128k") == 1
        terminal.resize(80, 24)
        terminal.see("entered: 3", "3 messages")
        assert before.rstrip() in scrollback(terminal)


@pytest.mark.parametrize("kind", ["inline", "curses", "plain"])
def test_a_hangup_ends_the_input_and_what_was_typed_is_told(kind: str, tmp_path: Path) -> None:
    with stage(kind, tmp_path) as terminal:
        terminal.type("not yet sent")
        terminal.see("not yet sent")
        os.kill(pid(terminal), signal.SIGHUP)
        assert report(tmp_path) == "ended, 'not yet sent' was typed\n"


def test_a_terminal_that_goes_ends_the_input(tmp_path: Path) -> None:
    with stage("inline", tmp_path) as terminal:
        terminal.type("ask", "Enter")
        terminal.see("no, and stop")
        terminal.__exit__()
        assert report(tmp_path) == "ended, '' was typed\n"


def test_it_leaves_the_terminal_as_it_was(tmp_path: Path) -> None:
    with stage("inline", tmp_path) as terminal:
        terminal.type("chat", "Enter")
        terminal.see("Thought")
        terminal.type("C-d")
        assert report(tmp_path) == "ended, '' was typed\n"
        assert terminal.tmux("display-message", "-p", "-t", "s", "#{cursor_flag}#{alternate_on}").strip() in ("", "10")


def test_keys_of_vi_can_be_had(tmp_path: Path) -> None:
    with stage("inline", tmp_path, VI="1") as terminal:
        terminal.type("one two")
        terminal.see("one two")
        behind = terminal.cursor
        terminal.type("Escape")
        while terminal.cursor == behind:  # until then the next key would be one with Alt
            pass
        terminal.type("bdwx", "Enter")
        terminal.see("entered: 3")
