"""Rows of styled text as escape sequences (ECMA-48's SGR), in the colours that a terminal has."""

import re
from collections.abc import Mapping
from functools import lru_cache

from marvin_cli.view.cells import Row
from marvin_cli.view.themes import looks

_MARKS = {"bold": "1", "dim": "2", "italic": "3", "underline": "4", "reverse": "7", "strike": "9"}
_NAMES = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "gray")
_ANSI = {
    **{f"ansi{name}": 30 + number for number, name in enumerate(_NAMES)},
    **{f"ansibright{name}": 90 + number for number, name in enumerate(_NAMES)},
}
# The usual sixteen colours, to find the nearest one.
_SIXTEEN = (
    *((0, 0, 0), (205, 0, 0), (0, 205, 0), (205, 205, 0), (0, 0, 238), (205, 0, 205), (0, 205, 205), (229, 229, 229)),
    *((127, 127, 127), (255, 0, 0), (0, 255, 0), (255, 255, 0), (92, 92, 255), (255, 0, 255), (0, 255, 255)),
    (255, 255, 255),
)
_STEPS = (0, 95, 135, 175, 215, 255)


def colour_bits(environ: Mapping[str, str]) -> int:
    """How many bits of colour the terminal of this environment takes: 0, 4, 8 or 24 (NO_COLOR, TERM, COLORTERM)."""
    term = environ.get("TERM", "")
    if environ.get("NO_COLOR") or is_dumb(environ):
        return 0
    if environ.get("COLORTERM", "").lower() in ("truecolor", "24bit") or term.endswith("-direct"):
        return 24
    return 8 if "256" in term else 4


def is_dumb(environ: Mapping[str, str]) -> bool:
    """Whether the terminal takes no escape sequences."""
    return environ.get("TERM", "dumb") in ("", "dumb", "unknown")


def is_light(environ: Mapping[str, str]) -> bool | None:
    """Whether the background is light, as COLORFGBG says; None where it says nothing."""
    last = environ.get("COLORFGBG", "").rpartition(";")[2]
    return int(last) in (7, *range(9, 16)) if last.isdigit() else None


def is_light_colour(reply: str) -> bool | None:
    """The same from a terminal's reply to OSC 11, such as ``rgb:ffff/ffff/ffff``; None for one that is not read."""
    if not (match := re.fullmatch(r"rgba?:([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})(?:/.*)?", reply)):
        return None
    red, green, blue = (int(part, 16) / (16 ** len(part) - 1) for part in match.groups())
    return 0.299 * red + 0.587 * green + 0.114 * blue > 0.5


class Paint:
    """Writes rows in one theme. With ``bits`` 0 there are no colours, but what is bold stays bold."""

    def __init__(self, theme: str, bits: int) -> None:
        self._looks = looks(theme)
        self._bits = bits
        self._begun: dict[str, str] = {}

    def row(self, row: Row) -> str:
        """The row as text with escape sequences; after it nothing is coloured."""
        painted: list[str] = []
        for role, text in row:
            begin = self._begun.get(role)
            if begin is None:
                begin = self._begun[role] = self._begin(role)
            painted.append(f"{begin}{text}\x1b[0m" if begin else text)
        return "".join(painted)

    def _begin(self, role: str) -> str:
        words = [word for name in role.split() for word in self._looks.get(name, "").split()]
        codes = [code for word in words if (code := _code(word, self._bits))]
        return f"\x1b[{';'.join(dict.fromkeys(codes))}m" if codes else ""


def _code(word: str, bits: int) -> str:
    if word in _MARKS:
        return _MARKS[word]
    if bits == 0:
        return ""
    base = 10 if word.startswith("bg:") else 0
    colour = word.removeprefix("bg:")
    if colour in _ANSI:
        return str(_ANSI[colour] + base)
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    if bits == 24:
        return f"{38 + base};2;{red};{green};{blue}"
    if bits == 8:
        return f"{38 + base};5;{_of_256(red, green, blue)}"
    number = _of_16(red, green, blue)
    return str((30 + number if number < 8 else 82 + number) + base)


@lru_cache
def _of_256(red: int, green: int, blue: int) -> int:
    """The nearest of xterm's 256 colours, of its cube or its greys."""
    cube = [min(range(6), key=lambda step: abs(_STEPS[step] - part)) for part in (red, green, blue)]
    grey = min(23, max(0, round(((red + green + blue) / 3 - 8) / 10)))
    far = _distance((red, green, blue), (_STEPS[cube[0]], _STEPS[cube[1]], _STEPS[cube[2]]))
    shade = 8 + 10 * grey
    if _distance((red, green, blue), (shade, shade, shade)) < far:
        return 232 + grey
    return 16 + 36 * cube[0] + 6 * cube[1] + cube[2]


@lru_cache
def _of_16(red: int, green: int, blue: int) -> int:
    return min(range(16), key=lambda number: _distance((red, green, blue), _SIXTEEN[number]))


def _distance(one: tuple[int, int, int], other: tuple[int, int, int]) -> int:
    return sum((left - right) ** 2 for left, right in zip(one, other, strict=True))
