"""Where a document is, and which of the workspace's folders it belongs to."""

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

from marvin_server.errors import UsageError
from marvin_server.workspace import names


def named(uri: str) -> Path:
    """The file of a ``file:`` URI, as it is named there. Raises ``UsageError`` for what is not on this machine, and
    for a URI with a query or a fragment: a ``?`` or ``#`` of a file's name has to be percent-encoded."""
    try:
        parts = urlsplit(uri)
    except ValueError as error:
        raise UsageError(f"{uri!r} is no URI: {error}") from None
    if parts.scheme != "file" or parts.netloc not in ("", "localhost") or not parts.path:
        raise UsageError(f"{uri!r} is not a file on this machine: save it as one first")
    if "?" in uri or "#" in uri:
        raise UsageError(f"{uri!r} has a query or a fragment: write a ? in a name as %3F, and a # as %23")
    return Path(unquote(parts.path, errors="surrogateescape"))


def path(uri: str) -> Path:
    """The file of a ``file:`` URI, with links resolved. Raises ``UsageError`` as ``named`` does."""
    try:
        return named(uri).resolve()
    except (OSError, ValueError, RuntimeError) as error:
        raise UsageError(f"{uri!r} cannot be used: {error}") from None


def protection(uri: str) -> str | None:
    """Why no model may see the file of ``uri`` unasked, by what it is called or by where it truly is, or None. Raises
    ``UsageError`` as ``path`` does."""
    reasons = (names.protection(str(place), writing=False) for place in (named(uri), path(uri)))
    return next(filter(None, reasons), None)


def folder(file: Path | None, folders: Sequence[Path]) -> Path:
    """The innermost of the workspace's ``folders`` with ``file`` in it, else the first of them; without any, the one
    that the server was started in. No file moves the root to where it is."""
    around = [each for each in folders if file is not None and file.is_relative_to(each)]
    if around:
        return max(around, key=lambda each: len(each.parts))
    return folders[0] if folders else Path.cwd()
