"""What an editor shares with a workspace: the texts of its open files, which count more than those on disk."""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct


class Buffer(Struct, frozen=True):
    """An open file as the editor has it.

    ``path`` is absolute, with links resolved; ``text`` has the line ends that the editor uses; ``version`` counts its
    changes. It ``is_dirty`` while its text differs from the last known one on disk.
    """

    path: str
    text: str
    version: int
    is_dirty: bool


class BufferEdit(Struct, frozen=True):
    """``new`` is what the open file at ``path`` becomes, ``old`` the text for which that was made: what the person has
    typed since is kept, by a three-way merge."""

    path: str
    old: str
    new: str


class Editor(Protocol):
    """An editor at work in the workspace. ``buffer`` and ``buffers`` may be called from any thread."""

    def buffer(self, path: str) -> Buffer | None:
        """The open file at ``path``, None when it is not open, or when its text is that of the file, which has changed
        since. Raises ToolError while its text is not known."""
        ...

    def buffers(self) -> Sequence[Buffer]:
        """All open files."""
        ...

    async def edit(self, label: str, edits: Sequence[BufferEdit]) -> tuple[str, ...]:
        """Make ``edits`` as one undo step called ``label``, without saving, and give the texts as they are then.

        Raises ToolError when the editor does not confirm them, or the person changed the same lines meanwhile; all open
        files are then without the edits, or the error says which are not. Cancelled, it takes back what was made, in
        the background.
        """
        ...

    async def save(self) -> tuple[str, ...]:
        """Have those files saved whose unsaved changes are all Marvin's, and give lines for the person where that
        failed."""
        ...

    async def look(self) -> None:
        """Look again at the open files on disk. What is news is told by the next ``save`` or ``reconcile``."""
        ...

    async def reconcile(self) -> tuple[str, ...]:
        """Look again at the open files on disk, and give lines, for the model and the person, on those with unsaved
        changes whose file has changed."""
        ...
