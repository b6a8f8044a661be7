"""The pictures that a person sends with a prompt: from files, standard input or the clipboard."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from marvin_server.errors import UsageError
from marvin_server.messages import Image
from marvin_server.workspace import pictures

STANDARD_INPUT = "-"
_CLIPBOARD = "clipboard"


def read(sources: Sequence[str], environ: Mapping[str, str]) -> tuple[Image, ...]:
    """The picture of each of ``sources``: ``-`` for standard input, ``clipboard``, or the name of a file.

    ``environ`` is for the program that reads the clipboard. Raises ``UsageError`` for what is no picture that a model
    takes, and ``MarvinError`` where the clipboard holds none.
    """
    return tuple(_read(source, environ) for source in sources)


def _read(source: str, environ: Mapping[str, str]) -> Image:
    content = _content(source, environ)
    if len(content) > pictures.LARGEST:
        raise UsageError(f"--image {source}: more than {pictures.LARGEST // 1_000_000} MB; make the picture smaller")
    image = pictures.picture(content)
    if image is None:
        raise UsageError(f"--image {source}: this is no PNG, JPEG, GIF or WebP picture")
    return image


def _content(source: str, environ: Mapping[str, str]) -> bytes:
    """All of the source, or as much of it as shows that it is too large."""
    if source == _CLIPBOARD:
        from marvin_cli import clipboard

        return clipboard.picture(environ, pictures.LARGEST)
    if source == STANDARD_INPUT:
        if sys.stdin is None or sys.stdin.isatty():
            raise UsageError("--image -: standard input is a terminal; pipe a picture in, or name a file")
        return sys.stdin.buffer.read(pictures.LARGEST + 1)
    try:
        with Path(source).open("rb") as file:
            return file.read(pictures.LARGEST + 1)
    except OSError as error:
        raise UsageError(f"--image {source}: {error.strerror}") from None
