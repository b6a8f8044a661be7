"""The person's own notes."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from marvin_server.errors import PermissionNeeded, ToolError
from marvin_server.tools.base import ToolContext
from marvin_server.workspace.confine import Root
from marvin_server.workspace.names import printable
from marvin_server.workspace.workspace import Workspace

_REASON = "it holds your own notes, which are not part of the workspace"


@contextmanager
def notebook(context: ToolContext, *, for_person: bool = False) -> Generator[Workspace]:
    """The folder ~/Notes as a workspace of its own, for as long as the block runs.

    Raises PermissionNeeded (``outside_path``) unless the folder is permitted, or lies in the workspace, or what comes
    of it is ``for_person`` alone; what is protected in it is a ToolError, as only the folder itself can be asked for.
    """
    folder = Path(context.environ.get("HOME", "/nonexistent"), "Notes")
    try:
        root = Root(folder)
    except OSError as error:
        raise ToolError(
            f"{folder} cannot be used ({error.strerror}); the person's notes are looked for there."
        ) from error
    try:
        if not for_person and not _is_permitted(context, root):
            raise PermissionNeeded("outside_path", os.fspath(root.path), _REASON)
        try:
            yield Workspace(root, context.workspace.editor)
        except PermissionNeeded as needed:
            raise ToolError(f"'{printable(needed.path)}' in {folder} is out of reach: {needed.reason}.") from needed
    finally:
        root.close()


def _is_permitted(context: ToolContext, root: Root) -> bool:
    return root.path.is_relative_to(context.workspace.root.path) or context.workspace.permits(str(root.path))


def within(path: str) -> str:
    """``path`` without the ``~/Notes/`` that a model may write before it."""
    return path.removeprefix("~/Notes/")
