"""The lines between two ``---`` at the start of a Markdown file, which say what the file is for.

A small part of YAML, read without a parser of it: ``name: value``, values in quotes, and values that go on in
indented lines, after ``>`` or ``|`` or by themselves, which become one line. All else is left out.
"""

import re

from marvin_server.sanitise import one_line

_BLOCK = re.compile(r"\A---[ \t]*\n(.*?)^---[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_FIELD = re.compile(r"([A-Za-z][\w-]*)[ \t]*:(?:[ \t]+(.*))?")
_FOLDED = re.compile(r"[>|][+-]?")
_COMMENT = re.compile(r"(?<![ \t])[ \t]+#.*\Z")


def read(text: str, longest: int) -> tuple[dict[str, str], str]:
    """The fields of ``text``, each one printable line of at most ``longest`` characters, and what follows them."""
    text = text.replace("\r\n", "\n")
    block = _BLOCK.match(text)
    if block is None:
        return {}, text
    values: dict[str, list[str]] = {}
    lines: list[str] | None = None
    for line in block[1].splitlines():
        if (field := _FIELD.fullmatch(line)) is not None:
            first = field[2] or ""
            lines = values[field[1]] = [] if _FOLDED.fullmatch(first.strip()) else [first]
        elif lines is not None and line.startswith((" ", "\t")):
            lines.append(line)
        elif line.strip():
            lines = None
    texts = {name: _plain(" ".join(map(str.strip, parts))) for name, parts in values.items()}
    fields = {name: one_line(value, longest) for name, value in texts.items()}
    return fields, text[block.end() :]


def _plain(value: str) -> str:
    """A value without its quotes, or without the comment after it."""
    value = value.strip()
    if len(value) > 1 and value[0] in "\"'" and value[-1] == value[0]:
        quoted = value[1:-1]
        return quoted.replace("''", "'") if value[0] == "'" else quoted.replace('\\"', '"')
    return _COMMENT.sub("", value)
