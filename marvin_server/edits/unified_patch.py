"""Unified diffs, read as Git and GNU patch write them, and as models do: line counts may be wrong.

Binary changes, copies, symbolic links and submodules are refused. The formats are those of git-diff(1), "Generating
patch text with -p", and of POSIX diff -u.
"""

import re
from collections.abc import Sequence

from msgspec import Struct

from marvin_server.edits.diff_names import git_names, name_in, paths
from marvin_server.edits.patch import Add, Delete, FinalNewline, Operation, Patch, Piece, Unreadable, Update
from marvin_server.edits.prose import is_fence, is_signature, skip, skip_after_hunk

_HUNK = re.compile(r"@@ -(?P<old>\d+)(?:,(?P<old_count>\d+))? \+\d+(?:,(?P<new_count>\d+))? @@.*")
_EXTENDED = re.compile(
    r"(?P<key>old mode|new mode|deleted file mode|new file mode|copy from|copy to|rename from|rename to"
    r"|similarity index|dissimilarity index|index) ?(?P<value>.*)"
)
_MODES = {"100644": False, "100755": True}
_NULL = "/dev/null"


class _Hunk(Struct, frozen=True):
    """A piece, whether its header counts its lines rightly, and where the lines after it begin."""

    piece: Piece
    is_counted: bool
    next: int


def begins_file(line: str) -> bool:
    """Whether ``line`` can only be the header of a unified diff."""
    return line.startswith(("diff --git ", "+++ ")) or _HUNK.fullmatch(line) is not None


def hunk_start(line: str) -> int | None:
    """The old line that the hunk header ``line`` names, None when it names none."""
    match = _HUNK.fullmatch(line.strip())
    return int(match["old"]) if match else None


def parse(lines: Sequence[str], path: str | None = None) -> Patch:
    """The operations that the diff in ``lines``, without line ends, asks for; prose around it is skipped.

    ``path`` is the file of hunks without a header. Raises ``Unreadable``.
    """
    operations: list[Operation] = []
    notes: list[str] = []
    index = _next(lines, 0)
    skip(lines, 0, index)
    while index < len(lines):
        number = index + 1
        header, index = _header(lines, index, path)
        pieces: list[Piece] = []
        is_whole = True
        while index < len(lines) and lines[index].startswith("@@"):
            hunk = _hunk(lines, index)
            pieces.append(hunk.piece)
            index = hunk.next
            is_whole = hunk.is_counted
            if not is_whole:
                notes.append(f"{header.path}: the line counts of hunk {len(pieces)} were wrong")
        operations.append(header.operation(tuple(pieces), number))
        end, index = index, _next(lines, index)
        skip_after_hunk(lines, end, index, is_whole=is_whole)
    return Patch(tuple(operations), tuple(notes))


class _Header(Struct, frozen=True):
    """What the lines before the hunks of one file say."""

    path: str
    move_to: str | None = None
    is_new: bool = False
    is_deleted: bool = False
    executable: bool | None = None

    def operation(self, pieces: tuple[Piece, ...], line: int) -> Operation:
        """The operation with the hunks ``pieces``. Raises ``Unreadable`` when both do not go together."""
        if self.is_new:
            if len(pieces) > 1 or any(piece.old for piece in pieces):
                raise Unreadable(f"the new file '{self.path}' must be one hunk of lines that begin with '+'.", line)
            return Add(self.path, "".join(map(_text, pieces)), self.executable)
        if self.is_deleted:
            if any(mark[0] == "+" for piece in pieces for mark in piece.body):
                raise Unreadable(f"'{self.path}' is to be deleted, and yet has new lines.", line)
            return Delete(self.path, pieces)
        if not pieces and not self.move_to and self.executable is None:
            raise Unreadable(f"there are no hunks for '{self.path}'.", line)
        may_add = bool(pieces) and all(piece.at == 0 and not piece.old for piece in pieces)
        return Update(self.path, pieces, self.move_to, self.executable, may_add=may_add)


def _text(piece: Piece) -> str:
    text = "\n".join(line[1:] for line in piece.body)
    return text if piece.final_newline == "removed" else text + "\n"


def _next(lines: Sequence[str], start: int) -> int:
    """The index from ``start`` on where the next file of the diff begins, else the number of lines."""
    return next((index for index in range(start, len(lines)) if _begins(lines, index)), len(lines))


def _begins(lines: Sequence[str], index: int) -> bool:
    line = lines[index]
    return line.startswith(("diff --git ", "@@ ")) or line == "@@" or _begins_names(lines, index)


def _begins_names(lines: Sequence[str], index: int) -> bool:
    return lines[index].startswith("--- ") and index + 1 < len(lines) and lines[index + 1].startswith("+++ ")


