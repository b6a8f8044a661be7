"""``marvin/complete``: what may stand in place of the word before the cursor of a prompt."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from marvin_server.errors import UsageError
from marvin_server.protocol.catalog import CompleteParams, CompleteResult, Completion
from marvin_server.protocol.reading import read
from marvin_server.workspace import mentions

if TYPE_CHECKING:
    from marvin_server.lsp.server import Server

_COMMAND = re.compile(r"\s*/([a-z]*)$")


async def complete(server: "Server", params: dict[str, Any]) -> CompleteResult:
    """Files and folders after ``@``; commands after a ``/`` with which the prompt begins."""
    asked = read(params, CompleteParams)
    cwd = Path(server.sessions.record(asked.session_id).cwd) if asked.session_id is not None else Path.cwd()
    before = _until(asked.text, asked.cursor, server.client.encoding)
    if found := await mentions.meant(before, server.file_names, cwd):
        return CompleteResult(tuple(Completion(each.label, each.text, each.kind, each.folder) for each in found[1]))
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


def _commands(letters: str) -> tuple[Completion, ...]:
    from marvin_server.session.commands import COMMANDS

    return tuple(
        Completion(f"/{each.name}", f"/{each.name}", "command", each.description)
        for each in COMMANDS
        if each.name.startswith(letters)
    )
