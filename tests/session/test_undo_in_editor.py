"""Turns undone of files that are open: in the editor, on disk, or in neither, which is always told."""

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from marvin_server import settings
from marvin_server.events import Notice, TurnFinished
from marvin_server.messages import ToolCall
from marvin_server.providers.selection import Choice
from marvin_server.session.file_copy import Failed
from marvin_server.session.opening import open_session
from marvin_server.session.session import Session
from marvin_server.session.steps import Step
from marvin_server.session.store import Store
from tests.agent.scripted import Scripted, call
from tests.patience import SECONDS
from tests.session.memory_editor import MemoryEditor

LINES = "one\ntwo\nthree\nfour\nfive\n"
BENEATH = (
    "its file on disk has the change beneath unsaved changes in the editor: save it there, or read it again from the "
    "disk, then try again"
)
Play = Callable[..., Awaitable[Session]]


@pytest.fixture
def a(tmp_path: Path) -> Path:
    (tmp_path / "workspace").mkdir()
    file = tmp_path / "workspace" / "a.txt"
    file.write_text(LINES)
    return file


@pytest.fixture
def play(a: Path, store: Store, tmp_path: Path, editor: MemoryEditor) -> Play:
    """Plays a turn that makes ``calls``, of which no notice may come but of unsaved changes."""

    async def played(*calls: ToolCall) -> Session:
        environ = {"MARVIN_HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"], "HOME": str(tmp_path)}
        opened = open_session(
            settings.load({"sandbox": "off", "approve": "all"}, environ),
            Choice(Scripted(*([each] for each in calls), ["Done."]), free=True),
            store,
            a.parent,
            rounds=50,
            editor=editor,
        )
        subscription = opened.session.subscribe()
        opened.session.submit("Go on")
        async with asyncio.timeout(SECONDS):
            async for _, event in subscription:
                assert not isinstance(event, Notice) or "undone" not in event.text
                if isinstance(event, TurnFinished):
                    break
        return opened.session

    return played


def edit(old: str, new: str) -> ToolCall:
    return call("apply_patch", json.dumps({"path": "a.txt", "old_str": old, "new_str": new}))


def run(command: str) -> ToolCall:
    return call("run_command", json.dumps({"command": command}))


async def test_what_a_command_did_beneath_unsaved_changes_is_left_alone_and_told(
    play: Play, a: Path, editor: MemoryEditor
) -> None:
    editor.open(a)
    editor.type(a, LINES + "typed\n")
    session = await play(run("sed -i s/two/2/ a.txt"))
    undone = await session.undo()
    assert (undone.applied, undone.failed) == ((), (Failed("a.txt", BENEATH),))
    assert (a.read_text(), editor.text(a)) == (LINES.replace("two", "2"), LINES + "typed\n")
    editor.open(a)
    undone = await session.undo()
    assert (undone.applied, undone.failed, editor.text(a)) == (("a.txt",), (), LINES)


async def test_what_marvin_did_in_the_editor_is_undone_there_though_the_person_typed(
    play: Play, a: Path, editor: MemoryEditor
) -> None:
    editor.open(a)
    session = await play(edit("two\n", "2\n"))
    editor.type(a, editor.text(a) + "typed\n")
    undone = await session.undo()
    assert (undone.applied, undone.failed) == (("a.txt",), ())
    assert (a.read_text(), editor.text(a)) == (LINES, LINES + "typed\n")


async def test_line_ends_that_a_command_changed_come_back_on_disk(play: Play, a: Path, editor: MemoryEditor) -> None:
    editor.open(a, line_ends="\n")
    session = await play(run("sed -i 's/$/\\r/' a.txt"))
    assert a.read_bytes() == LINES.replace("\n", "\r\n").encode()
    editor.open(a, line_ends="\n")
    undone = await session.undo()
    assert (undone.applied, undone.failed) == (("a.txt",), ())
    assert a.read_bytes() == LINES.encode()


@pytest.mark.parametrize(
    ("before", "new", "saved", "back"),
    [
        ("one\ntwo", "2\nthree", "one\n2\nthree\n", "one\ntwo\n"),
        ("one\ntwo", "two\nthree", "one\ntwo\nthree\n", "one\ntwo\n"),
        ("one\ntwo", "2\n", "one\n2\n\n", "one\ntwo\n"),
        ("one\ntwo\n", "2", "one\n2", "one\ntwo"),
    ],
)
@pytest.mark.parametrize("is_open", [True, False])
async def test_a_last_line_that_the_editor_ended_otherwise_is_no_change(
    play: Play, a: Path, editor: MemoryEditor, before: str, new: str, saved: str, back: str, is_open: bool
) -> None:
    a.write_text(before)
    editor.open(a)
    session = await play(edit("two", new))
    editor.type(a, saved)
    editor.save_as_person(a)
    if not is_open:
        editor.close(a)
    undone = await session.undo()
    assert (undone.applied, undone.failed) == (("a.txt",), ())
    assert (editor.text(a) if is_open else a.read_text()) == back


async def test_an_edit_in_the_editor_is_undone_whatever_encoding_the_file_seems_to_have(
    play: Play, a: Path, editor: MemoryEditor
) -> None:
    a.write_bytes("price: 5 €\ntwo\nthree\n".encode("cp1252"))
    editor.open(a, encoding="cp1252")
    session = await play(edit("two\n", "2 €\n"))
    assert editor.text(a) == "price: 5 €\n2 €\nthree\n"
    undone = await session.undo()
    assert (undone.applied, undone.failed) == (("a.txt",), ())
    assert editor.text(a) == "price: 5 €\ntwo\nthree\n"


@pytest.mark.parametrize("encoding", ["latin-1", "utf-8-sig", "utf-8"])
async def test_a_file_keeps_its_encoding_when_an_edit_in_the_editor_is_undone_on_disk(
    play: Play, a: Path, editor: MemoryEditor, encoding: str
) -> None:
    old = "café\r\ntwo\r\nthree naïve\r\n"
    a.write_bytes(old.encode(encoding))
    editor.open(a, line_ends="\n", encoding=encoding)
    session = await play(edit("two\n", "2\n"))
    a.write_bytes(editor.text(a).replace("\n", "\r\n").encode(encoding))
    editor.close(a)
    undone = await session.undo()
    assert (undone.applied, undone.failed) == (("a.txt",), ())
    assert a.read_bytes() == old.encode(encoding)


async def test_an_edit_that_a_command_went_on_from_is_undone_with_it(play: Play, a: Path, editor: MemoryEditor) -> None:
    a.write_bytes(LINES.replace("\n", "\r\n").encode())
    editor.open(a, line_ends="\n")
    session = await play(edit("two\n", "2\n"), run("sed -i 's/2/zwei/; s/four/4/' a.txt"))
    undone = await session.undo()
    assert (undone.applied, undone.failed) == (("a.txt",), ())
    assert editor.text(a).replace("\r\n", "\n") == LINES


async def test_what_was_planned_when_marvin_was_killed_is_undone_as_far_as_it_was_done(
    play: Play, a: Path, editor: MemoryEditor, store: Store
) -> None:
    editor.open(a)
    session = await play(edit("two\n", "2\n"))
    [step] = store.steps.all()
    # As the store has it when Marvin is killed while the editor makes the edit.
    store.steps.begin(Step(step.session_id, "killed", "edit", step.root, step.before, step.after))
    undone = await session.undo("killed")
    assert (undone.applied, undone.failed, editor.text(a)) == (("a.txt",), (), LINES)
    undone = await session.undo("killed")
    assert (undone.applied, undone.failed, editor.text(a)) == ((), (), LINES)
