"""Contents of one file that were kept at different times, or in different places, written alike to be compared.

What an editor holds is kept as UTF-8, whatever it will write to the file; a program that saves a file may change how it
is written. Neither is a change of its lines.
"""

from marvin_server.edits.lines import ended_as, like
from marvin_server.errors import ToolError
from marvin_server.workspace import encodings


def kept_text(text: str, path: str) -> bytes:
    """The text of an open file as a checkpoint keeps it. Raises ToolError, which names ``path``, for no Unicode."""
    return encodings.encode(text, "utf-8", path)


def text_of(content: bytes, path: str) -> str:
    """The text that was kept, whether of an open file or of one on disk. Raises ToolError for what is no text."""
    return encodings.decode(content, encodings.detected(content, path), path)


def alike(now: bytes, made: bytes, before: bytes, *, is_open: bool) -> tuple[bytes, bytes]:
    """``made``, which has become ``now``, and ``before``, from which it was made, written as ``now`` is: its encoding,
    line ends and last line end, each of them where ``made`` differs in it.

    ``now`` ``is_open`` in an editor, or on disk. What cannot be written so stays as it is.
    """
    try:
        made, before = _encoded(now, made, before, is_open=is_open)
    except ToolError:
        return made, before
    if b"\0" in now + made + before:
        return made, before
    # Latin-1 gives every byte a character, and line ends are the same in all encodings without NULs.
    texts = [content.decode("latin-1") for content in (now, made, before)]
    if ("\r\n" in texts[0]) != ("\r\n" in texts[1]):
        texts[1:] = [like(text, texts[0]) for text in texts[1:]]
    made_text, before_text = ended_as(*texts)
    return made_text.encode("latin-1"), before_text.encode("latin-1")


def _encoded(now: bytes, made: bytes, before: bytes, *, is_open: bool) -> tuple[bytes, bytes]:
    if not is_open and (now.isascii() or encodings.detected(made, "") == encodings.detected(now, "")):
        return made, before
    wanted = "utf-8" if is_open else encodings.detected(now, "")
    made, before = (encodings.encode(text_of(content, ""), wanted, "") for content in (made, before))
    return made, before
