"""Patches and unified diffs as lines: what goes and what comes by sign and colour, the words that differ marked."""

import re
from collections.abc import Callable, Iterator
from difflib import SequenceMatcher

from marvin_cli.view.cells import Fragment, Line, joined
from marvin_server.events import Edit, Hunk, Patch
from marvin_server.sanitise import one_line, printable

_WORDS = re.compile(r"\w+|\s+|.")
# Lines that share less than this are not compared word by word, nor are those longer than so many characters.
_ALIKE, _LONGEST = 0.4, 400
_Marked = tuple[str, str, tuple[Fragment, ...]]  # The sign, the role of the line, and its text.


def patch_lines(patch: Patch) -> list[Line]:
    """Each file with what is counted, and beneath it its hunks with line numbers, new ones where there are."""
    lines: list[Line] = []
    for edit in patch.edits:
        lines.append(Line(_heading(edit), (("", "  "),)))
        digits = len(str(max((max(hunk.old_start, hunk.new_start) + _height(hunk) for hunk in edit.hunks), default=1)))
        for number, hunk in enumerate(edit.hunks):
            if number:
                lines.append(Line((("muted", f"{'⋮':>{digits + 1}}"),)))
            lines += _hunk(hunk, digits)
    return lines


def unified_lines(text: str, clean: Callable[[str], str]) -> list[Line]:
    """The lines of a unified diff; ``clean`` makes each harmless."""
    lines: list[Line] = []
    block: tuple[list[str], list[str]] = ([], [])

    def compared() -> Iterator[Line]:
        for sign, role, row in _compared(*block):
            yield Line(joined(((role, sign), *row)), (), verbatim=True)
        block[0].clear()
        block[1].clear()

    for raw in text.splitlines():
        shown = clean(raw).expandtabs(4)
        is_name = shown.startswith(("--- ", "+++ "))
        if shown.startswith("-") and not is_name:
            if block[1]:
                lines += compared()
            block[0].append(shown[1:])
        elif shown.startswith("+") and not is_name:
            block[1].append(shown[1:])
        else:
            lines += compared()
            role = "strong" if is_name else "muted" if shown.startswith("@@") else ""
            lines.append(Line(((role, shown),), (), verbatim=True))
    return [*lines, *compared()]


def _heading(edit: Edit) -> tuple[Fragment, ...]:
    path = one_line(edit.path)
    name = f"{path} → {one_line(edit.new_path)}" if edit.new_path else path
    what = {"add": "new file", "delete": "deleted", "update": ""}[edit.kind]
    if edit.executable is not None:
        what = f"{what} {'made' if edit.executable else 'no longer'} executable".strip()
    added, removed = _counts(edit)
    tail = f"  {what}" if what else ""
    return (("strong", name), ("muted", tail), ("added", f"  +{added}"), ("removed", f" -{removed}"))


def _counts(edit: Edit) -> tuple[int, int]:
    return sum(len(hunk.new_lines) for hunk in edit.hunks), sum(len(hunk.old_lines) for hunk in edit.hunks)


def _height(hunk: Hunk) -> int:
    return max(len(hunk.old_lines), len(hunk.new_lines))


def _hunk(hunk: Hunk, digits: int) -> Iterator[Line]:
    old, new = hunk.old_start, hunk.new_start
    for sign, role, row in _compared(_shown(hunk.old_lines), _shown(hunk.new_lines)):
        number = old if sign == "-" else new
        old += sign != "+"
        new += sign != "-"
        yield Line(joined((("muted", f"{number:>{digits + 1}} "), (role, f"{sign} "), *row)), (), verbatim=True)


def _shown(texts: tuple[str, ...]) -> list[str]:
    return [printable(text.rstrip("\r\n")).expandtabs(4) for text in texts]


def _compared(old: list[str], new: list[str]) -> Iterator[_Marked]:
    """Both sides in one: what is alike once, what differs first as it was and then as it is."""
    for kind, first, last, new_first, new_last in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        gone, come = old[first:last], new[new_first:new_last]
        if kind == "equal":
            yield from ((" ", "", (("", text),)) for text in gone)
            continue
        pairs = [_words(*pair) for pair in zip(gone, come, strict=True)] if len(gone) == len(come) else []
        for at, text in enumerate(gone):
            yield "-", "removed", pairs[at][0] if pairs else (("removed", text),)
        for at, text in enumerate(come):
            yield "+", "added", pairs[at][1] if pairs else (("added", text),)


def _words(old: str, new: str) -> tuple[tuple[Fragment, ...], tuple[Fragment, ...]]:
    """A line before and after, with the words that differ marked where enough of it is the same."""
    before, after = _WORDS.findall(old), _WORDS.findall(new)
    if len(old) + len(new) <= 2 * _LONGEST:
        matcher = SequenceMatcher(None, before, after, autojunk=False)
        if matcher.ratio() >= _ALIKE:
            gone: list[Fragment] = []
            come: list[Fragment] = []
            for kind, first, last, new_first, new_last in matcher.get_opcodes():
                mark = "" if kind == "equal" else " changed"
                gone.append((f"removed{mark}", "".join(before[first:last])))
                come.append((f"added{mark}", "".join(after[new_first:new_last])))
            return joined(gone), joined(come)
    return (("removed", old),), (("added", new),)
