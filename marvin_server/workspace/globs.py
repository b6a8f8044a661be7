"""File name patterns, as in ``.gitignore`` and editors, made into regular expressions."""

import re

from marvin_server.errors import ToolError

_PIECES = re.compile(r"\*\*/|/\*\*(?=[,}]|$)|\*\*|\*|\?|\[!?\]?[^\]]*\]|.", re.DOTALL)
_FIXED = {"**/": "(?:.*/)?", "/**": "/.*", "**": ".*", "*": "[^/]*", "?": "[^/]"}


def glob_pattern(glob: str) -> re.Pattern[str]:
    """The expression whose ``fullmatch`` takes the paths that ``glob`` names.

    ``*`` and ``?`` stay within a name, ``**`` does not; ``[abc]``, ``[!abc]`` and ``{one,two}`` choose. Without a
    ``/`` it is about the file's name alone, in any folder. A name without any of these, and one with a ``/`` at its
    end, may be a folder's: it takes all that is beneath. Raises ToolError when it is none.
    """
    plain = glob.removeprefix("./")
    named = plain.removeprefix("/").removesuffix("/")
    anywhere = "" if "/" in plain.removesuffix("/") else "(?:.*/)?"
    is_folder = plain.endswith("/")
    beneath = "/.*" if is_folder else "" if re.search(r"[*?\[{]", named.rpartition("/")[2]) else "(?:/.*)?"
    try:
        return re.compile(anywhere + _expression(named) + beneath, re.DOTALL)
    except (re.error, ValueError) as error:
        reason = error.msg if isinstance(error, re.error) else error
        raise ToolError(f"Bad glob {glob!r}: {reason}. Write for example '*.py' or 'src/**/*.{{ts,tsx}}'.") from error


def _expression(glob: str) -> str:
    """``glob`` as a regular expression; braces may be nested. Raises ValueError for a bracket without its partner."""
    depth = 0
    pieces: list[str] = []
    for piece in _PIECES.findall(glob):
        match piece:
            case "{":
                depth += 1
                pieces.append("(?:")
            case "," if depth:
                pieces.append("|")
            case "}" if depth:
                depth -= 1
                pieces.append(")")
            case "[" | "}":
                raise ValueError(f"'{piece}' has no partner")
            case _:
                pieces.append(_piece(piece))
    if depth:
        raise ValueError("'{' has no partner")
    if not pieces:
        raise ValueError("it is empty")
    return f"(?:{''.join(pieces)})"


def _piece(piece: str) -> str:
    if piece in _FIXED:
        return _FIXED[piece]
    if piece[0] == "[" and len(piece) > 1:
        members = re.sub(r"([\\\[\]&|~^])", r"\\\1", piece[1:-1].removeprefix("!"))
        return f"[{'^/' if piece[1] == '!' else ''}{members}]"
    return re.escape(piece)
