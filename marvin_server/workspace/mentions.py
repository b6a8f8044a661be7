"""``@file`` in what a person types: which files and folders of the workspace they may mean."""

import asyncio
import re
from pathlib import Path
from typing import Literal

from msgspec import Struct

from marvin_server.workspace.file_names import FileNames
from marvin_server.workspace.names import printable

_MOST = 50
_TYPED = re.compile(r"(?:^|\s)@(\S*)$")


class Mention(Struct, frozen=True):
    """``text`` takes the place of what was typed from the ``@`` on; ``folder`` is where the ``label`` is, None at the
    top."""

    text: str
    label: str
    kind: Literal["file", "folder"]
    folder: str | None


async def meant(before: str, names: FileNames, cwd: Path) -> tuple[str, tuple[Mention, ...]] | None:
    """The letters that were typed after an ``@`` with which ``before`` ends, and what they may mean, best first; None
    where it ends in no such thing. Ignored files are left out."""
    match = _TYPED.search(before)
    if match is None:
        return None
    paths = await names.of(cwd)
    return match[1], tuple(map(_mention, await asyncio.to_thread(paths.best, match[1], _MOST)))


def _mention(path: str) -> Mention:
    folder, _, name = path.rstrip("/").rpartition("/")
    is_folder = path.endswith("/")
    text = f'@"{path}"' if re.search(r"\s", path) else f"@{path}"
    kind: Literal["file", "folder"] = "folder" if is_folder else "file"
    return Mention(text, printable(f"{name}/" if is_folder else name), kind, printable(folder) or None)
