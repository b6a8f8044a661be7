"""What a prompt is made of, and what a client adds to it from the editor."""

from marvin_server.protocol.base import FromClient
from marvin_server.protocol.places import Range


class TextInput(FromClient, frozen=True, tag="text"):
    """What the person wrote."""

    text: str


class ImageInput(FromClient, frozen=True, tag="image"):
    """A picture; ``data`` is base64, ``mime_type`` such as ``image/png``."""

    mime_type: str
    data: str


Input = TextInput | ImageInput


class FileContext(FromClient, frozen=True, tag="file"):
    """The file is meant; the model may read it."""

    uri: str


class BufferContext(FromClient, frozen=True, tag="buffer"):
    """The whole text of an open document."""

    uri: str
    version: int


class SelectionContext(FromClient, frozen=True, tag="selection"):
    """A part of an open document."""

    uri: str
    version: int
    range: Range


class Diagnostic(FromClient, frozen=True):
    """LSP's own; ``severity`` is 1 (error) to 4 (hint)."""

    range: Range
    message: str
    severity: int | None = None
    source: str | None = None
    code: int | str | None = None


class DiagnosticsContext(FromClient, frozen=True, tag="diagnostics"):
    """What the editor's other servers say of a document; without ``items``, that there is nothing."""

    uri: str
    items: tuple[Diagnostic, ...] = ()


class TextContext(FromClient, frozen=True, tag="text"):
    """Any text, such as a terminal's; ``title`` says where it is from."""

    text: str
    title: str | None = None


class GitDiffContext(FromClient, frozen=True, tag="gitDiff"):
    """What was changed since the last commit, or only what is ``staged``; of one file with ``uri``."""

    uri: str | None = None
    staged: bool = False


class ImageContext(FromClient, frozen=True, tag="image"):
    """A picture that the prompt is about."""

    mime_type: str
    data: str


Context = (
    FileContext | BufferContext | SelectionContext | DiagnosticsContext | TextContext | GitDiffContext | ImageContext
)
