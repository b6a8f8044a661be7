"""What the roles of text look like: themes by name. A look is written as prompt-toolkit's styles are, such as
``bold #ffaf00 bg:#202020``; ``ansi…`` names one of the terminal's own sixteen colours."""

from collections.abc import Mapping
from functools import cache

from msgspec import Struct


class Palette(Struct, frozen=True):
    """The colours that a theme is made of, each as ``#rrggbb`` or ``ansi…``; an empty one is the terminal's own."""

    muted: str
    accent: str
    heading: str
    mark: str
    ok: str
    warning: str
    error: str
    keyword: str
    string: str
    number: str
    name: str


_PALETTES: Mapping[str, Palette] = {
    "night": Palette(
        *("#8a8f98", "#7aa2f7", "#bb9af7", "#7dcfff", "#9ece6a", "#e0af68", "#f7768e"),
        *("#bb9af7", "#9ece6a", "#ff9e64", "#7aa2f7"),
    ),
    "ember": Palette(
        *("#928374", "#fe8019", "#fabd2f", "#83a598", "#b8bb26", "#fabd2f", "#fb4934"),
        *("#fb4934", "#b8bb26", "#d3869b", "#8ec07c"),
    ),
    "frost": Palette(
        *("#7b88a1", "#88c0d0", "#81a1c1", "#8fbcbb", "#a3be8c", "#ebcb8b", "#d0707b"),
        *("#81a1c1", "#a3be8c", "#b48ead", "#88c0d0"),
    ),
    "moss": Palette(
        *("#859289", "#a7c080", "#dbbc7f", "#7fbbb3", "#a7c080", "#dbbc7f", "#e67e80"),
        *("#e67e80", "#a7c080", "#d699b6", "#83c092"),
    ),
    "day": Palette(
        *("#6a6f7a", "#1f5fd0", "#7b2fb0", "#00707a", "#2f7d32", "#9a5b00", "#c0223b"),
        *("#7b2fb0", "#2f7d32", "#a8480a", "#1f5fd0"),
    ),
    "paper": Palette(
        *("#7c6f64", "#af3a03", "#8f3f71", "#076678", "#5f6a04", "#8f5f00", "#9d0006"),
        *("#9d0006", "#5f6a04", "#8f3f71", "#376c4f"),
    ),
    "contrast-dark": Palette(
        *("#d0d0d0", "#5fd7ff", "#ffffff", "#ffff5f", "#5fff5f", "#ffff00", "#ff8787"),
        *("#ffafff", "#87ff87", "#ffd75f", "#87d7ff"),
    ),
    "contrast-light": Palette(
        *("#303030", "#00008b", "#000000", "#5f005f", "#004d00", "#5f3b00", "#8b0000"),
        *("#5f005f", "#004d00", "#5f2b00", "#00008b"),
    ),
    "terminal": Palette(
        *("ansibrightblack", "ansiblue", "ansimagenta", "ansicyan", "ansigreen", "ansiyellow", "ansired"),
        *("ansimagenta", "ansigreen", "ansiyellow", "ansiblue"),
    ),
    "plain": Palette(*("",) * 11),
}
THEMES = ("auto", *_PALETTES)


@cache
def looks(theme: str) -> Mapping[str, str]:
    """The look of each role in a theme of ``THEMES`` but ``auto``. Raises ``KeyError``."""
    palette = _PALETTES[theme]
    is_bare = not palette.muted
    return {
        "strong": "bold",
        "emphasis": "italic",
        "strike": "strike",
        "link": f"underline {palette.accent}",
        "mark": "bold" if is_bare else palette.mark,
        "heading": f"bold {palette.heading}",
        "quote": "italic",
        "bullet": palette.accent,
        "muted": palette.muted,
        "accent": f"bold {palette.accent}",
        "prompt": f"bold {palette.accent}",
        "thought": f"italic {palette.muted}",
        "ok": palette.ok,
        "warning": f"bold {palette.warning}",
        "error": f"bold {palette.error}",
        "added": palette.ok,
        "removed": palette.error,
        "changed": "reverse",
        "code": "",
        "code.comment": f"italic {palette.muted}",
        "code.string": palette.string,
        "code.number": palette.number,
        "code.keyword": f"bold {palette.keyword}" if is_bare else palette.keyword,
        "code.name": palette.name,
        "code.builtin": palette.name,
        "bar": palette.muted,
        "bar.strong": "bold",
        "chosen": "reverse",
    }


def fitting(theme: str, *, depth: int, is_light: bool | None) -> str:
    """``theme``, or for ``auto`` (and what is no theme) the one that fits the terminal: its colours in bits, its
    background where that is known."""
    if theme in _PALETTES:
        return theme
    if depth == 0:
        return "plain"
    if depth < 8:
        return "terminal"
    return "day" if is_light else "night"
