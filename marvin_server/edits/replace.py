"""Replace a text in a file, once or everywhere, and say where to look when it is not there or there too often."""

import re
from collections.abc import Iterator
from itertools import islice

from marvin_server.edits.hunks import FileChange, Splice, numbered, replaced, spliced
from marvin_server.edits.lines import bare, ended, split
from marvin_server.edits.locate import Found, Locator, Several, finished, regions
from marvin_server.edits.nearest import nearest
from marvin_server.edits.patch import replacing
from marvin_server.errors import ToolError

_NEWLINE = r"(?:\r\n|(?<!\r)\n)"
_SHOWN_LINES = 20


class NotFound(ToolError):
    """``old_str`` does not occur. ``line`` (1-based) is the place most like it, None where nothing is alike."""

    def __init__(self, line: int | None, hint: str) -> None:
        super().__init__(f"old_str was not found; the file may have changed since it was read. {hint}".rstrip())
        self.line = line


class Ambiguous(ToolError):
    """``old_str`` occurs more than once. ``lines`` (1-based) are where, the first twenty at most."""

    def __init__(self, lines: tuple[int, ...], *, more: bool) -> None:
        where = ", ".join(map(str, lines)) + (" and more" if more else "")
        super().__init__(
            f"old_str occurs more than once, at lines {where}. Add lines around it until only one fits, "
            "or set replace_all."
        )
        self.lines = lines


def replace(path: str, text: str, old: str, new: str, *, everywhere: bool = False) -> FileChange:
    """The change to the file ``path`` with ``text`` when ``old`` becomes ``new``.

    ``old`` must occur exactly once, overlapping occurrences counted, or with ``everywhere`` at least once. An ``old``
    without carriage returns fits lines that end in CR LF as well; the line ends of ``new`` then become those of the
    place where it goes. An ``old`` with carriage returns is taken exactly, and so is its ``new``.

    Where it does not occur, and not ``everywhere``, whole lines that differ only in white space at their ends, in
    indentation (alike on all lines, and then the new ones get it too) or in typographic punctuation count, if they are
    the only ones; the change's ``notes`` say so. Raises ``NotFound``, ``Ambiguous``, or ``ToolError`` for an empty
    ``old``.
    """
    if not old:
        raise ToolError("old_str is empty. Give the exact text to replace, or use append_file to add to the end.")
    any_ending = "\r" in text and "\r" not in old
    matches = _matches(text, old, any_ending=any_ending, overlapping=not everywhere)
    spans = list(matches if everywhere else islice(matches, _SHOWN_LINES + 1))
    if not spans:
        return _like_lines(path, text, old, new, everywhere=everywhere)
    if len(spans) > 1 and not everywhere:
        lines = (text.count("\n", 0, start) + 1 for start, _ in spans[:_SHOWN_LINES])
        raise Ambiguous(tuple(dict.fromkeys(lines)), more=len(spans) > _SHOWN_LINES)
    return spliced(
        path,
        text,
        [
            Splice(start, end, re.sub(r"\r?\n", _newline_at(text, start), new) if any_ending else new)
            for start, end in spans
        ],
    )


def _like_lines(path: str, text: str, old: str, new: str, *, everywhere: bool) -> FileChange:
    lines = split(text)
    # What begins with a line end, or adds or removes one at its end, means something else than lines.
    is_lines = not old.startswith(("\n", "\r\n")) and ended(old) == (ended(new) or not new)
    if is_lines and not everywhere:
        wanted, coming = ([bare(line) for line in split(side)] for side in (old, new))
        piece = replacing(wanted, coming)
        found = Locator(lines, [piece]).find_block(piece)
        if isinstance(found, Several):
            raise Ambiguous(found.lines, more=found.more)
        if isinstance(found, Found):
            changed = finished(lines, regions(found, lines), open_end=not ended(lines[-1]))
            hunks = numbered(path, lines, changed)
            notes = (f"it {found.note}",) if found.note else ()
            return FileChange(path, text, "".join(replaced(lines, changed)), hunks, notes=notes)
    near = nearest(text, old, "old_str")
    raise NotFound(near.line, near.hint)


def _matches(text: str, old: str, *, any_ending: bool, overlapping: bool) -> Iterator[tuple[int, int]]:
    if any_ending:
        pattern = re.compile(_NEWLINE.join(map(re.escape, old.split("\n"))))
        match = pattern.search(text)
        while match:
            yield match.span()
            match = pattern.search(text, match.start() + 1 if overlapping else match.end())
    else:
        start = text.find(old)
        while start >= 0:
            yield start, start + len(old)
            start = text.find(old, start + 1 if overlapping else start + len(old))


def _newline_at(text: str, position: int) -> str:
    """The line end of the line at ``position``, else of the line before it."""
    end = text.find("\n", position)
    if end < 0:
        end = text.rfind("\n", 0, position)
    return "\r\n" if end > 0 and text[end - 1] == "\r" else "\n"
