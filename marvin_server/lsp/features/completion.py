"""``marvin/complete``: what may stand in place of the word before the cursor of a prompt."""

import asyncio
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from marvin_server.errors import UsageError
from marvin_server.protocol.catalog import CompleteParams, CompleteResult, Completion
from marvin_server.protocol.reading import read
from marvin_server.workspace.names import printable

if TYPE_CHECKING:
    from marvin_server.lsp.server import Server

_MOST = 50
_FILE = re.compile(r"(?:^|\s)@(\S*)$")
_COMMAND = re.compile(r"\s*/([a-z]*)$")


async def complete(server: "Server", params: dict[str, Any]) -> CompleteResult:
    """Files and folders after ``@``; commands after a ``/`` with which the prompt begins."""
    asked = read(params, CompleteParams)
    cwd = Path(server.sessions.record(asked.session_id).cwd) if asked.session_id is not None else Path.cwd()
    before = _until(asked.text, asked.cursor, server.client.encoding)
    if match := _FILE.search(before):
        paths = await server.file_names.of(cwd)
        return CompleteResult(tuple(map(_place, await asyncio.to_thread(paths.best, match[1], _MOST))))
    if match := _COMMAND.fullmatch(before):
        return CompleteResult(_commands(match[1]))
    return CompleteResult(())


def _until(text: str, cursor: int, encoding: str) -> str:
    """``text`` up to the ``cursor``, which counts units of the ``encoding``; one beyond its end means the end."""
    if cursor < 0:
        raise UsageError(f"cursor: it counts from 0 and cannot be {cursor}")
    if encoding == "utf-32":
        return text[:cursor]
    codec, size = ("utf-8", 1) if encoding == "utf-8" else ("utf-16-le", 2)
    return text.encode(codec, "surrogatepass")[: cursor * size].decode(codec, "ignore")


def _place(path: str) -> Completion:
    folder, _, name = path.rstrip("/").rpartition("/")
    kind = "folder" if path.endswith("/") else "file"
    label = printable(f"{name}/" if kind == "folder" else name)
    return Completion(label, f'@"{path}"' if re.search(r"\s", path) else f"@{path}", kind, printable(folder) or None)


def _commands(letters: str) -> tuple[Completion, ...]:
    from marvin_server.session.commands import COMMANDS

    return tuple(
        Completion(f"/{each.name}", f"/{each.name}", "command", each.description)
        for each in COMMANDS
        if each.name.startswith(letters)
    )
