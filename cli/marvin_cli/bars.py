"""A small chart for a terminal: a line for each amount, with its digits and a bar of block characters."""

from collections.abc import Sequence

from msgspec import Struct

from marvin_cli.view.cells import cut, width

_EIGHTHS = " ▏▎▍▌▋▊▉"
_SHORTEST, _LONGEST = 8, 40
_NARROWEST, _READABLE = 20, 28


class Amount(Struct, frozen=True):
    """``size`` is what the bar shows. Of the ``digits``, one for each head, those on the right matter most."""

    name: str
    size: float
    digits: tuple[str, ...]


def chart(name: str, heads: Sequence[str], amounts: Sequence[Amount], columns: int) -> str:
    """The lines of the chart, the heads first, none wider than ``columns`` cells. Where there is little room, digits
    from the left go first, then names are cut."""
    rows = [(name, *heads), *((amount.name, *amount.digits) for amount in amounts)]
    widths = [max(map(width, cells)) for cells in zip(*rows, strict=True)]
    room = columns - _SHORTEST - 2
    while len(widths) > 2 and min(widths[0], _READABLE) + sum(widths[1:]) + 2 * (len(widths) - 1) > room:
        del widths[1]
    shown = len(widths) - 1
    numbers = sum(widths[1:]) + 2 * shown
    names = min(widths[0], max(_NARROWEST, room - numbers))
    longest = min(_LONGEST, columns - names - numbers - 2)
    most = max((amount.size for amount in amounts), default=0.0)
    lines: list[str] = []
    for (first, *digits), size in zip(rows, (0.0, *(amount.size for amount in amounts)), strict=True):
        label = cut(first, names)
        cells = [digit.rjust(wide) for digit, wide in zip(digits[len(digits) - shown :], widths[1:], strict=True)]
        bar = _bar(size / most if most else 0.0, longest)
        lines.append("  ".join([label + " " * (names - width(label)), *cells, bar]).rstrip())
    return "\n".join(lines)


def _bar(part: float, columns: int) -> str:
    """A bar of ``part`` (0 to 1) of the columns; what is above 0 shows."""
    eighths = max(round(part * columns * 8), int(part > 0))
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()
