"""The documents that are open in the editor, as its notifications tell of them."""

import logging
from collections.abc import Callable, Sequence

from marvin_server.errors import ToolError
from marvin_server.lsp import on_disk, uris
from marvin_server.lsp.document import BadRange, Document
from marvin_server.protocol.base import FromClient
from marvin_server.protocol.places import Range
from marvin_server.workspace.names import printable

_log = logging.getLogger("marvin.lsp")


class ContentChange(FromClient, frozen=True):
    """LSP's TextDocumentContentChangeEvent: without ``range``, ``text`` is all of it."""

    text: str
    range: Range | None = None


class Documents:
    """All of them. ``encoding`` is the unit of positions that was agreed on; ``watchers`` are called after each single
    change of a text. ``look`` is called to look at the file of one that was opened or saved, at once or later.

    What cannot be followed (a document that is not open, a version that does not grow, a place that the text does not
    have) gives a line in the log, and the document's text counts as unknown until it is told whole again.
    """

    def __init__(self) -> None:
        self.encoding = "utf-16"
        self._open: dict[str, Document] = {}
        self.watchers: list[Callable[[Document], None]] = []
        self.look: Callable[[Document], object] = lambda each: each.look(on_disk.look(each.path or ""))

    @property
    def all(self) -> Sequence[Document]:
        """Those of files and others, the first opened first."""
        return tuple(self._open.values())

    def find(self, uri: str) -> Document | None:
        """The open document that is named so, in whatever spelling."""
        path = uris.real_path(uri)
        return self._open.get(uris.key(uri)) or (self.at(path) if path else None)

    def at(self, path: str) -> Document | None:
        """The open document of the file whose real path this is. Where several links lead to it, that is one with
        unsaved changes, else the last opened. Raises ToolError where two have different unsaved changes."""
        found = [document for document in self.all if document.path == path]
        changed = [document for document in found if document.is_dirty] if len(found) > 1 else []
        if len({document.text for document in changed}) > 1:
            names = " and ".join(printable(uris.key(document.uri)) for document in changed)
            raise ToolError(
                f"'{printable(path)}' is open by several names, with different unsaved changes: {names}. Ask the "
                "person to save or close one of them."
            )
        return next(reversed(changed or found), None)

    def opened(self, uri: str, text: str, version: int) -> None:
        """The client has opened it; its file is not the truth from now on."""
        key = uris.key(uri)
        self._open.pop(key, None)
        document = self._open[key] = Document(uri, uris.real_path(uri), text, version)
        if document.path:
            self.look(document)

    def changed(self, uri: str, version: int | None, changes: Sequence[ContentChange]) -> None:
        """Its text has changed, by all of ``changes`` in this order. Versions grow, by one or more; a client that
        sends none is believed to keep the order."""
        document = self._open.get(uris.key(uri))
        if document is None:
            _log.warning("a change of %r was passed over, since it is not open", uri)
            return
        if version is not None:
            if version <= document.version:
                self._lose(document, f"version {version} came after {document.version}")
            document.version = version
        for change in changes:
            try:
                if change.range is None:
                    document.put(change.text)
                else:
                    document.replace(change.range, change.text, self.encoding)
            except BadRange as error:
                self._lose(document, str(error))
            for watcher in tuple(self.watchers):
                watcher(document)

    def saved(self, uri: str, text: str | None) -> None:
        """It was written to its file; ``text`` is all of it, where the client sends that."""
        document = self._open.get(uris.key(uri))
        if document is None:
            _log.warning("the saving of %r was passed over, since it is not open", uri)
            return
        if text is not None and not document.shows(text):
            if document.text is not None:
                _log.warning("%r was saved with another text than the one that was told: it holds now", uri)
            document.put(text)
        document.saved()
        if document.path:
            self.look(document)

    def closed(self, uri: str) -> None:
        """The client has closed it; its file is the truth again."""
        if document := self._open.pop(uris.key(uri), None):
            document.lose()

    def lose(self, uri: str, why: str) -> None:
        """What was told of it could not be read."""
        if document := self._open.get(uris.key(uri)):
            self._lose(document, why)

    def _lose(self, document: Document, why: str) -> None:
        if document.text is not None:
            _log.warning(
                "the text of %r is not known any more, until it is saved or opened again: %s", document.uri, why
            )
        document.lose()
