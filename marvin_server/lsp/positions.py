"""Columns of a line in the units of the three encodings that LSP knows, and back."""

import re

_BEYOND_BMP = re.compile("[\U00010000-\U0010ffff]")


def index(line: str, column: int, encoding: str) -> int:
    """The index of the character at ``column``, in units of ``encoding`` (utf-8, utf-16 or utf-32).

    A column past the end is the end, one within a character is its beginning.
    """
    if encoding == "utf-32" or line.isascii():
        return min(column, len(line))
    head = line[:column]
    if encoding == "utf-8":
        return len(head.encode()[:column].decode(errors="ignore"))
    if not _BEYOND_BMP.search(head):
        return len(head)
    return len(head.encode("utf-16-le")[: 2 * column].decode("utf-16-le", "ignore"))


def units(text: str, encoding: str) -> int:
    """How many units of ``encoding`` the text has."""
    if encoding == "utf-32" or text.isascii():
        return len(text)
    if encoding == "utf-8":
        return len(text.encode())
    return len(text) + len(_BEYOND_BMP.findall(text))
