"""The editor of one connection as the core sees it: edits that count once its notifications show them."""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from typing import Any, cast

from marvin_server.errors import ToolError, UsageError
from marvin_server.lsp import uris
from marvin_server.lsp.applying import Applying, Ask, Change
from marvin_server.lsp.client import Client
from marvin_server.lsp.document import Document, disk_text
from marvin_server.lsp.documents import Documents
from marvin_server.lsp.refusals import Refusal
from marvin_server.protocol.patches import DocumentSaveParams, DocumentSaveResult
from marvin_server.protocol.reading import read
from marvin_server.protocol.wire import to_wire
from marvin_server.workspace.editor import Buffer, BufferEdit
from marvin_server.workspace.names import printable

_TRIES = 2
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
        # Edits that were given up, and may show up all the same.
        self._overdue: list[Change] = []
        self._taking_back: set[asyncio.Task[None]] = set()
        documents.watchers.append(self._see)

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
            changes = [Change(self._document(edit.path), edit.old, edit.new) for edit in edits]
            self._overdue = [each for each in self._overdue if each.document not in [one.document for one in changes]]
            try:
                if not await self._apply(label, changes):
                    raise ToolError(
                        f"The edit was not confirmed by the editor: {_names(changes, but_done=True)} did not show it "
                        f"within {_TRIES} tries. No file was changed. Read the file again before another try."
                    )
            except ToolError as error:
                raise ToolError(f"{error}{await self._take_back(label, changes)}") from None
            return tuple(change.document.text or change.new for change in changes)

    async def save(self) -> tuple[str, ...]:
        unsaved = [document for document in self._documents.all if document.is_marvins]
        if not unsaved:
            return ()
        saved: set[str] = set()
        if "documentSave" in self._client().abilities:
            params = to_wire(DocumentSaveParams(tuple(document.uri for document in unsaved)))
            try:
                answer = await self._ask("marvin/document/save", params, _SAVE_SECONDS)
                if isinstance(answer, dict):
                    told = read(cast("dict[str, Any]", answer), DocumentSaveResult)
                    saved = {uris.key(uri) for uri in told.saved}
            except (Refusal, TimeoutError, UsageError):
                pass
        done = [document for document in unsaved if uris.key(document.uri) in saved]
        for document, found in await self._looked_at(done):
            document.look(found)
        return tuple(
            f"{_name(document)} has changes of Marvin's that the editor did not save; a command does not see them"
            for document in unsaved
            if document not in done
        )

    async def reconcile(self) -> tuple[str, ...]:
        files = [document for document in self._documents.all if document.path and document.text is not None]
        known = [document.on_disk for document in files]
        looked_at = await self._looked_at(files)
        lines: list[str] = []
        for (document, found), before in zip(looked_at, known, strict=False):
            # One that was saved meanwhile is known better than it was looked at.
            if document.on_disk is before and document.look(found):
                what = "its file has changed on disk" if found is not None else "its file on disk is gone"
                lines.append(f"{_name(document)} has unsaved changes in the editor, and {what} beneath them")
        if len(looked_at) < len(files):
            lines.append(f"{len(files) - len(looked_at)} open files could not be compared with the disk in time")
        return tuple(lines)

    async def _looked_at(self, documents: Sequence[Document]) -> list[tuple[Document, str | None]]:
        """What their files hold, of as many, from the first on, as there is time for."""

        def work() -> list[tuple[Document, str | None]]:
            end = time.monotonic() + _LOOK_SECONDS
            found: list[tuple[Document, str | None]] = []
            for document in documents:
                if time.monotonic() > end:
                    break
                found.append((document, disk_text(document.path or "")))
            return found

        return await asyncio.to_thread(work)

    def _document(self, path: str) -> Document:
        document = self._documents.at(path)
        if document is None or document.is_behind:
            raise ToolError(f"'{printable(path)}' was closed in the editor, or has changed on disk. Read it again.")
        return document

    async def _apply(self, label: str, changes: Sequence[Change]) -> bool:
        """Make ``changes``, and say whether the documents show them. Raises ToolError for what can never be made."""
        applying = Applying(self._documents, self._ask, self._client())
        for _ in range(_TRIES):
            pending = [change for change in changes if change.plan()]
            if not pending or await applying.run(label, pending):
                return True
            if not applying.may_repeat:
                break
        return not any(change.plan() for change in changes)

    async def _take_back(self, label: str, changes: Sequence[Change]) -> str:
        """Take back what was made of ``changes``, now or when it shows up, and give a sentence on what could not be."""
        made = [change for change in changes if change.is_made]
        self._overdue += [change for change in changes if not change.is_made and change.document.text is not None]
        back = [Change(change.document, change.new, change.old) for change in made]
        try:
            if await self._apply(f"Undo: {label}", back):
                return ""
        except ToolError:
            pass
        return f" What was changed in {_names(back, but_done=True)} could not be taken back: undo it in the editor."

    def _see(self, document: Document) -> None:
        """Look whether what was given up has been made after all."""
        late = [each for each in self._overdue if each.document is document and document.shows(each.target)]
        if late:
            self._overdue = [each for each in self._overdue if each not in late]
            task = asyncio.create_task(self._take_back_late(late))
            self._taking_back.add(task)
            task.add_done_callback(self._taking_back.discard)

    async def _take_back_late(self, changes: Sequence[Change]) -> None:
        back = [Change(change.document, change.new, change.old) for change in changes]
        async with self._lock:
            try:
                is_done = await self._apply("Undo: an edit that came too late", back)
            except ToolError:
                is_done = False
        if not is_done:
            _log.warning("an edit of %s that came too late could not be taken back", _names(back))


def _name(document: Document) -> str:
    return f"'{printable(document.path or document.uri)}'"


def _names(changes: Sequence[Change], *, but_done: bool = False) -> str:
    return ", ".join(_name(change.document) for change in changes if not (but_done and change.is_made))
