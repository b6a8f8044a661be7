"""SEARCH/REPLACE blocks: old lines and new ones between markers, after a line with the name of the file.

::

    src/main.py
    <<<<<<< SEARCH
    old lines
    =======
    new lines
    >>>>>>> REPLACE

The name may be within or before a code fence, and holds for the blocks that follow. An empty SEARCH part makes a new
file. Markers are five characters or more, all three of a block the same number, so that longer ones can hold shorter.
"""

import re
from collections.abc import Sequence

from msgspec import Struct

from marvin_server.edits.patch import Add, Operation, Patch, Piece, Unreadable, Update, replacing
from marvin_server.edits.prose import is_fence, skip

_OPEN = re.compile(r"(?P<mark><{5,})\s*SEARCH\s*>?\s*")
_SECTION = re.compile(r"\*\*\* (?:Add|Update) File:\s*(.+)")


class Block(Struct, frozen=True):
    """One block: the lines, without ends, that go, and those that come."""

    old: tuple[str, ...]
    new: tuple[str, ...]

    def piece(self, line: int) -> Piece:
        """The block as a piece of a patch. Raises ``Unreadable`` when its SEARCH part is empty."""
        if not self.old:
            raise Unreadable("the SEARCH part is empty, which only makes new files. Copy the lines to replace.", line)
        return replacing(self.old, self.new)


def begins_block(line: str) -> bool:
    """Whether ``line`` is the first marker of a block."""
    return _OPEN.fullmatch(line.strip()) is not None


def block(lines: Sequence[str], start: int) -> tuple[Block, int]:
    """The block whose first marker is at the index ``start``, and the index after it. Raises ``Unreadable``."""
    match = _OPEN.fullmatch(lines[start].strip())
    size = len(match["mark"]) if match else 0
    divider = close = None
    for index in range(start + 1, len(lines)):
        line = lines[index].rstrip()
        if re.fullmatch(rf">{{{size}}}\s*REPLACE\s*", line):
            close = index
            break
        if re.fullmatch(rf"<{{{size}}}\s*SEARCH\s*>?", line):
            break
        if line == "=" * size:
            if divider is not None:
                raise Unreadable(
                    f"the block has two lines {'=' * size}; write all its markers longer, or use old_str.", index + 1
                )
            divider = index
    if divider is None or close is None:
        missing = ">" * size + " REPLACE" if divider is not None else "=" * size
        raise Unreadable(f"the block that begins here has no '{missing}'.", start + 1)
    return Block(tuple(lines[start + 1 : divider]), tuple(lines[divider + 1 : close])), close + 1


def parse(lines: Sequence[str], path: str | None = None) -> Patch:
    """All blocks in ``lines``, which have no line ends; other lines are names of files, or prose.

    ``path`` is the file of blocks without a name before them. Once there is one, a line that holds blanks is prose,
    unless it is in backquotes or the header of a section. Raises ``Unreadable``.
    """
    operations: list[Operation] = []
    index = before = 0
    while index < len(lines):
        if not begins_block(lines[index]):
            index += 1
            continue
        named = _name_line(lines, before, index, is_known=bool(path))
        skip(lines, before, index if named is None else named)
        if named is not None:
            skip(lines, named + 1, index)
            path = _name(lines[named])
        if not path:
            raise Unreadable("the name of the file must stand on a line before the block.", index + 1)
        found, index = block(lines, index)
        before = index
        if not found.old:
            operations.append(Add(path, "".join(f"{line}\n" for line in found.new)))
            continue
        piece = found.piece(index)
        last = operations[-1] if operations else None
        if isinstance(last, Update) and last.path == path:
            operations[-1] = Update(path, (*last.pieces, piece), in_order=False)
        else:
            operations.append(Update(path, (piece,), in_order=False))
    skip(lines, before, len(lines))
    return Patch(tuple(operations))


def _name_line(lines: Sequence[str], start: int, end: int, *, is_known: bool) -> int | None:
    """The index from ``start`` up to ``end`` of the last line that names a file: any text if no name ``is_known``."""
    shown = (i for i in reversed(range(start, end)) if lines[i].strip() and not is_fence(lines[i]) and _name(lines[i]))
    return next((index for index in shown if not is_known or _is_name(lines[index].strip())), None)


def _is_name(text: str) -> bool:
    is_quoted = text.strip("#* :").startswith("`") and text.strip("#* :").endswith("`")
    return is_quoted or _SECTION.fullmatch(text) is not None or len(text.lstrip("#").split()) == 1


def _name(line: str) -> str:
    """The name of the file in ``line``, without what decorates it; empty when there is nothing else."""
    text = line.strip()
    if match := _SECTION.fullmatch(text):
        return match[1].strip()
    return text.lstrip("#").strip().strip("*`").removesuffix(":").strip("`")
