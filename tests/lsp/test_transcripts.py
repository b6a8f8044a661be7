"""The transcripts are what the server says today, and an editor can be played one."""

import asyncio
import sys
from pathlib import Path

import pytest

from tests.lsp.editor import Editor
from tests.transcripts import page
from tests.transcripts.record import FOLDER, SCENES, Scene, read, recorded


@pytest.mark.parametrize("name", SCENES)
async def test_a_transcript_is_what_is_said_today(name: str, tmp_path: Path) -> None:
    """When this fails on purpose: ``python -m tests.transcripts.record``."""
    assert await recorded(name, tmp_path) == read(name)


def test_the_transcript_of_the_page_is_cut_from_these() -> None:
    """When this fails on purpose: ``python -m tests.transcripts.page``."""
    shown = page.PAGE.read_text(encoding="utf-8")
    assert page.put(shown) == shown


@pytest.mark.parametrize("name", SCENES)
async def test_an_editor_can_be_played_a_transcript(name: str, tmp_path: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "tests.transcripts.play", FOLDER / f"{name}.jsonl"),
        cwd=tmp_path,
        env={"PYTHONPATH": str(Path(__file__).parents[2])},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    editor = Editor(process)
    editor.begin_reading()
    try:
        await SCENES[name][1](Scene(editor, tmp_path))
        assert await editor.leave() == 0
    finally:
        await editor.close()
