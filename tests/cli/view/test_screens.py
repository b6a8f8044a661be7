"""What a person sees in each view, 80 and 40 columns wide, as text. ``WRITE_SCREENS=write`` writes the pages anew."""

import os
import re
import sys
from pathlib import Path

import pytest

from tests.cli.view.screen import stage

_PAGES = Path(__file__).parent / "screens"


@pytest.mark.parametrize("columns", [80, 40])
@pytest.mark.parametrize("kind", ["inline", "plain", "curses"])
def test_a_turn_looks_the_same_as_ever(kind: str, columns: int, tmp_path: Path) -> None:
    with stage(kind, tmp_path, columns=columns, lines=30) as terminal:
        terminal.type("worked", "Enter")
        terminal.see("yes, for this session")
        terminal.type("y", *(["Enter"] if kind == "plain" else []))
        screen = terminal.see("now it is\\s+0", r"(?m)^[›>]\s*$")
    _compare(f"worked-{kind}-{columns}", screen)


@pytest.mark.parametrize("columns", [80, 40])
@pytest.mark.parametrize("name", ["denied", "failed", "cancelled"])
def test_how_a_turn_can_end_is_said_in_words(name: str, columns: int, tmp_path: Path) -> None:
    with stage("inline", tmp_path, columns=columns, lines=20) as terminal:
        terminal.type(name, "Enter")
        if name == "denied":
            terminal.see("no, and stop")
            terminal.type("x")
        screen = terminal.see({"denied": "Stopped:", "failed": "Error: ", "cancelled": r"\[Cancelled\]"}[name])
    _compare(f"{name}-{columns}", screen)


@pytest.mark.parametrize("columns", [80, 40])
def test_a_question_shows_all_that_a_yes_covers(columns: int, tmp_path: Path) -> None:
    with stage("inline", tmp_path, columns=columns, lines=34) as terminal:
        terminal.type("ask", "Enter")
        _compare(f"ask-{columns}", terminal.see("no, and stop"))


def _compare(name: str, screen: str) -> None:
    shown = "\n".join(line.rstrip() for line in screen.rstrip().splitlines()) + "\n"
    shown = re.sub(r"\d+\.\d s", "0.0 s", shown)
    page = _PAGES / f"{name}.txt"
    if os.environ.get("WRITE_SCREENS") == "write":
        page.write_text(shown, encoding="utf-8")
    assert shown == page.read_text(encoding="utf-8"), f"{name}: {sys.executable}"
