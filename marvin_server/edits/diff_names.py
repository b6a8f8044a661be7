"""Names of files in the headers of unified diffs."""

import re

_NULL = "/dev/null"
_PREFIX = re.compile(r"[abciow12]/")
_STAMP = re.compile(r"\s+\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:\s+[+-]\d{4})?\s*")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(r"\\([0-7]{1,3}|.)")
_LETTERS = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13}


def name_in(text: str) -> str:
    """The name at the start of ``text``: in quotes with C escapes, else up to a tab or a time stamp."""
    if quoted := _QUOTED.match(text):
        return _unquoted(quoted[1])
    name, tab, _ = text.partition("\t")
    if not tab and (stamp := _STAMP.search(name)) and stamp.end() == len(name):
        name = name[: stamp.start()]
    return name.rstrip("\r")


def paths(old: str, new: str) -> tuple[str, str]:
    """The paths of the two names of a diff: without ``a/`` and ``b/``, or another pair that Git puts in front."""
    prefixes = [name[:2] for name in (old, new) if name != _NULL]
    if all(_PREFIX.fullmatch(prefix) for prefix in prefixes) and len(set(prefixes)) == len(prefixes):
        old, new = (name if name == _NULL else name[2:] for name in (old, new))
    return old, new


def git_names(text: str) -> tuple[str, str] | None:
    """The paths in ``text``, which follows ``diff --git ``; None when it cannot be told where the second begins."""
    if text.startswith('"') or text.endswith('"'):
        names = [_unquoted(match[1]) if match[1] is not None else match[2] for match in _WORDS.finditer(text)]
        return paths(*names) if len(names) == 2 else None
    for space in (match.start() for match in re.finditer(" ", text)):
        old, new = paths(text[:space], text[space + 1 :])
        if old == new:
            return old, new
    return None


_WORDS = re.compile(r'"((?:[^"\\]|\\.)*)"|(\S+)')


def _unquoted(text: str) -> str:
    """``text`` from between quotes, its escapes undone; octal ones are bytes of UTF-8."""
    octets = bytearray()
    place = 0
    for match in _ESCAPE.finditer(text):
        octets += text[place : match.start()].encode("utf-8", "surrogateescape")
        escape = match[1]
        if escape.isdigit():
            octets.append(int(escape, 8) & 0xFF)
        else:
            octets += bytes([_LETTERS[escape]]) if escape in _LETTERS else escape.encode()
        place = match.end()
    octets += text[place:].encode("utf-8", "surrogateescape")
    return octets.decode("utf-8", "surrogateescape")
