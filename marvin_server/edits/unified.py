"""Unified diffs, written: how one version of a file becomes another."""

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from marvin_server.edits.hunks import FileChange, Hunk, compared, numbered
from marvin_server.edits.lines import ended, split

_CONTEXT = 3
_NOT_ENDED = "\n\\ No newline at end of file\n"


class Difference(Struct, frozen=True):
    """``diff`` is a unified diff, empty for equal texts; ``added`` and ``removed`` count its lines."""

    diff: str
    added: int
    removed: int


def difference(path: str, before: str, after: str) -> Difference:
    """How ``before`` becomes ``after`` in the format of GNU diff.

    Takes time in proportion to the texts: lines within a changed region of over 400 lines are not matched up.
    """
    lines = split(before)
    hunks = numbered(path, lines, compared(lines, split(after)))
    return _difference(f"--- a/{path}\n+++ b/{path}\n", lines, hunks)


def shown(change: FileChange) -> Difference:
    """``change`` as Git shows it, with the headers for files that are made, deleted, moved or made executable."""
    source, target = f"a/{change.path}", f"b/{change.move_to or change.path}"
    header = ""
    if change.old is None or change.new is None or change.move_to or change.executable is not None:
        header = f"diff --git {_quoted(source)} {_quoted(target)}\n"
    modes = ("100644", "100755")
    if change.old is None:
        header += f"new file mode {modes[bool(change.executable)]}\n"
        source = "/dev/null"
    elif change.new is None:
        header += "deleted file mode 100644\n"
        target = "/dev/null"
    elif change.executable is not None:
        header += f"old mode {modes[not change.executable]}\nnew mode {modes[change.executable]}\n"
    if change.move_to:
        header += f"rename from {_quoted(change.path)}\nrename to {_quoted(change.move_to)}\n"
    names = f"--- {_tabbed(source)}\n+++ {_tabbed(target)}\n" if change.hunks else ""
    found = _difference(header + names, split(change.old or ""), change.hunks)
    return found if found.diff else Difference(header, 0, 0)


def _difference(header: str, lines: Sequence[str], hunks: Sequence[Hunk]) -> Difference:
    body = "".join(_grouped(lines, hunks))
    added, removed = (sum(map(len, side)) for side in ((h.new_lines for h in hunks), (h.old_lines for h in hunks)))
    return Difference(header + body if body else "", added, removed)


def _grouped(lines: Sequence[str], hunks: Iterable[Hunk]) -> Iterator[str]:
    """The text of ``hunks``; those whose context would touch share a header."""
    group: list[Hunk] = []
    for hunk in hunks:
        if group and hunk.old_start - (group[-1].old_start + len(group[-1].old_lines)) > 2 * _CONTEXT:
            yield from _group(lines, group)
            group = []
        group.append(hunk)
    if group:
        yield from _group(lines, group)


def _group(lines: Sequence[str], group: Sequence[Hunk]) -> Iterator[str]:
    begin = max(0, group[0].old_start - 1 - _CONTEXT)
    stop = min(len(lines), group[-1].old_start - 1 + len(group[-1].old_lines) + _CONTEXT)
    grown = sum(len(hunk.new_lines) - len(hunk.old_lines) for hunk in group)
    shift = group[0].new_start - group[0].old_start
    yield f"@@ -{_span(begin, stop - begin)} +{_span(begin + shift, stop - begin + grown)} @@\n"
    place = begin
    for hunk in group:
        yield from _marked(" ", lines[place : hunk.old_start - 1])
        yield from _marked("-", hunk.old_lines)
        yield from _marked("+", hunk.new_lines)
        place = hunk.old_start - 1 + len(hunk.old_lines)
    yield from _marked(" ", lines[place:stop])


def _marked(mark: str, lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        yield mark + (line if ended(line) else line + _NOT_ENDED)


def _span(start: int, count: int) -> str:
    """A hunk's lines: the first is one-based, and names the line before when there are none."""
    return f"{start + 1 if count else start},{count}"


def _tabbed(name: str) -> str:
    """``name`` as it stands before a time stamp, so that spaces in it are not taken for the stamp's."""
    quoted = _quoted(name)
    return f"{quoted}\t" if " " in name and quoted == name else quoted


def _quoted(name: str) -> str:
    """``name`` as Git writes it: in quotes, with escapes, when it holds control characters, quotes or backslashes."""
    if not any(char < " " or char in '"\\\x7f' or "\udc80" <= char <= "\udcff" for char in name):
        return name
    octets = "".join(
        chr(byte) if 32 <= byte < 127 and chr(byte) not in '"\\' else f"\\{byte:03o}"
        for byte in name.encode("utf-8", "surrogateescape")
    )
    return f'"{octets}"'
