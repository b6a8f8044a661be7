"""Our own signs for terminals without UTF-8: ``SIGNS`` names an error handler for encoders."""

import codecs
import sys
from collections.abc import Mapping

SIGNS = "marvin-signs"
# Each takes one cell.
_LIKES = str.maketrans(
    {"›": ">", "●": "*", "○": "o", "∴": ":", "•": "*", "◦": "-", "▪": "-", "☐": "_", "☑": "x", "│": "|", "─": "-"}
    | {"┼": "+", "…": "~", "⋮": ":", "→": ">", "“": '"', "”": '"', "·": "-"}
)


def _signs(error: UnicodeError) -> tuple[str, int]:
    """An error handler for encoders: our own signs by their likes, anything else by question marks."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    shown = error.object[error.start : error.end].translate(_LIKES)
    return "".join(char if char.isascii() else "?" for char in shown), error.end


def encoding(environ: Mapping[str, str]) -> str:
    """What a terminal reads. In the C locale that is ASCII, where Python's own streams have UTF-8."""
    locale = environ.get("LC_ALL") or environ.get("LC_CTYPE") or environ.get("LANG")
    return "ascii" if locale in ("C", "POSIX") else sys.stdout.encoding


codecs.register_error(SIGNS, _signs)
