"""URIs of documents, as editors write them: percent-encoded or not, with links in them or not."""

import os
from pathlib import Path
from urllib.parse import unquote

from marvin_server.errors import UsageError
from marvin_server.lsp import folders


def key(uri: str) -> str:
    """What is the same for all spellings of ``uri``."""
    return unquote(uri, errors="surrogateescape")


def real_path(uri: str) -> str | None:
    """The absolute path, with links resolved, of a ``file:`` URI of this machine; None for any other."""
    try:
        return str(folders.path(uri))
    except UsageError:
        return None


def shown(uri: str, folder: Path) -> str:
    """What a person and a model call the document, in a session that works in ``folder``."""
    path = real_path(uri)
    if path is None:
        return key(uri)
    return os.path.relpath(path, folder) if Path(path).is_relative_to(folder) else path
