"""Changes to files as the events show them."""

from collections.abc import Callable, Collection, Mapping, Sequence

from msgspec.structs import replace

from marvin_server.edits.hunks import FileChange, whole
from marvin_server.edits.lines import alike
from marvin_server.edits.merge import merge
from marvin_server.events import Edit, Hunk, Patch
from marvin_server.workspace.confine import Root
from marvin_server.workspace.encodings import readable

_SHOWN_LINES = 12


def patch_of(patch: Patch, root: Root, changes: Sequence[FileChange]) -> Patch:
    """``patch`` with ``changes`` beneath ``root`` as its edits, their lines exactly as they are in the files."""
    return replace(patch, edits=tuple(_edit(root, change) for change in changes))


def as_shown(patch: Patch, shown: Callable[[str], str] = str) -> Patch:
    """``patch`` with its lines as they can be sent; ``shown`` is how one may be seen."""
    return _with_hunks(
        patch,
        lambda hunk: replace(
            hunk,
            old_lines=tuple(shown(readable(line)) for line in hunk.old_lines),
            new_lines=tuple(shown(readable(line)) for line in hunk.new_lines),
        ),
    )


def only(patch: Patch, ids: Collection[str]) -> Patch:
    """``patch`` with these hunks alone; all of it where they are none, as for a patch without hunks."""
    kept = _with_hunks(patch, lambda hunk: hunk if hunk.id in ids else None)
    return replace(kept, edits=tuple(edit for edit in kept.edits if edit.hunks or not ids))


def as_made(change: FileChange, text: str | None) -> FileChange:
    """``change`` in a document that has become ``text``, which holds what else was written there meanwhile."""
    if text is None or text == change.new or change.old is None or change.new is None:
        return change
    if alike(text, change.new):
        return replace(change, new=text, hunks=whole(change.path, change.old, text))
    before = merge(change.new, text, change.old)
    hunks = whole(change.path, before.text, text)
    if before.conflicts or {hunk.id for hunk in hunks} != {hunk.id for hunk in change.hunks}:
        return change
    return replace(change, old=before.text, new=text, hunks=hunks)


def diffs(changes: Sequence[FileChange | Edit]) -> Mapping[str, str]:
    """Each hunk of ``changes`` by its id as a few lines of a diff, under the path."""
    return {hunk.id: _diff(change.path, hunk) for change in changes for hunk in change.hunks}


def _with_hunks(patch: Patch, made: Callable[[Hunk], Hunk | None]) -> Patch:
    hunks = [tuple(new for hunk in edit.hunks if (new := made(hunk))) for edit in patch.edits]
    return replace(patch, edits=tuple(replace(edit, hunks=new) for edit, new in zip(patch.edits, hunks, strict=True)))


def _edit(root: Root, change: FileChange) -> Edit:
    return Edit(
        "add" if change.old is None else "delete" if change.new is None else "update",
        change.path,
        (root.path / change.path).as_uri(),
        change.hunks,
        change.move_to,
        change.move_to and (root.path / change.move_to).as_uri(),
        change.executable,
    )


def _diff(path: str, hunk: Hunk) -> str:
    lines = [*(f"-{line}" for line in hunk.old_lines), *(f"+{line}" for line in hunk.new_lines)]
    more = [f"[{len(lines) - _SHOWN_LINES} more lines]\n"] if len(lines) > _SHOWN_LINES else []
    ended = (line if line.endswith("\n") else f"{line}\n" for line in lines[:_SHOWN_LINES])
    return readable("".join([f"{path}, line {hunk.old_start}:\n", *ended, *more]))
