"""New files and longer ones, made as the product makes them."""

from marvin_server.workspace import documents
from marvin_server.workspace.changes import Change, stage
from marvin_server.workspace.confine import Root


def create(root: Root, path: str, text: str) -> None:
    """Make the file ``path``. Raises ToolError, as when it exists."""
    stage(root, [Change(path, None, text)]).commit()


def append(root: Root, path: str, text: str) -> str:
    """Put ``text`` at the end of the file ``path``, and give the text that it has then."""
    document = documents.read(root, path)
    stage(root, [Change(path, document, document.text + text)]).commit()
    return document.text + text
