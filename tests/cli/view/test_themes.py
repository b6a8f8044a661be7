"""Colours: those of themes, and those that a terminal has."""

import os
import re
import select
import subprocess
import sys
from pathlib import Path

import pytest
from marvin_cli.view.bar import bar
from marvin_cli.view.base import Standing
from marvin_cli.view.cells import width
from marvin_cli.view.paint import Paint, colour_bits, is_light, is_light_colour
from marvin_cli.view.signs import SIGNS
from marvin_cli.view.themes import THEMES, fitting, looks
from prompt_toolkit.styles import Style

from tests.cli.view.screen import ROOT, report
from tests.patience import SECONDS

LIGHT = ("day", "paper", "contrast-light")


@pytest.mark.parametrize("theme", THEMES[1:])
def test_every_theme_can_be_worn_with_any_number_of_colours(theme: str) -> None:
    Style(list(looks(theme).items()))
    assert looks(theme).keys() == looks("night").keys()
    for bits in (0, 4, 8, 24):
        assert Paint(theme, bits).row((("error", "x"), ("", "y"))).endswith("y")


@pytest.mark.parametrize("bits", [24, 8])
@pytest.mark.parametrize("theme", sorted({*THEMES} - {"auto", "terminal", "plain"}))
def test_every_role_can_be_read_on_the_usual_backgrounds(theme: str, bits: int) -> None:
    backgrounds = ("#ffffff", "#f5f5f5", "#fdf6e3") if theme in LIGHT else ("#000000", "#1e1e1e", "#282c34")
    for role in looks(theme):
        for shown in re.findall(r"\x1b\[[\d;]*m", Paint(theme, bits).row(((role, "x"),))):
            if colour := colour_of(shown):
                assert min(contrast(colour, rgb(each)) for each in backgrounds) >= 4.5, role


def colour_of(sequence: str) -> tuple[int, ...] | None:
    """The text's colour after an escape sequence, by xterm's numbers."""
    if exact := re.search(r"38;2;(\d+);(\d+);(\d+)", sequence):
        return tuple(map(int, exact.groups()))
    if not (indexed := re.search(r"38;5;(\d+)", sequence)):
        return None
    number = int(indexed[1])
    steps = (0, 95, 135, 175, 215, 255)
    if number >= 232:
        return (8 + 10 * (number - 232),) * 3
    return steps[(number - 16) // 36], steps[(number - 16) // 6 % 6], steps[(number - 16) % 6]


def rgb(colour: str) -> tuple[int, ...]:
    return tuple(int(colour[at : at + 2], 16) for at in (1, 3, 5))


def contrast(one: tuple[int, ...], other: tuple[int, ...]) -> float:
    """As WCAG 2.1 defines it."""

    def luminance(colour: tuple[int, ...]) -> float:
        parts = [part / 255 for part in colour]
        red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def test_colours_come_in_the_depth_that_the_terminal_has() -> None:
    row = (("code.string", "x"),)
    assert Paint("night", 24).row(row) == "\x1b[38;2;158;206;106mx\x1b[0m"
    assert Paint("night", 8).row(row) == "\x1b[38;5;149mx\x1b[0m"
    assert Paint("terminal", 4).row(row) == "\x1b[32mx\x1b[0m"
    assert Paint("night", 0).row(row) == "x"
    assert Paint("night", 0).row((("strong", "x"),)) == "\x1b[1mx\x1b[0m"


@pytest.mark.parametrize(
    ("environ", "bits"),
    [
        ({"TERM": "xterm-256color"}, 8),
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor"}, 24),
        ({"TERM": "vt100"}, 4),
        ({"TERM": "xterm-256color", "NO_COLOR": "1"}, 0),
        ({"TERM": "dumb", "COLORTERM": "truecolor"}, 0),
        ({}, 0),
    ],
)
def test_the_environment_says_how_many_colours_there_are(environ: dict[str, str], bits: int) -> None:
    assert colour_bits(environ) == bits


def test_light_and_dark_are_found_out() -> None:
    assert [is_light({"COLORFGBG": value}) for value in ("0;15", "15;0", "15;default", "")] == [True, False, None, None]
    assert [is_light_colour(reply) for reply in ("rgb:ffff/ffff/ffff", "rgb:1e/1e/2e", "no colour")] == [
        *(True, False),
        None,
    ]
    assert fitting("auto", depth=24, is_light=True) == "day"
    assert fitting("auto", depth=24, is_light=None) == "night"
    assert fitting("auto", depth=0, is_light=None) == "plain"
    assert fitting("paper", depth=0, is_light=None) == "paper"


def test_a_terminal_without_utf_8_gets_likely_signs() -> None:
    assert "● done │ … é 日".encode("ascii", SIGNS) == b"* done | ~ ? ?"


@pytest.mark.parametrize("columns", [20, 40, 80, 200])
def test_the_bar_fits_and_keeps_what_matters(columns: int) -> None:
    standing = Standing("openai", "a-model", "ada", "auto", 12, (43_000, 128_000), None, "working", (), ("readonly",))
    text = "".join(words for _, words in bar(standing, columns))
    assert width(text) < columns
    assert text.startswith("working")
    assert ("price unknown" in text) is (columns >= 80)


def test_a_terminal_that_says_it_is_light_gets_a_light_theme_and_its_reply_is_no_input(tmp_path: Path) -> None:
    ours, theirs = os.openpty()
    environ = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor", "REPORT": str(tmp_path / "report")}
    command = (sys.executable, "-m", "tests.cli.view.stage", "inline")
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, env=environ, cwd=ROOT, start_new_session=True):
        os.close(theirs)
        read_until(ours, b"\x1b]11;?\x1b\\")
        os.write(ours, b"\x1b]11;rgb:ff")
        os.write(ours, b"ff/ffff/f0f0\x07hi\r")
        shown = read_until(ours, b"entered: 2")
        os.write(ours, b"\x04")
        assert report(tmp_path) == "ended, '' was typed\n"
        os.close(ours)
    accent = Paint("day", 24).row((("prompt", "\u203a hi"),)).encode()
    assert accent in shown


def read_until(descriptor: int, text: bytes) -> bytes:
    """What comes from a terminal, up to this text."""
    read = b""
    while text not in read:
        assert select.select([descriptor], [], [], SECONDS)[0], read
        read += os.read(descriptor, 65_536)
    return read
