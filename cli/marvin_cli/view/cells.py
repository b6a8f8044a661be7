"""Lines of styled text and the cells of a terminal that they take."""

from collections.abc import Iterable, Iterator

from msgspec import Struct
from wcwidth import iter_graphemes, wcswidth

Fragment = tuple[str, str]  # The roles that a theme has looks for, separated by blanks; the text.
Row = tuple[Fragment, ...]


class Line(Struct, frozen=True):
    """A line that may be longer than the terminal is wide; where it is broken, each further row begins with ``hang``.

    One that is ``verbatim`` has meaning in its blanks: it is broken anywhere, and by the terminal itself where that can
    be, so that it is copied as one line.
    """

    fragments: Row = ()
    hang: Row = ()
    verbatim: bool = False

    @property
    def text(self) -> str:
        """What it says, without looks."""
        return "".join(text for _, text in self.fragments)


EMPTY = Line()


def line(text: str, role: str = "", first: str = "", rest: str | None = None) -> Line:
    """A line of one role that begins with ``first`` and goes on behind ``rest``, as many blanks unless given."""
    hang = " " * width(first) if rest is None else rest
    return Line(((role, first + text),), ((role, hang),) if hang else ())


def width(text: str) -> int:
    """How many cells ``text`` takes, without control characters."""
    return len(text) if text.isascii() else max(0, wcswidth(text))


def cut(text: str, columns: int) -> str:
    """``text`` in at most ``columns`` cells; what is left out is shown by an ellipsis."""
    if width(text) <= columns:
        return text
    taken, used = "", 0
    for cluster in iter_graphemes(text):
        used += width(cluster)
        if used > columns - 1:
            break
        taken += cluster
    return f"{taken}…" if columns > 0 else ""


def wrapped(long: Line, columns: int) -> list[Row]:
    """The rows of at most ``columns`` cells that show ``long``: broken at blanks and beside wide characters."""
    if width(long.text) <= columns:
        return [long.fragments]
    hang = long.hang if width("".join(text for _, text in long.hang)) < columns // 2 else ()
    margin = [(role, text, width(text)) for role, text in hang]
    rows: list[list[tuple[str, str, int]]] = [[]]
    free = columns
    begins = False
    for word in _words(long):
        size = sum(cells for _, _, cells in word)
        is_blank = word[0][1] == " " and not long.verbatim
        if is_blank and (begins or size > free):
            continue
        if size > free and (free < columns or len(rows) > 1) and not begins:
            while not long.verbatim and rows[-1] and rows[-1][-1][1] == " ":
                rows[-1].pop()
            rows.append(list(margin))
            free, begins = columns - sum(cells for _, _, cells in margin), True
        for cell in word:
            if cell[2] > free:
                rows.append(list(margin))
                free = columns - sum(cells for _, _, cells in margin)
            rows[-1].append(cell)
            free -= cell[2]
        begins = False
    return [joined((role, text) for role, text, _ in row) for row in rows]


def joined(fragments: Iterable[Fragment]) -> Row:
    """The same text with neighbours of one role put together."""
    row: list[Fragment] = []
    for role, text in fragments:
        if row and row[-1][0] == role:
            row[-1] = (role, row[-1][1] + text)
        elif text:
            row.append((role, text))
    return tuple(row)


def _words(long: Line) -> Iterator[list[tuple[str, str, int]]]:
    """Runs of cells between which the line may be broken."""
    word: list[tuple[str, str, int]] = []
    for role, text in long.fragments:
        for cluster in text if text.isascii() else iter_graphemes(text):
            size = width(cluster)
            stands_alone = cluster == " " or size > 1 or long.verbatim
            if word and stands_alone:
                yield word
                word = []
            word.append((role, cluster, size))
            if stands_alone:
                yield word
                word = []
    if word:
        yield word
