"""The editor of one connection as the core sees it: edits that count once its notifications show them."""

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, cast

from marvin_server.errors import ToolError, UsageError
from marvin_server.lsp import on_disk, uris
from marvin_server.lsp.applying import TRIES, Applying, Ask
from marvin_server.lsp.change import Change
from marvin_server.lsp.client import Client
from marvin_server.lsp.document import Document
from marvin_server.lsp.documents import Documents
from marvin_server.lsp.on_disk import OnDisk
from marvin_server.lsp.refusals import Refusal
from marvin_server.protocol.patches import DocumentSaveParams, DocumentSaveResult
from marvin_server.protocol.reading import read
from marvin_server.protocol.wire import to_wire
from marvin_server.workspace.documents import SMALL
from marvin_server.workspace.editor import Buffer, BufferEdit
from marvin_server.workspace.names import printable

_SAVE_SECONDS = 5.0
_LOOK_SECONDS = 2.0
_log = logging.getLogger("marvin.lsp")


class LspEditor:
    """See ``workspace.editor.Editor``. ``ask`` sends the client a request, ``client`` says what it can do."""

    def __init__(
        self,
        documents: Documents,
        ask: Ask,
        client: Callable[[], Client],
    ) -> None:
        self._documents = documents
        self._ask = ask
        self._client = client
        self._lock = asyncio.Lock()
        self._looking = asyncio.Lock()
        self._applying: Applying | None = None
        self._is_closed = False
        # Edits that were given up, and may show up all the same.
        self._overdue: list[Change] = []
        self._later: set[asyncio.Task[None]] = set()
        # Lines that nobody was told yet.
        self._news: list[str] = []
        documents.watchers.append(self._see)
        documents.look = self._look_soon

    def close(self) -> None:
        """The client is about to leave: no edit is waited for any more."""
        self._is_closed = True
        if self._applying:
            self._applying.stop()

    def buffer(self, path: str) -> Buffer | None:
        document = self._documents.at(path)
        return document.buffer() if document else None

    def buffers(self) -> Sequence[Buffer]:
        known = (document for document in self._documents.all if document.text is not None)
        return tuple(buffer for document in known if (buffer := document.buffer()))

    async def edit(self, label: str, edits: Sequence[BufferEdit]) -> tuple[str, ...]:
        if not self._client().can("workspace", "applyEdit"):
            raise ToolError(
                "The editor takes no edits, and the file is open in it. Ask for it to be closed there first."
            )
        async with self._lock:
            if self._is_closed:
                raise ToolError("The editor is gone. No open file was changed.")
            await self._look([self._document(edit.path) for edit in edits])
            changes = [Change(self._document(edit.path), edit.old, edit.new) for edit in edits]
            self._overdue = [each for each in self._overdue if each.document not in [one.document for one in changes]]
            try:
                if not await self._make(label, changes):
                    raise ToolError(
                        f"The edit was not confirmed by the editor: {_names(changes, but_done=True)} did not show it "
                        f"within {TRIES} tries. No file was changed. Read the file again before another try."
                    )
            except ToolError as error:
                if left := await self._taken_back(label, changes):
                    raise ToolError(f"{error} {_left(left)}") from None
                raise
            except asyncio.CancelledError:
                self._start(self._take_back_later(label, self._given_up(changes)))
                raise
            return tuple(change.document.text or change.target for change in changes)

    async def save(self) -> tuple[str, ...]:
        unsaved = [document for document in self._documents.all if document.is_marvins]
        known = await self._look(unsaved)
        wanted = [document for document in known if document.is_marvins]
        saved = await self._saved(wanted) if wanted else set[str]()
        done = [document for document in wanted if uris.key(document.uri) in saved]
        await self._look(done)
        refused = [
            f"{_name(document)} has changes of Marvin's that the editor did not save; a command does not see them"
            for document in unsaved
            if document not in done and document.is_marvins
        ]
        mixed = [
            f"{_name(document)} has changes of Marvin's that are not saved, since there are others too, in the editor "
            "or in its file; a command does not see them"
            for document in self._documents.all
            if document.is_mixed()
        ]
        return (*self._told(), *refused, *mixed)

    async def look(self) -> None:
        files = [document for document in self._documents.all if document.path and document.text is not None]
        looked_at = await self._look(files)
        if len(looked_at) < len(files):
            self._news.append(f"{len(files) - len(looked_at)} open files could not be compared with the disk in time")

    async def reconcile(self) -> tuple[str, ...]:
        await self.look()
        return self._told()

    def _told(self) -> tuple[str, ...]:
        told, self._news = tuple(self._news), []
        return told

    async def _saved(self, documents: Sequence[Document]) -> set[str]:
        """The keys of those that the client has saved."""
        if "documentSave" not in self._client().abilities:
            return set()
        params = to_wire(DocumentSaveParams(tuple(document.uri for document in documents)))
        try:
            answer = await self._ask("marvin/document/save", params, _SAVE_SECONDS)
            if not isinstance(answer, dict):
                return set()
            return {uris.key(uri) for uri in read(cast("dict[str, Any]", answer), DocumentSaveResult).saved}
        except (Refusal, TimeoutError, UsageError):
            return set()

    def _look_soon(self, document: Document) -> None:
        """Look at the file of a document, a large one in a thread."""
        path = document.path or ""
        at = on_disk.stamp(path)
        if at is None or at.size <= SMALL:
            document.look(on_disk.look(path))
        else:
            self._start(self._look_later(document))

    async def _look_later(self, document: Document) -> None:
        await self._look([document])

    async def _look(self, documents: Sequence[Document]) -> list[Document]:
        """Look at the files of ``documents``; give those, from the first on, for which there was time."""
        known = [(document, document.path or "", document.on_disk) for document in documents]

        def work() -> list[OnDisk | None]:
            end = time.monotonic() + _LOOK_SECONDS
            found: list[OnDisk | None] = []
            for _, path, before in known:
                if time.monotonic() > end:
                    break
                is_known = before is not None and before.is_settled and before.is_at(path)
                found.append(None if is_known else on_disk.look(path))
            return found

        # One after the other: threads that decode large files at once would keep the loop waiting.
        async with self._looking:
            found = await asyncio.to_thread(work) if known else []
        for (document, _, before), now in zip(known, found, strict=False):
            # One that was saved meanwhile is known better than it was looked at.
            if now is not None and document.on_disk is before and document.look(now):
                what = "its file has changed on disk" if now.text is not None else "its file on disk is gone"
                self._news.append(f"{_name(document)} has unsaved changes in the editor, and {what} beneath them")
        return list(documents[: len(found)])

    def _document(self, path: str) -> Document:
        document = self._documents.at(path)
        if document is None or document.is_behind:
            raise ToolError(f"'{printable(path)}' was closed in the editor, or has changed on disk. Read it again.")
        return document

    async def _make(self, label: str, changes: Sequence[Change]) -> bool:
        """See ``Applying.make``."""
        self._applying = Applying(self._documents, self._ask)
        if self._is_closed:
            self._applying.stop()
        try:
            return await self._applying.make(label, changes)
        finally:
            self._applying = None

    def _given_up(self, changes: Sequence[Change]) -> Sequence[Change]:
        """``changes``, which are taken back as well when they show up later."""
        self._overdue += [change for change in changes if change.is_expected and change.document.text is not None]
        return changes

    async def _taken_back(self, label: str, changes: Sequence[Change]) -> list[Change]:
        """Take back what was made of ``changes``, now or when it shows up, and give those for which that failed."""
        back: dict[Change, Change] = {}
        left: list[Change] = []
        for change in self._given_up(changes):
            try:
                if reversal := await change.reversed():
                    back[change] = reversal
            except ToolError:
                left.append(change)
        try:
            is_done = not back or await self._make(f"Undo: {label}", list(back.values()))
        except ToolError:
            is_done = False
        return left if is_done else [*left, *(change for change, one in back.items() if not one.is_made)]

    def _see(self, document: Document) -> None:
        """Look whether what was given up has been made after all."""
        mine = [each for each in self._overdue if each.is_expected and each.document is document]
        for each in mine:
            each.see()
        self._overdue = [each for each in self._overdue if each.is_expected]
        if late := [each for each in mine if each.is_made]:
            self._start(self._take_back_later("an edit that came too late", late))

    async def _take_back_later(self, label: str, changes: Sequence[Change]) -> None:
        async with self._lock:
            if left := await self._taken_back(label, changes):
                self._news.append(_left(left))
                _log.warning("an edit that was given up: %s", _left(left))

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._later.add(task)
        task.add_done_callback(self._later.discard)


def _left(changes: Sequence[Change]) -> str:
    return f"Marvin's change of {_names(changes)} may still be in the editor, unsaved: look at it before another try."


def _name(document: Document) -> str:
    return f"'{printable(document.path or document.uri)}'"


def _names(changes: Sequence[Change], *, but_done: bool = False) -> str:
    return ", ".join(change.name for change in changes if not (but_done and change.is_made))
