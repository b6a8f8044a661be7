"""Where what a client adds to a prompt is taken from: the editor's documents, the workspace's files and its git."""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from marvin_server.lsp import opening
from marvin_server.lsp.documents import Documents

if TYPE_CHECKING:
    from marvin_server.lsp.live import LiveSession
    from marvin_server.lsp.server import Server


class Sources(Struct, frozen=True):
    """Those of one session: the open ``documents``, files of its own ``folder`` and of the other ``folders`` of the
    workspace, and ``diff``, which gives its git diff (of a file in it, and staged or not; it raises ``ToolError``)."""

    documents: Documents
    folder: Path
    folders: Sequence[Path]
    diff: Callable[[str | None, bool], Awaitable[str]]


def of(server: "Server", live: "LiveSession") -> Sources:
    """What may be added to a prompt of ``live``; for a diff it is opened, with its lock, where it is not. Raises
    ``NoSession``."""
    folder = Path(server.sessions.record(live.id).cwd)

    async def diff(path: str | None, staged: bool) -> str:
        from marvin_server.workspace import git, git_repository

        if live.opened is None:
            async with live.lock:
                await opening.ready_without_turns(server, live)
        assert live.opened is not None
        environ = live.settings.child_environ()
        repository = await git_repository.opened(live.opened.processes, folder, ".", environ, lambda _: False)
        return await git.diff(repository, staged=staged, path=path, revision=None if staged else "HEAD")

    return Sources(server.documents, folder, server.folders, diff)
