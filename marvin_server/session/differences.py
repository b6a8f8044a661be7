"""What has become of files between checkpoints, as a unified diff for people."""

import stat
from collections.abc import Callable, Sequence
from pathlib import Path

from marvin_server.edits.hunks import FileChange, whole
from marvin_server.edits.unified import shown as shown_change
from marvin_server.errors import CheckpointError
from marvin_server.session.file_copy import Contents
from marvin_server.session.steps import KeptStep
from marvin_server.workspace.checkpoint_objects import FileState
from marvin_server.workspace.checkpoints import Checkpoints
from marvin_server.workspace.encodings import readable
from marvin_server.workspace.names import printable


def shown(contents: Contents, path: str, old: FileState | None, new: FileState | None) -> str:
    """What has become of one file; bytes that are no text are shown as escapes. Raises ``CheckpointError``."""
    texts = [None if each is None else contents.of(each.id) for each in (old, new)]
    if any(text and b"\0" in text for text in texts):
        return f"Binary file {printable(path)} {_verb(old, new)}\n"
    before, after = (None if text is None else text.decode("utf-8", "surrogateescape") for text in texts)
    note = ""
    for each in (old, new):
        if each and each.is_link:
            note = f"Symbolic link {printable(path)} {_verb(old, new)}\n"
    if old and new and old.mode != new.mode and not note:
        note = f"Permissions of {printable(path)}: {stat.S_IMODE(old.mode):o} to {stat.S_IMODE(new.mode):o}\n"
    change = FileChange(path, before, after, whole(path, before, after))
    return note + readable(shown_change(change).diff)


def of_steps(steps: Sequence[KeptStep], checkpoints: Callable[[Path], Checkpoints]) -> str:
    """What all of ``steps`` together have changed, undone ones left out. A step that was killed midway counts for
    nothing. It takes some time: call it in a thread. Raises ``CheckpointError``."""
    texts: list[str] = []
    for root in dict.fromkeys(step.root for step in steps):
        objects = checkpoints(Path(root)).objects
        try:
            first: dict[str, FileState | None] = {}
            last: dict[str, FileState | None] = {}
            for step in steps:
                if step.root == root and step.after is not None:
                    for path, (old, new) in objects.differences(step.before, step.after).items():
                        first.setdefault(path, old)
                        last[path] = new
            contents = Contents(objects)
            changed = [path for path in sorted(first) if first[path] != last[path]]
            texts += [shown(contents, path, first[path], last[path]) for path in changed]
        except OSError as error:
            raise CheckpointError(f"{root}: {error.strerror}") from error
        finally:
            objects.close()
    return "".join(texts)


def _verb(old: FileState | None, new: FileState | None) -> str:
    return "is made" if old is None else "is removed" if new is None else "is changed"
