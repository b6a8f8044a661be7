"""Puts a view together for the terminal that there is."""

import sys
from collections.abc import Mapping
from typing import Literal

from marvin_cli.view.base import Source, View
from marvin_cli.view.paint import is_dumb

Kind = Literal["inline", "plain", "curses"]


def open_view(
    kind: Kind,
    source: Source,
    environ: Mapping[str, str],
    *,
    theme: str = "auto",
    vi: bool = False,
    screen_reader: bool = False,
) -> View:
    """A view of this kind, to be entered in the event loop; where standard input or output is no terminal that it can
    be drawn on, or a screen reader reads it, the plain one."""
    is_plain = kind == "plain" or screen_reader or is_dumb(environ)
    if is_plain or not (sys.stdin.isatty() and sys.stdout.isatty()):
        from marvin_cli.view.plain import PlainView

        return PlainView(source, environ, theme=theme, screen_reader=screen_reader)
    if kind == "curses":
        from marvin_cli.view.curses import CursesView

        return CursesView(source, environ, theme=theme, vi=vi)
    from marvin_cli.view.inline import InlineView

    return InlineView(source, environ, theme=theme, vi=vi)
