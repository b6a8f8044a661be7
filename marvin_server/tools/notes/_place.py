"""Where a note is kept."""

import re
from pathlib import PurePosixPath

from marvin_server.errors import ToolError

FOLDER = ".marvin/notes"
_NAME = re.compile(r"\w[\w .-]*(/\w[\w .-]*)*")


def note_path(name: str) -> str:
    """The path of the note ``name``, relative to the root; a name without a suffix gets ``.md``. Raises ToolError."""
    if not _NAME.fullmatch(name):
        raise ToolError(f"{name!r} is no name for a note: use letters, digits, spaces and - _ . such as 'design'.")
    return f"{FOLDER}/{name}" if PurePosixPath(name).suffix else f"{FOLDER}/{name}.md"
