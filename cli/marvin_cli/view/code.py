"""Source code as coloured lines, by pygments, which is imported with the first block of code."""

from typing import TYPE_CHECKING

from marvin_cli.view.cells import Fragment, Line, Row, joined

if TYPE_CHECKING:
    from pygments.lexer import Lexer

_TAB = 4
# How much of the code before a line is read again for it, in characters, and the longest line that is coloured.
_BEFORE, _LONGEST = 6_000, 2_000
_ROLES = (
    ("Comment", "code.comment"),
    ("Literal.String", "code.string"),
    ("Literal.Number", "code.number"),
    ("Keyword", "code.keyword"),
    ("Operator.Word", "code.keyword"),
    ("Name.Function", "code.name"),
    ("Name.Class", "code.name"),
    ("Name.Decorator", "code.name"),
    ("Name.Tag", "code.keyword"),
    ("Name.Builtin", "code.builtin"),
    ("Generic.Deleted", "removed"),
    ("Generic.Inserted", "added"),
    ("Generic.Heading", "code.comment"),
    ("Generic.Subheading", "code.comment"),
)


class Code:
    """Colours code that comes line by line. ``language`` is a fence's word or a file's name; unknown ones stay plain.

    A line's colours are final: what comes later cannot change them. Strings and comments over several lines are known
    as such, as the lines before it are read again with it.
    """

    def __init__(self, language: str) -> None:
        self._lexer = _lexer(language)
        self._before: list[str] = []
        self._kept = 0

    def lines(self, texts: list[str], margin: str = "") -> list[Line]:
        """The next lines of the code, without their ends; each begins with ``margin``."""
        shown = [text.expandtabs(_TAB) for text in texts]
        return [Line((("", margin), *row) if margin else row, (), verbatim=True) for row in self._coloured(shown)]

    def _coloured(self, texts: list[str]) -> list[Row]:
        if self._lexer is None or any(len(text) > _LONGEST for text in texts):
            return [(("code", text),) for text in texts]
        first = len(self._before)
        self._before = [*self._before, *texts]
        self._kept += sum(map(len, texts))
        rows = _rows(self._lexer, self._before)[first:]
        if self._kept > _BEFORE:
            self._before = [text for text in self._before[-1:] if text[:1].isspace()]
            self._kept = sum(map(len, self._before))
        return rows


def _lexer(language: str) -> "Lexer | None":
    if not language:
        return None
    from pygments.lexers import find_lexer_class_by_name, find_lexer_class_for_filename
    from pygments.util import ClassNotFound

    try:
        found = find_lexer_class_by_name(language.lower())
    except ClassNotFound:
        found = find_lexer_class_for_filename(language)
    return found(stripnl=False) if found else None


def _rows(lexer: "Lexer", texts: list[str]) -> list[Row]:
    rows: list[list[Fragment]] = [[]]
    for token, text in lexer.get_tokens("\n".join(texts)):
        role = _role(str(token))
        for number, piece in enumerate(text.split("\n")):
            if number:
                rows.append([])
            rows[-1].append((role, piece))
    missing = len(texts) - len(rows)
    return [joined(row) for row in (*rows, *([] for _ in range(missing)))][: len(texts)]


def _role(token: str) -> str:
    name = token.removeprefix("Token.")
    return next((role for kind, role in _ROLES if name.startswith(kind)), "code")
