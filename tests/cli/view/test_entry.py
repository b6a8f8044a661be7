"""Keys at the input line, one by one."""

import asyncio
from collections.abc import Sequence

import pytest
from marvin_cli.view.entry import Entry
from prompt_toolkit.application import Application
from prompt_toolkit.enums import EditingMode
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.layout import Layout
from prompt_toolkit.output import DummyOutput

from tests.cli.view.stage import Words
from tests.patience import SECONDS


async def entered(keys: str, *, vi: bool = False) -> Sequence[tuple[str, bool]]:
    """What is entered, and whether it steers, when these keys are pressed."""
    lines: list[tuple[str, bool]] = []
    with create_pipe_input() as keyboard:

        def take(text: str, steers: bool) -> None:
            lines.append((text, steers))
            app.exit()

        entry = Entry(Words(), take)
        app: Application[None] = Application(
            Layout(entry.container, focused_element=entry.window),
            editing_mode=EditingMode.VI if vi else EditingMode.EMACS,
            input=keyboard,
            output=DummyOutput(),
        )

        keyboard.send_text(keys)
        await asyncio.wait_for(app.run_async(), SECONDS)
    return lines


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ("hello\r", "hello"),
        ("one\ntwo\r", "one\ntwo"),
        ("one\x1b\rtwo\r", "one\ntwo"),
        ("  \r\rx \r", "  x "),
        ("world\x01hello \r", "hello world"),
        ("one two\x17three\r", "one three"),
        ("\x1b[A\r", "the second line"),
        ("\x1b[A\x1b[A\r", "the first line"),
        ("\x12first\r\r", "the first line"),
        ("\x1b[200~a\r\nb\rc\x1b[31md\x03\x1b[201~\r", "a\nb\nc\x1b[31md\x03"),
        ("日本\x7f語\r", "日語"),
    ],
)
async def test_keys_make_a_line(keys: str, text: str) -> None:
    assert await entered(keys) == [(text, False)]


async def test_alt_s_steers() -> None:
    assert await entered("to the left\x1bs") == [("to the left", True)]


async def test_keys_of_vi_edit_where_they_are_wanted() -> None:
    assert await entered("one two\x1b0dwA!\r", vi=True) == [("two!", False)]


async def test_a_long_paste_takes_one_key_to_delete_and_one_to_come_back() -> None:
    paste = "\x1b[200~" + "x" * 20_000 + "\x1b[201~"
    assert await entered(f"<{paste}>\x02\x7f\r") == [("<>", False)]
    assert await entered(f"<{paste}\x7f\x1f>\r") == [("<" + "x" * 20_000 + ">", False)]
