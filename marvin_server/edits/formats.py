"""Which format a patch is written in, and the patch that it holds, whatever was wrapped around it."""

import re
from collections.abc import Sequence
from typing import Literal

from marvin_server.edits import begin_patch, search_replace, unified_patch
from marvin_server.edits.patch import Patch, Unreadable
from marvin_server.edits.prose import skip

Format = Literal["begin_patch", "search_replace", "unified"]

_FENCE = re.compile(r"\s*(?P<fence>`{3,}|~{3,})[^`]*")
_HEREDOC = re.compile(
    r"""\s*(?:cd\s+(?P<folder>\S+)\s*&&\s*)?(?:(?:apply_patch|applypatch)\s+)?<<-?\s*(?P<quote>['"]?)(?P<word>\w+)(?P=quote)\s*"""
)


def parse(text: str, path: str | None = None) -> Patch:
    """The patch in ``text``: whatever format it is in, within a code fence or a shell's here-document, or bare.

    ``path`` is the file that it is about where it names none. CR LF throughout counts as LF. Raises ``Unreadable``.
    """
    lines = _unwrapped(text)
    match _recognised(lines):
        case "begin_patch":
            return begin_patch.parse(lines)
        case "search_replace":
            return search_replace.parse(lines, path)
        case "unified":
            return unified_patch.parse(lines, path)
        case _:
            raise Unreadable(
                "it is in none of the known formats: '*** Begin Patch' … '*** End Patch', a unified diff, or "
                "'<<<<<<< SEARCH' blocks after the name of a file."
            )


def _recognised(lines: Sequence[str]) -> Format | None:
    first = next((line.strip() for line in lines if line.strip()), "")
    if first == begin_patch.BEGIN:
        return "begin_patch"
    other = next(filter(_begins_other, lines), None)
    if other is None:
        return None
    return "search_replace" if search_replace.begins_block(other) else "unified"


def _unwrapped(text: str) -> list[str]:
    """The lines of the patch without ends, and without what is around it."""
    lines = text.removeprefix("\ufeff").split("\n")
    if lines and not lines[-1]:
        lines.pop()
    if lines and all(line.endswith("\r") for line in lines[:-1]) and len(lines) > 1:
        lines = [line.removesuffix("\r") for line in lines]
    while True:
        inner = _within(_without_blank_ends(lines))
        if inner is None:
            return _without_prose(lines)
        lines = inner


def _within(lines: Sequence[str]) -> list[str] | None:
    """What a fence or a here-document around all of ``lines`` holds, None without one."""
    if len(lines) < 2:
        return None
    if (fence := _FENCE.fullmatch(lines[0])) and lines[-1].strip() == fence["fence"]:
        inside = list(lines[1:-1])
        # Several fences in a row are blocks of their own.
        return None if any(line.strip().startswith(fence["fence"]) for line in inside) else inside
    if heredoc := _HEREDOC.fullmatch(lines[0]):
        if heredoc["folder"]:
            raise Unreadable("it changes the folder first; name the files from the working directory instead.", 1)
        if lines[-1].strip() == heredoc["word"]:
            return list(lines[1:-1])
        raise Unreadable(f"the here-document must end with the line {heredoc['word']}.", len(lines))
    return None


def _without_prose(lines: Sequence[str]) -> list[str]:
    """``lines`` from the first marker of a ``*** Begin Patch`` to the last, when no other format comes before it.

    Raises ``Unreadable`` when what is around it looks like a part of a patch too.
    """
    begin = next((i for i, line in enumerate(lines) if line.strip() == begin_patch.BEGIN or _begins_other(line)), None)
    if begin is None or _begins_other(lines[begin]):
        return list(lines)
    end = max((i for i, line in enumerate(lines) if line.strip() == begin_patch.END), default=len(lines))
    skip(lines, 0, begin)
    skip(lines, end + 1, len(lines))
    return list(lines[begin : end + 1])


def _begins_other(line: str) -> bool:
    return unified_patch.begins_file(line) or search_replace.begins_block(line)


def _without_blank_ends(lines: Sequence[str]) -> list[str]:
    shown = [i for i, line in enumerate(lines) if line.strip()]
    return list(lines[shown[0] : shown[-1] + 1]) if shown else []
