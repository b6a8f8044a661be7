"""``textDocument/didOpen`` and its kin, and the folders of the workspace: what the editor has open, and where."""

import logging
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from marvin_server.errors import UsageError
from marvin_server.lsp import uris
from marvin_server.lsp.documents import ContentChange
from marvin_server.protocol.base import FromClient
from marvin_server.protocol.reading import read

if TYPE_CHECKING:
    from marvin_server.lsp.server import Server

# LSP's ServerCapabilities; changes come as ranges.
CAPABILITIES: Mapping[str, Any] = MappingProxyType(
    {
        "textDocumentSync": {"openClose": True, "change": 2, "save": {"includeText": True}},
        "workspace": {"workspaceFolders": {"supported": True, "changeNotifications": True}},
    }
)
_log = logging.getLogger("marvin.lsp")


class _Named(FromClient, frozen=True):
    uri: str
    version: int | None = None


class _Opened(FromClient, frozen=True):
    uri: str
    text: str
    version: int = 0


class _DidOpen(FromClient, frozen=True):
    text_document: _Opened


class _OfDocument(FromClient, frozen=True):
    text_document: _Named


class _DidChange(_OfDocument, frozen=True):
    content_changes: tuple[ContentChange, ...]


class _DidSave(_OfDocument, frozen=True):
    text: str | None = None


class _Folder(FromClient, frozen=True):
    uri: str


class _FolderChange(FromClient, frozen=True):
    added: tuple[_Folder, ...] = ()
    removed: tuple[_Folder, ...] = ()


class _DidChangeFolders(FromClient, frozen=True):
    event: _FolderChange


def did_open(server: "Server", params: dict[str, Any]) -> None:
    opened = read(params, _DidOpen).text_document
    server.documents.opened(opened.uri, opened.text, opened.version)


def did_change(server: "Server", params: dict[str, Any]) -> None:
    named = read(params, _OfDocument).text_document
    try:
        changes = read(params, _DidChange).content_changes
    except UsageError as error:
        server.documents.lose(named.uri, str(error))
        return
    server.documents.changed(named.uri, named.version, changes)


def did_save(server: "Server", params: dict[str, Any]) -> None:
    saved = read(params, _DidSave)
    server.documents.saved(saved.text_document.uri, saved.text)


def did_close(server: "Server", params: dict[str, Any]) -> None:
    server.documents.closed(read(params, _OfDocument).text_document.uri)


def did_change_folders(server: "Server", params: dict[str, Any]) -> None:
    event = read(params, _DidChangeFolders).event
    told = {uris.key(folder.uri) for folder in (*event.removed, *event.added)}
    kept = [uri for uri in server.client.folders if uris.key(uri) not in told]
    server.client = replace(server.client, folders=(*kept, *(folder.uri for folder in event.added)))


NOTIFICATIONS: Mapping[str, Callable[["Server", dict[str, Any]], None]] = MappingProxyType(
    {
        "textDocument/didOpen": did_open,
        "textDocument/didChange": did_change,
        "textDocument/didSave": did_save,
        "textDocument/didClose": did_close,
        "workspace/didChangeWorkspaceFolders": did_change_folders,
    }
)


def hear(server: "Server", method: str, params: dict[str, Any]) -> None:
    """Take one of these notifications; one that cannot be read is a line in the log."""
    try:
        NOTIFICATIONS[method](server, params)
    except UsageError as error:
        _log.warning("%s was passed over: %s", method, error)
