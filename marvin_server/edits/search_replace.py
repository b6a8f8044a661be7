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

from marvin_server.edits.hunks import compared
from marvin_server.edits.patch import Add, Operation, Patch, Piece, Unreadable, Update

_OPEN = re.compile(r"(?P<mark><{5,})\s*SEARCH\s*>?\s*")
_SECTION = re.compile(r"\*\*\* (?:Add|Update) File:\s*(.+)")


class Block(Struct, frozen=True):
    """One block: the lines, without ends, that go, and those that come."""

    old: tuple[str, ...]
    new: tuple[str, ...]

    def piece(self, line: int) -> Piece:
        """The block as a piece of a patch; lines that both parts have stay. Raises ``Unreadable`` when it is empty."""
        if not self.old:
            raise Unreadable("the SEARCH part is empty, which only makes new files. Copy the lines to replace.", line)
        return Piece(tuple(body(self.old, self.new)))


def body(old: Sequence[str], new: Sequence[str]) -> list[str]:
    """How the lines ``old`` become ``new``, as the body of a ``Piece``."""
    result: list[str] = []
    place = 0
    for region in compared(old, new):
        result += [" " + line for line in old[place : region.start]]
        result += ["-" + line for line in old[region.start : region.end]]
        result += ["+" + line for line in region.new]
        place = region.end
    return result + [" " + line for line in old[place:]]


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

    ``path`` is the file of blocks without a name before them. Raises ``Unreadable``.
    """
    operations: list[Operation] = []
    index = before = 0
    while index < len(lines):
        if not begins_block(lines[index]):
            index += 1
            continue
        path = _name(lines[before:index]) or path
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
    return Patch(tuple(operations))


def _name(lines: Sequence[str]) -> str | None:
    """The name of a file in the last line that is neither blank nor a fence."""
    for line in reversed(lines):
        text = line.strip()
        if text and not text.startswith(("```", "~~~")):
            if match := _SECTION.fullmatch(text):
                return match[1].strip()
            return text.lstrip("#").strip().strip("*`").removesuffix(":").strip("`") or None
    return None
