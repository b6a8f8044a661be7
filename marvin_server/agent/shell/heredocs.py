"""Takes here-documents out of a command, so that the rest can be read: tree-sitter does not see all that bash does
in them."""

import re

from msgspec import Struct

from marvin_server.agent.shell.words import Unreadable

_BEGIN = re.compile(r"(?<!<)<<(?!<)(-?)[ \t]*(?:'(\w+)'|\"(\w+)\"|(\w+))(?=[\s|&;<>]|$)")
_ANY = re.compile(r"(?<!<)<<(?!<)")
# What the line may go on with; anything that might span lines would move the place where the body begins.
_REST_OF_LINE = re.compile(r"[\w \t.,/|&;:@%+=*?~>-]*")
_EXPANDS = re.compile(r"\$[{(\[]")


class Without(Struct, frozen=True):
    """``text`` has a plain redirect, from a word that holds what bash expands, in the place of each here-document;
    ``places`` are where these begin."""

    text: str
    places: frozenset[int]


def without_heredocs(text: str) -> Without:
    """``text`` (a character for each byte) without its here-documents.

    A body in which bash expands something is kept as a double-quoted word; of others nothing is. Raises Unreadable for
    forms in which bash might find another end.
    """
    places: list[int] = []
    at = 0
    while match := _ANY.search(text, at):
        begin = _BEGIN.match(text, match.start())
        if begin is None:
            # Perhaps in quotes or a comment; if not, the tree has a here-document, which is refused there.
            at = match.end()
            continue
        line_end = text.find("\n", begin.end())
        if line_end < 0:
            raise Unreadable("has a here-document without a body")
        rest = text[begin.end() : line_end]
        if not _REST_OF_LINE.fullmatch(rest):
            raise Unreadable("has more on the line of a here-document than is understood")
        delimiter = begin[2] or begin[3] or begin[4]
        body, after = _body(text, line_end + 1, delimiter, strips_tabs=bool(begin[1]))
        word = "<" + (_word(body) if begin[4] else "''")
        places.append(match.start())
        text = text[: match.start()] + word + rest + text[after:]
        at = match.start() + len(word)
    return Without(text, frozenset(places))


def _body(text: str, start: int, delimiter: str, *, strips_tabs: bool) -> tuple[str, int]:
    """The body that begins at ``start``, and where the line of its end is over (at the newline, or the text's end)."""
    at = start
    while at < len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        line = text[at:end].lstrip("\t") if strips_tabs else text[at:end]
        if line == delimiter:
            return text[start:at], end
        if line.startswith(delimiter):
            raise Unreadable("has a line in a here-document that bash might take for its end")
        at = end + 1
    raise Unreadable(f"has a here-document without its end, {delimiter}")


def _word(body: str) -> str:
    """A body whose delimiter was not quoted, as a word that holds all that bash expands in it."""
    if "`" in body or "\\\n" in body:
        raise Unreadable("has a backtick or a joined line in a here-document")
    if not _EXPANDS.search(body):
        return "''"
    if '"' in body:
        raise Unreadable("has an expansion and a quote in one here-document")
    return f'"{body}"'
