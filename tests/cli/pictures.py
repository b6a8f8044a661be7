"""``python -m tests.cli.pictures`` draws the terminal at work on this repository into docs/pictures, dark and light.

A real marvin in a real terminal, with a recorded model; what the terminal shows in the end is written as SVG.
"""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from html import escape
from itertools import groupby
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace
from wcwidth import iter_graphemes, wcswidth

from tests.nvim.terminal import Terminal
from tests.servers.model_server import ThreadedModelServer
from tests.servers.reply import Call, Reply, Said
from tests.servers.scenarios import says

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "docs" / "pictures"
COLUMNS, LINES = 100, 35
FILE = "cli/marvin_cli/view/calls.py"
PATCH = f"""*** Begin Patch
*** Update File: {FILE}
@@
-    \"\"\"A time as people write it.\"\"\"
+    \"\"\"A time as people write it, with hours.\"\"\"
@@
     minutes, rest = divmod(int(seconds), 60)
+    hours, minutes = divmod(minutes, 60)
+    if hours:
+        return f"{{hours}} h {{minutes:02d}} min"
*** End Patch"""
REPLIES = (
    Reply(Said((Call("read_file", f'{{"path": "{FILE}"}}'),))),
    Reply(Said((Call("apply_patch", PATCH),))),
    Reply(Said((Call("run_command", '{"command": "git diff --stat"}'),))),
    says(
        "`elapsed` says **2 h 03 min** now, where it said 123 min 04 s:\n\n"
        "- Shorter times are as they were.\n- Nothing else in the terminal writes such times."
    ),
)
# The cells' size and the margin, in pixels.
WIDTH, HEIGHT, MARGIN = 8.4, 18, 16
FONT = 'font-family="ui-monospace, Menlo, Consolas, DejaVu Sans Mono, monospace" font-size="14"'


class Look(Struct, frozen=True):
    """How a cell looks; no colour is the terminal's own."""

    colour: str = ""
    bold: bool = False
    italic: bool = False
    underlined: bool = False
    reverse: bool = False


Cell = tuple[Look, str]


class Shade(Struct, frozen=True):
    """A terminal's own colours; ``fgbg`` is what it says of them in COLORFGBG."""

    name: str
    text: str
    background: str
    fgbg: str


SHADES = (Shade("dark", "#c8ccd8", "#1a1b26", "15;0"), Shade("light", "#24292f", "#ffffff", "0;15"))


def main() -> None:
    """Draw both."""
    PICTURES.mkdir(exist_ok=True)
    for shade in SHADES:
        (PICTURES / f"terminal-{shade.name}.svg").write_text(_picture(_screen(shade), shade), encoding="utf-8")


def _screen(shade: Shade) -> str:
    """What the terminal shows in the end, with escape sequences."""
    with tempfile.TemporaryDirectory() as name, ThreadedModelServer() as server:
        server.play(list(REPLIES))
        folder = Path(name)
        (folder / "home").mkdir()
        repository = folder / "marvin"
        subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", ROOT, repository], check=True)
        environ = {
            "HOME": str(folder / "home"),
            "MARVIN_HOME": str(folder / "home" / "marvin"),
            "LLM_PROVIDER": "openai-compat",
            "OPENAI_COMPAT_URL": server.url,
            "OPENAI_COMPAT_API_KEY": "sk-picture",
            "OPENAI_COMPAT_MODEL": "a-model",
            "LC_ALL": "C.UTF-8",
            "COLORTERM": "truecolor",
            "COLORFGBG": shade.fgbg,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        }
        command = (
            Path(sys.executable).with_name("marvin"),
            "--sandbox",
            "off",
            "A call that ran for two hours says 123 min 04 s. Have it say hours.",
        )
        with Pictured(command, repository, environ, folder, COLUMNS, LINES) as terminal:
            terminal.see("no, and stop")
            terminal.rest(1.0)
            terminal.type("y")
            terminal.see("Nothing else", r"(?m)^\S+ +openai-compat")
            return terminal.colours.replace(str(repository), "/home/ada/marvin")


class Pictured(Terminal):
    """A terminal of which a picture is made."""

    @property
    def colours(self) -> str:
        """The screen with escape sequences."""
        return self._run("capture-pane", "-p", "-e", "-t", "s")


def _picture(screen: str, shade: Shade) -> str:
    rows = list(_rows(screen.rstrip("\n")))
    width, height = COLUMNS * WIDTH + 2 * MARGIN, len(rows) * HEIGHT + 2 * MARGIN
    shown = [part for number, row in enumerate(rows) for part in _row(row, MARGIN + number * HEIGHT, shade)]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" {FONT}>',
            f'<rect width="100%" height="100%" rx="8" fill="{shade.background}" stroke="#8888" />',
            *shown,
            "</svg>\n",
        ]
    )


def _row(row: list[Cell], top: float, shade: Shade) -> Iterator[str]:
    """A row's words, each at its place."""
    at = 0
    for look, cells in groupby(row, key=lambda cell: cell[0]):
        text = "".join(char for _, char in cells)
        left, size = MARGIN + at * WIDTH, wcswidth(text)
        at += size
        colour = look.colour or shade.text
        if look.reverse:
            yield f'<rect x="{left:.1f}" y="{top:g}" width="{size * WIDTH:.1f}" height="{HEIGHT}" fill="{colour}" />'
            colour = shade.background
        marks = ' font-weight="bold"' * look.bold + ' font-style="italic"' * look.italic
        marks += ' text-decoration="underline"' * look.underlined
        for words in re.finditer(r"\S+(?: \S+)*", text):
            x, length = left + wcswidth(text[: words.start()]) * WIDTH, wcswidth(words[0]) * WIDTH
            place = f'x="{x:.1f}" y="{top + HEIGHT - 4.5:g}" textLength="{length:.1f}"'
            yield f'<text {place} fill="{colour}"{marks}>{escape(words[0])}</text>'


def _rows(screen: str) -> Iterator[list[Cell]]:
    """The cells of each row; a look goes on in the next row."""
    look = Look()
    for row in screen.split("\n"):
        cells: list[Cell] = []
        for part in re.split(r"(\x1b\[[\d;]*m)", row):
            if part.startswith("\x1b["):
                look = _changed(look, [int(code or 0) for code in part[2:-1].split(";")])
            else:
                cells += [(look, cluster) for cluster in iter_graphemes(part)]
        yield cells


def _changed(look: Look, codes: list[int]) -> Look:
    """The look after an SGR sequence (ECMA-48) of those that Marvin writes."""
    while codes:
        match codes.pop(0):
            case 0:
                look = Look()
            case 1:
                look = replace(look, bold=True)
            case 3:
                look = replace(look, italic=True)
            case 4:
                look = replace(look, underlined=True)
            case 7:
                look = replace(look, reverse=True)
            case 38 if codes[:1] == [2]:
                look = replace(look, colour="#{:02x}{:02x}{:02x}".format(*codes[1:4]))
                del codes[:4]
            case 39:
                look = replace(look, colour="")
            case _:
                pass
    return look


if __name__ == "__main__":
    main()
