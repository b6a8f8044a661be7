"""The view for every day: the conversation goes into the terminal's own scrollback, line by line and for good; below
it is the input."""

from collections.abc import Mapping

from marvin_cli.view.base import Source
from marvin_cli.view.cells import Line, Row, wrapped
from marvin_cli.view.console import Console


class InlineView(Console):
    """A ``View`` that never redraws what it has printed."""

    def __init__(self, source: Source, environ: Mapping[str, str], *, theme: str = "auto", vi: bool = False) -> None:
        super().__init__(source, environ, theme=theme, vi=vi)

    def _publish(self, lines: list[Line], rest: list[Row]) -> None:
        self._surface.rest = rest
        rows = (row for line in lines for row in ([line.fragments] if line.verbatim else wrapped(line, self._columns)))
        self._surface.draw("".join(f"{self._paint.row(row)}\r\n" for row in rows))
