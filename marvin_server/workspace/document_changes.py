"""Changes to several documents at once, where each is: open ones in the editor, the others on disk; all, or none."""

import asyncio
from collections.abc import Callable, Sequence
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from marvin_server.edits.lines import like
from marvin_server.errors import ToolError
from marvin_server.workspace import documents
from marvin_server.workspace.changes import Change, Staged, changed, stage
from marvin_server.workspace.confine import Root
from marvin_server.workspace.documents import SMALL, Document
from marvin_server.workspace.editor import Buffer, BufferEdit, Editor
from marvin_server.workspace.names import printable
from marvin_server.workspace.open_files import OpenFiles
from marvin_server.workspace.undisturbed import regardless, undisturbed

T = TypeVar("T")


class Made(Struct, frozen=True):
    """A change that was made: ``text`` is the document's then, None for a file that is deleted. One that was made
    ``in_editor`` is not saved."""

    text: str | None
    in_editor: bool


async def change(root: Root, open_files: OpenFiles, label: str, changes: Sequence[Change]) -> tuple[Made, ...]:
    """Make all ``changes``, or none.

    A document that is open is edited in the editor, under ``label``, and not saved; what the person has typed since it
    was read stays, so that its text may be another than that of the change. Files that are deleted, moved, or get
    another permission are changed on disk; those must have no unsaved changes.

    Raises ``PermissionNeeded`` for any protected path before anything is done; ``ToolError`` when a document is no
    longer as it was read, when a new one exists already, and for what the editor or the system says; everything is
    then as it was, or the error says what is not. Cancelled before the editor has confirmed its part, all is taken
    back; after that, it goes on.
    """
    editor = open_files.editor
    if editor is not None:
        await editor.look()
    large = sum(len(each.text or "") for each in changes) > SMALL
    placed = await _apart(lambda: [_placed(root, open_files, each) for each in changes], large)
    _refuse_doubles(placed)
    edits = [each for each in placed if isinstance(each, BufferEdit)]
    staged = await _staged(root, [each for each in placed if isinstance(each, Change)], large)
    try:
        texts = iter(await editor.edit(label, edits) if editor is not None and edits else ())
    except BaseException as error:
        staged.take_back(error)
        raise

    async def commit() -> None:
        try:
            await _apart(staged.commit, large)
        except BaseException as error:
            if editor is not None and edits:
                await _taken_out(editor, label, edits, error)
            raise
        if editor is not None and any(open_files.has(root, each.path) for each in changes):
            await editor.look()

    await regardless(commit())
    return tuple(Made(next(texts), True) if isinstance(each, BufferEdit) else Made(each.text, False) for each in placed)


def _placed(root: Root, open_files: OpenFiles, each: Change) -> Change | BufferEdit:
    """``each`` where it is to be made. Raises what ``change`` does."""
    if each.document is None:
        return _created(root, open_files, each)
    if each.move_to is not None and open_files.at(root, each.move_to):
        raise _exists(each.move_to)
    buffer = open_files.at(root, each.path)
    if buffer is None:
        return replace(each, document=_on_disk(root, each.path, each.document))
    if each.text is None or each.move_to is not None or each.executable is not None:
        if buffer.is_dirty:
            raise ToolError(
                f"'{printable(each.path)}' has unsaved changes in the editor, so it is not deleted or moved and keeps "
                "its permissions. Ask the person to save it, or change only its text."
            )
        document = _on_disk(root, each.path, replace(each.document, digest=None))
        return replace(each, document=document, text=each.text and like(each.text, document.text))
    return _in_editor(root, each.path, each.document, each.text, buffer)


def _created(root: Root, open_files: OpenFiles, each: Change) -> Change | BufferEdit:
    if open_files.at(root, each.path):
        raise _exists(each.path)
    blank = open_files.blank(root, each.path)
    if blank is None or each.executable is not None or each.text is None:
        return each
    with documents.explained(root, each.path, "creating"):
        root.check_writable(each.path)
    return BufferEdit(blank.path, blank.text, each.text)


def _in_editor(root: Root, path: str, document: Document, text: str, buffer: Buffer) -> BufferEdit:
    with documents.explained(root, path, "writing"):
        root.check_writable(path)
    if document.digest is None:
        return BufferEdit(buffer.path, document.text, text)
    if like(document.text, buffer.text) != buffer.text:
        raise ToolError(f"'{printable(path)}' has changed since it was read: it is open in the editor. Read it again.")
    return BufferEdit(buffer.path, buffer.text, like(text, buffer.text))


def _on_disk(root: Root, path: str, document: Document) -> Document:
    """The file that ``document`` was read from as it is on disk, where it was open in the editor then."""
    if document.digest is not None:
        return document
    there = documents.read(root, path)
    if like(document.text, there.text) != there.text:
        raise changed(path)
    return there


def _refuse_doubles(placed: Sequence[Change | BufferEdit]) -> None:
    paths = [each.path for each in placed if isinstance(each, BufferEdit)]
    for path in paths:
        if paths.count(path) > 1:
            raise ToolError(f"'{printable(path)}' is named twice; change it by one of its names.")


async def _staged(root: Root, changes: Sequence[Change], large: bool) -> Staged:
    """See ``stage``; nothing of it is left where that is cancelled."""
    staging = asyncio.ensure_future(_apart(lambda: stage(root, changes), large))
    try:
        return await undisturbed(staging)
    except asyncio.CancelledError as error:
        if staging.exception() is None:
            staging.result().take_back(error)
        raise


async def _taken_out(editor: Editor, label: str, edits: Sequence[BufferEdit], reason: BaseException) -> None:
    """Take ``edits`` back. Raises ToolError from ``reason`` when that cannot be."""
    back = [BufferEdit(edit.path, edit.new, edit.old) for edit in edits]
    try:
        await editor.edit(f"{label} (taken back)", back)
    except ToolError as error:
        listed = ", ".join(printable(edit.path) for edit in edits)
        raise ToolError(f"{reason} The edits in {listed} could not be taken back: {error}") from reason


async def _apart(work: Callable[[], T], is_large: bool) -> T:
    return await asyncio.to_thread(work) if is_large else work()


def _exists(path: str) -> ToolError:
    return ToolError(f"File already exists: '{printable(path)}'. Use apply_patch to modify existing files.")
