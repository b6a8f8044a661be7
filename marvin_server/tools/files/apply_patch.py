"""The tool ``apply_patch``."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace
from pydantic import BaseModel, Field, model_validator

from marvin_server.edits import formats
from marvin_server.edits.hunks import FileChange
from marvin_server.edits.patch import Delete, Operation, Patch, Update
from marvin_server.edits.replace import Ambiguous, NotFound
from marvin_server.edits.replace import replace as replace_text
from marvin_server.edits.unified import Difference, shown
from marvin_server.edits.verify import verify
from marvin_server.errors import ToolError
from marvin_server.tools.base import Applied, ToolContext, ToolOutput, tool
from marvin_server.workspace.documents import Document
from marvin_server.workspace.encodings import readable
from marvin_server.workspace.workspace import Workspace

T = TypeVar("T")

_SHOWN_LINES = 60
_SHOWN_CHARACTERS = 4_000


class Params(BaseModel):
    path: str | None = Field(None, examples=["src/main.py"])
    old_str: str | None = Field(None, examples=["return 1\n"])
    new_str: str | None = Field(None, examples=["return 2\n"])
    replace_all: bool = False
    patch: str | None = Field(
        None,
        description="instead of these: '*** Begin Patch' … '*** End Patch', SEARCH/REPLACE blocks or a unified diff",
    )

    @model_validator(mode="after")
    def _is_one_form(self) -> "Params":
        if self.patch is None:
            if None in {self.path, self.old_str, self.new_str}:
                raise ValueError("send path, old_str and new_str, or else patch")
        elif self.old_str is not None or self.new_str is not None or self.replace_all:
            raise ValueError("send either patch, or path, old_str and new_str")
        return self

    @cached_property
    def read(self) -> Patch | ToolError | None:
        """The patch, or what is wrong with it; None where there is none."""
        try:
            return None if self.patch is None else formats.parse(self.patch, self.path)
        except ToolError as error:
            return error


def _paths(params: Params) -> list[str]:
    if isinstance(params.read, Patch):
        return list(params.read.paths)
    return [params.path] if params.path else []


def _title(params: Params) -> str:
    operations = params.read.operations if isinstance(params.read, Patch) else ()
    named = [_named(operation) for operation in operations] or _paths(params)
    return " ".join(["apply_patch", ", ".join(dict.fromkeys(named))]).rstrip()


def _named(operation: Operation) -> str:
    match operation:
        case Delete():
            return f"{operation.path} (deleted)"
        case Update(move_to=str() as target):
            return f"{operation.path} → {target}"
        case _:
            return operation.path


class _Planned(Struct, frozen=True):
    """What a call would do: ``documents`` are the files that it changes, as they were read."""

    changes: Sequence[FileChange]
    documents: Mapping[str, Document]
    notes: Sequence[str]


async def _preview(params: Params, context: ToolContext) -> str:
    return await _planned(params, context.workspace, lambda planned: _diff([shown(one) for one in planned.changes]))


@tool(effect="edit", title=_title, paths=_paths, preview=_preview, by_patch=True)
async def apply_patch(params: Params, context: ToolContext) -> ToolOutput:
    """Replace old_str, copied with its white space and enough lines to occur once in the file, with new_str; or apply a
    patch to several files, all of it or nothing."""
    planned = await _planned(params, context.workspace, lambda planned: planned)
    applied = await context.patches().apply(context.workspace, planned.changes, planned.documents)
    size = params.path if params.patch is None else None
    return await context.workspace.apart(size, lambda: _told(applied, planned.notes))


async def _planned(params: Params, workspace: Workspace, then: Callable[[_Planned], T]) -> T:
    """What ``then`` makes of what the call would do; both take time in proportion to the files."""
    patch = params.read
    if patch is None:
        return await workspace.apart(params.path, lambda: then(_replaced(params, workspace)))
    if isinstance(patch, ToolError):
        raise patch
    return await workspace.apart(None, lambda: then(_patched(patch, workspace)))


def _replaced(params: Params, workspace: Workspace) -> _Planned:
    document = workspace.read(params.path or "")
    old, new = params.old_str or "", params.new_str or ""
    try:
        change = replace_text(document.path, document.text, old, new, everywhere=params.replace_all)
    except (NotFound, Ambiguous) as error:
        raise ToolError(f"{document.path}: {readable(str(error))}") from error
    if change.old == change.new:
        raise ToolError(f"{document.path}: old_str and new_str are the same, so there is nothing to change.")
    return _Planned([change], {change.path: document}, change.notes)


def _patched(patch: Patch, workspace: Workspace) -> _Planned:
    documents: dict[str, Document] = {}

    def read(path: str) -> str | None:
        if not workspace.exists(path):
            return None
        document = workspace.read(path)
        documents[document.path] = document
        return document.text

    changes = [
        replace(change, path=workspace.locate(change.path), move_to=change.move_to and workspace.locate(change.move_to))
        for change in verify(patch, read)
    ]
    notes = (*patch.notes, *(f"{change.path}: {note}" for change in changes for note in change.notes))
    return _Planned(changes, documents, notes)


def _told(applied: Applied, notes: Sequence[str]) -> ToolOutput:
    changes = applied.changes
    differences = [shown(change) for change in changes]
    diff = _diff(differences)
    lines = [_line(change, difference) for change, difference in zip(changes, differences, strict=True)]
    lines += [f"Note: {readable(note)}." for note in notes]
    lines += applied.notes
    return ToolOutput(
        "\n".join([*lines, _shortened(diff)]).rstrip(),
        details={
            "diff": diff,
            "added": sum(difference.added for difference in differences),
            "removed": sum(difference.removed for difference in differences),
            "files": [_details(change, difference) for change, difference in zip(changes, differences, strict=True)],
        },
    )


def _diff(differences: Sequence[Difference]) -> str:
    return readable("".join(difference.diff for difference in differences))


def _line(change: FileChange, difference: Difference) -> str:
    if change.old is None:
        return f"Created {change.path}: +{difference.added} lines."
    if change.new is None:
        return f"Deleted {change.path}: -{difference.removed} lines."
    counts = f"+{difference.added} -{difference.removed} lines."
    return (
        f"Moved {change.path} to {change.move_to}: {counts}" if change.move_to else f"Changed {change.path}: {counts}"
    )


def _details(change: FileChange, difference: Difference) -> dict[str, Any]:
    """What the screen shows of one file, with the wire's names: each hunk by its id and its lines, which are in the
    diff."""
    return {
        "path": change.path,
        "kind": "add" if change.old is None else "delete" if change.new is None else "update",
        **({"movedTo": change.move_to} if change.move_to else {}),
        "added": difference.added,
        "removed": difference.removed,
        "hunks": [
            {
                "id": hunk.id,
                "oldStart": hunk.old_start,
                "oldLines": len(hunk.old_lines),
                "newStart": hunk.new_start,
                "newLines": len(hunk.new_lines),
            }
            for hunk in change.hunks
        ],
    }


def _shortened(diff: str) -> str:
    lines = diff.splitlines()
    kept: list[str] = []
    room = _SHOWN_CHARACTERS
    for line in lines[:_SHOWN_LINES]:
        room -= len(line) + 1
        if room < 0:
            break
        kept.append(line)
    left = len(lines) - len(kept)
    return "\n".join([*kept, *([f"[{left} more lines of the diff]"] if left else [])])