def _header(lines: Sequence[str], index: int, path: str | None) -> tuple[_Header, int]:
    """The header at ``index``, and the index after it."""
    start = index
    old = new = path
    extended: dict[str, str] = {}
    if lines[index].startswith("diff --git "):
        old, new = git_names(lines[index].removeprefix("diff --git ")) or (None, None)
        index += 1
        while index < len(lines) and (match := _EXTENDED.fullmatch(lines[index])):
            extended[match["key"]] = match["value"]
            index += 1
    if index < len(lines) and lines[index].startswith(("GIT binary patch", "Binary files ")):
        raise Unreadable("it changes a binary file; only text can be patched.", index + 1)
    if any(key.startswith("copy") for key in extended):
        raise Unreadable("it copies a file; create the copy instead.", start + 1)
    if index < len(lines) and _begins_names(lines, index):
        old, new = paths(name_in(lines[index][4:]), name_in(lines[index + 1][4:]))
        index += 2
    old, new = (_renamed(extended, "rename from") or old, _renamed(extended, "rename to") or new)
    if old is None or new is None or old == new == _NULL:
        raise Unreadable("the name of the file must stand in lines '--- OLD' and '+++ NEW'.", start + 1)
    is_new, is_deleted = old == _NULL or "new file mode" in extended, new == _NULL or "deleted file mode" in extended
    name = old if new == _NULL or "rename to" in extended else new
    move_to = new if "rename to" in extended else None
    return _Header(name, move_to, is_new, is_deleted, _executable(extended, start + 1)), index


def _renamed(extended: dict[str, str], key: str) -> str | None:
    return name_in(extended[key]) if key in extended else None


def _executable(extended: dict[str, str], line: int) -> bool | None:
    modes = [extended[key] for key in ("old mode", "new mode", "new file mode", "deleted file mode") if key in extended]
    if any(mode not in _MODES for mode in modes):
        raise Unreadable("it makes or changes a symbolic link or a submodule; only files can be patched.", line)
    if "new mode" in extended:
        return _MODES[extended["new mode"]]
    return True if extended.get("new file mode") == "100755" else None


def _hunk(lines: Sequence[str], index: int) -> _Hunk:
    """The hunk whose header is at ``index``."""
    start = index
    match = _HUNK.fullmatch(lines[index])
    context = "" if match else lines[index][2:].removeprefix(" ").removesuffix("@@").rstrip()
    left = _Left(match["old_count"], match["new_count"]) if match else None
    body: list[str] = []
    open_ends: set[str] = set()
    index += 1
    while index < len(lines):
        line = lines[index]
        if line.startswith("\\"):
            open_ends |= set(body[-1][0]) if body else set[str]()
            index += 1
            continue
        if _ends_hunk(lines, index, left):
            if left and left.is_open and not (_begins(lines, index) or is_fence(line)):
                raise Unreadable(
                    f"{line[:80]!r} ends the hunk, whose header says that more lines come. Every line of a hunk begins "
                    "with ' ' (stays), '-' (goes) or '+' (comes).",
                    index + 1,
                )
            break
        body.append(line or " ")
        if left:
            left.count(body[-1][0])
        index += 1
    if not body:
        raise Unreadable("a hunk has no lines.", start + 1)
    old_open, new_open = bool(open_ends & {"-", " "}), bool(open_ends & {"+", " "})
    final: FinalNewline = "kept" if old_open == new_open else "removed" if new_open else "added"
    at = int(match["old"]) if match else None
    piece = Piece(tuple(body), (context,) if context else (), at, bool(open_ends), final)
    return _Hunk(piece, left is None or left.is_done, index)


class _Left:
    """How many old and new lines of a hunk are still to come, as its header has it."""

    def __init__(self, old: str | None, new: str | None) -> None:
        self.old = 1 if old is None else int(old)
        self.new = 1 if new is None else int(new)

    @property
    def is_done(self) -> bool:
        return self.old == 0 and self.new == 0

    @property
    def is_open(self) -> bool:
        """Whether lines must still come."""
        return self.old > 0 or self.new > 0

    def count(self, mark: str) -> None:
        self.old -= mark != "+"
        self.new -= mark != "-"


def _ends_hunk(lines: Sequence[str], index: int, left: _Left | None) -> bool:
    """Whether the line at ``index`` is after the hunk: its counts decide where the marks alone do not."""
    line = lines[index]
    if line[:1] not in {"", " ", "+", "-"}:
        return True
    names = _begins_names(lines, index)
    if left is None:
        return names or is_signature(line) or not any(map(str.strip, lines[index:]))
    if left.is_done:
        return names or not line or is_signature(line)
    # Here a removed line looks like a name, unless hunks follow where the counts say that this one goes on.
    goes_on = (left.old, left.new) != (1, 1)
    return names and goes_on and any(following.startswith("@@ ") for following in lines[index + 2 : index + 3])
