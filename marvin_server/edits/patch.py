"""What a patch says, whatever its format: a list of operations on files, before any file was looked at."""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from marvin_server.errors import ToolError

FinalNewline = Literal["kept", "added", "removed"]


class Piece(Struct, frozen=True):
    """One contiguous part of a change, as the patch writes it; where it goes is still to be found.

    ``body`` holds lines that begin with a space (stays), ``-`` (goes) or ``+`` (comes), without LF at their end.
    ``contexts`` are lines to skip to first, one after the other. ``at`` is the number of the first old line, counted
    from 1, or of the line to insert after when nothing is old; None where the patch does not tell. ``at_end`` says that
    the old lines are the file's last.
    """

    body: tuple[str, ...]
    contexts: tuple[str, ...] = ()
    at: int | None = None
    at_end: bool = False
    final_newline: FinalNewline = "kept"

    @property
    def old(self) -> tuple[str, ...]:
        """The lines that must be there, without the leading mark."""
        return tuple(line[1:] for line in self.body if line[0] != "+")

    @property
    def new(self) -> tuple[str, ...]:
        """The lines that are there afterwards, without the leading mark."""
        return tuple(line[1:] for line in self.body if line[0] != "-")


def replacing(old: Sequence[str], new: Sequence[str]) -> Piece:
    """The piece in which all the lines ``old`` go and all the lines ``new`` come."""
    return Piece((*("-" + line for line in old), *("+" + line for line in new)))


class Add(Struct, frozen=True):
    """A new file. ``executable`` is None where the patch says nothing about it."""

    path: str
    text: str
    executable: bool | None = None


class Delete(Struct, frozen=True):
    """A file that goes. ``pieces`` must be all of it; they are None where the format does not show what goes."""

    path: str
    pieces: tuple[Piece, ...] | None = None


class Update(Struct, frozen=True):
    """A file that changes, moves, or both.

    ``in_order`` says that the pieces come in the order of the file. Without it they may be anywhere, and the lines that
    they bring are indented like the lines that they replace. ``may_add`` is for a diff that does not tell an empty file
    from none.
    """

    path: str
    pieces: tuple[Piece, ...]
    move_to: str | None = None
    executable: bool | None = None
    in_order: bool = True
    may_add: bool = False


Operation = Add | Delete | Update


class Patch(Struct, frozen=True):
    """Operations on files, in the order in which they were written. ``notes`` say what was forgiven in reading it."""

    operations: tuple[Operation, ...]
    notes: tuple[str, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        """Every file that it names, new places included, as it names them."""
        names = [
            name
            for operation in self.operations
            for name in (operation.path, operation.move_to if isinstance(operation, Update) else None)
            if name
        ]
        return tuple(dict.fromkeys(names))


class Unreadable(ToolError):
    """The text is no whole patch of its format; nothing of it may be applied. ``line`` (1-based) is where, if known."""

    def __init__(self, problem: str, line: int | None = None) -> None:
        where = f" at its line {line}" if line else ""
        super().__init__(f"The patch cannot be read{where}: {problem} Nothing was changed.")
        self.line = line


class Problem(Struct, frozen=True):
    """Why one part of a patch does not fit; ``hunk`` counts the file's pieces from 1, None for the file as a whole."""

    path: str
    message: str
    hunk: int | None = None


class Misfit(ToolError):
    """A patch does not fit the files as they are: all that is wrong with it, so that the next one can be right."""

    _SHOWN = 20

    def __init__(self, problems: Sequence[Problem]) -> None:
        shown = [
            f"{problem.path}{f', hunk {problem.hunk}' if problem.hunk else ''}: {problem.message}"
            for problem in problems[: self._SHOWN]
        ]
        if len(problems) > self._SHOWN:
            shown.append(f"and {len(problems) - self._SHOWN} more problems")
        super().__init__("\n".join(["The patch does not fit, so nothing was changed.", *shown]))
        self.problems = tuple(problems)
