"""Editors on the real server, with a loopback model."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.lsp.editor import MARVIN, Editor
from tests.lsp.plain_editor import PlainEditor

Start = Callable[..., Awaitable[Editor]]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    (folder / "README.md").write_text("# A workspace\n")
    return folder


@pytest.fixture
async def start(workspace: Path, model_environ: dict[str, str]) -> AsyncIterator[Start]:
    """Start a server that asks ``model_server``; ``initialize=False`` leaves it as it is."""
    editors: list[Editor] = []

    async def run(
        *args: str | Path, marvin: Any = MARVIN, initialize: bool = True, read: bool = True, **environ: str
    ) -> Editor:
        editor = await Editor.start(workspace, {**model_environ, **environ}, *args, read=read)
        editors.append(editor)
        if initialize:
            await editor.initialize(marvin)
        return editor

    yield run
    for editor in editors:
        await editor.close()


@pytest.fixture
async def editor(start: Start) -> Editor:
    return await start()


@pytest.fixture
async def plain(start: Start, workspace: Path) -> PlainEditor:
    return await PlainEditor.connect(await start(initialize=False), workspace)
