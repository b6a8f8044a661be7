"""File name patterns, as in ``.gitignore`` and editors, made into regular expressions."""

import re

from marvin_server.errors import ToolError

_PIECES = re.compile(r"\*\*/|/\*\*$|\*\*|\*|\?|\[!?\]?[^\]]*\]|\{[^{}]*\}|.", re.DOTALL)
_FIXED = {"**/": "(?:.*/)?", "/**": "/.*", "**": ".*", "*": "[^/]*", "?": "[^/]"}


def glob_pattern(glob: str) -> re.Pattern[str]:
    """The expression whose ``fullmatch`` takes the paths that ``glob`` names.

    ``*`` and ``?`` stay within a name, ``**`` does not; ``[abc]``, ``[!abc]`` and ``{one,two}`` choose. Without a
    ``/`` it is about the file's name alone, in any folder. Raises ToolError when it is none.
    """
    anywhere = "" if "/" in glob else "(?:.*/)?"
    try:
        return re.compile(anywhere + _expression(glob.removeprefix("/")), re.DOTALL)
    except re.error as error:
        raise ToolError(
            f"Bad glob {glob!r}: {error.msg}. Write for example '*.py' or 'src/**/*.{{ts,tsx}}'."
        ) from error


def _expression(glob: str) -> str:
    return "".join(_piece(piece) for piece in _PIECES.findall(glob))


def _piece(piece: str) -> str:
    if piece in _FIXED:
        return _FIXED[piece]
    if piece[0] == "{" and len(piece) > 1:
        return f"(?:{'|'.join(map(_expression, piece[1:-1].split(',')))})"
    if piece[0] == "[" and len(piece) > 1:
        members = re.sub(r"([\\\[\]&|~^])", r"\\\1", piece[1:-1].removeprefix("!"))
        return f"[{'^/' if piece[1] == '!' else ''}{members}]"
    return re.escape(piece)
