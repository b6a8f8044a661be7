"""Where a document is, and which of the workspace's folders it belongs to."""

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

from marvin_server.errors import UsageError


def path(uri: str) -> Path:
    """The file of a ``file:`` URI, with links resolved. Raises ``UsageError`` for what is not on this machine."""
    parts = urlsplit(uri)
    if parts.scheme != "file" or parts.netloc not in ("", "localhost") or not parts.path:
        raise UsageError(f"{uri!r} is not a file on this machine: save it as one first")
    try:
        return Path(unquote(parts.path, errors="surrogateescape")).resolve()
    except (OSError, ValueError, RuntimeError) as error:
        raise UsageError(f"{uri!r} cannot be used: {error}") from None


def folder(file: Path | None, folders: Sequence[Path]) -> Path:
    """The innermost of the workspace's ``folders`` with ``file`` in it, else the first of them; without any, the
    folder of the file, or the one that the server was started in."""
    around = [each for each in folders if file is not None and file.is_relative_to(each)]
    if around:
        return max(around, key=lambda each: len(each.parts))
    if folders:
        return folders[0]
    here = Path.cwd()
    return here if file is None or file.is_relative_to(here) else file.parent
