"""Tables of Markdown (GitHub's) in the width that there is."""

import re

from marvin_cli.view.cells import Line, Row, joined, width, wrapped
from marvin_cli.view.spans import spans

_NARROWEST = 4
_GAP = " │ "
_RULE = re.compile(r" {0,3}\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*")
_BETWEEN = re.compile(r"(?<!\\)\|")


def is_rule(text: str, head: str) -> bool:
    """Whether ``text`` is the line beneath a table's ``head``."""
    return "|" in head and "-" in text and _RULE.fullmatch(text) is not None and len(_cells(text)) == len(_cells(head))


def table(texts: list[str], columns: int) -> list[Line]:
    """The table of these lines, of which the second is the rule, at most ``columns`` cells wide if that can be."""
    sides = [_side(cell) for cell in _cells(texts[1])]
    count = len(sides)
    rows = [[spans(cell) for cell in (*_cells(text), *[""] * count)[:count]] for text in (texts[0], *texts[2:])]
    widths = _fitted([[width(_text(row[at])) for row in rows] for at in range(count)], columns)
    head = [joined((f"{role} strong".strip(), text) for role, text in cell) for cell in rows[0]]
    rule = "─┼─".join("─" * size for size in widths)
    lines = [*_shown(head, widths, sides), Line((("muted", rule),), verbatim=True)]
    for row in rows[1:]:
        lines += _shown(row, widths, sides)
    return lines


def _shown(cells: list[Row], widths: list[int], sides: list[str]) -> list[Line]:
    """One row of the table: as many lines as its highest cell has."""
    broken = [wrapped(Line(cell), size) for cell, size in zip(cells, widths, strict=True)]
    lines: list[Line] = []
    for number in range(max(map(len, broken))):
        fragments: list[tuple[str, str]] = []
        for at, (rows, size, side) in enumerate(zip(broken, widths, sides, strict=True)):
            row = rows[number] if number < len(rows) else ()
            free = size - width(_text(row))
            left = {"right": free, "centre": free // 2}.get(side, 0) if row else 0
            right = free - left if at < len(widths) - 1 else 0
            fragments += [("muted", _GAP if at else ""), ("", " " * left), *row, ("", " " * right)]
        lines.append(Line(joined(fragments), verbatim=True))
    return lines


def _fitted(sizes: list[list[int]], columns: int) -> list[int]:
    """How wide each column is: as wide as its widest cell, unless the widest columns have to give way."""
    widths = [max(1, *column) for column in sizes]
    room = max(columns - len(_GAP) * (len(widths) - 1), _NARROWEST * len(widths))
    while (excess := sum(widths) - room) > 0:
        widest = max(widths)
        second = max((size for size in widths if size < widest), default=_NARROWEST)
        those = [at for at, size in enumerate(widths) if size == widest]
        less = max(1, min(widest - max(second, _NARROWEST), excess // len(those)))
        for at in those[: max(1, excess // less)]:
            widths[at] -= less
    return widths


def _cells(text: str) -> list[str]:
    inner = text.strip().removeprefix("|")
    inner = inner[:-1] if inner.endswith("|") and not inner.endswith("\\|") else inner
    return [cell.strip().replace("\\|", "|") for cell in _BETWEEN.split(inner)]


def _side(rule: str) -> str:
    if rule.endswith(":"):
        return "centre" if rule.startswith(":") else "right"
    return "left"


def _text(row: Row) -> str:
    return "".join(text for _, text in row)
