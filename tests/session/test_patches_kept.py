"""What is kept of patches: to review them hunk by hunk, and to undo them whenever Marvin ends."""

import asyncio
import json
import os
import stat
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from marvin_server import settings
from marvin_server.events import (
    MessageFinished,
    Patch,
    PatchApplied,
    PatchResolved,
    Rejection,
    ToolFinished,
)
from marvin_server.messages import ToolCall
from marvin_server.providers.selection import Choice
from marvin_server.session.opening import OpenSession, open_session
from marvin_server.session.reviews import FailedHunk, Resolution
from marvin_server.session.store import Store
from tests.agent.scripted import Scripted, call
from tests.session.memory_editor import MemoryEditor
from tests.session.turns import turn

Made = tuple[OpenSession, list[Patch]]
Make = Callable[..., Awaitable[Made]]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


@pytest.fixture
def opener(workspace: Path, store: Store, tmp_path: Path, editor: MemoryEditor) -> Callable[..., OpenSession]:
    def opened(*rounds: ToolCall | list[ToolCall]) -> OpenSession:
        environ = {"MARVIN_HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"], "HOME": str(tmp_path)}
        calls = (each if isinstance(each, list) else [each] for each in rounds)
        provider = Scripted(*calls, ["Done."], ["I see."])
        return open_session(
            settings.load({"sandbox": "off"}, environ),
            Choice(provider, free=True),
            store,
            workspace,
            rounds=50,
            editor=editor,
            can_review=True,
        )

    return opened


@pytest.fixture
def make(opener: Callable[..., OpenSession]) -> Make:
    """Plays a turn of these calls: the session, and the patches that were made."""

    async def made(*calls: ToolCall) -> Made:
        opened = opener(*calls)
        return opened, [event.patch for event in await turn(opened) if isinstance(event, PatchApplied)]

    return made


def patch(*lines: str) -> ToolCall:
    return call("apply_patch", json.dumps({"patch": "\n".join(["*** Begin Patch", *lines, "*** End Patch"])}))


def replaced(path: str, old: str, new: str) -> ToolCall:
    return call("apply_patch", json.dumps({"path": path, "old_str": old, "new_str": new}))


def hunks(patch: Patch) -> list[str]:
    return [hunk.id for each in patch.edits for hunk in each.hunks]


def rejections(patch: Patch) -> list[Rejection]:
    return [Rejection(hunk) for hunk in hunks(patch)]


async def told(opened: OpenSession) -> str:
    """What the model reads besides the next prompt."""
    messages = [event.message for event in await turn(opened) if isinstance(event, MessageFinished)]
    return "\n".join(message.text for message in messages if message.role == "user" and message.text != "Go on")


async def test_a_deleted_file_comes_back_byte_for_byte_with_its_mode(make: Make, workspace: Path) -> None:
    latin, marked = workspace / "a.txt", workspace / "b.txt"
    latin.write_bytes("café\r\nnaïve\r\n".encode("latin-1"))
    latin.chmod(0o751)
    marked.write_bytes(b"\xef\xbb\xbfhello\r\n")
    opened, [made] = await make(patch("*** Delete File: a.txt", "*** Delete File: b.txt"))
    assert list(workspace.iterdir()) == []
    assert await opened.session.resolve(made.id, (), rejections(made)) == Resolution(tuple(hunks(made)))
    assert (latin.read_bytes(), marked.read_bytes()) == (
        "café\r\nnaïve\r\n".encode("latin-1"),
        b"\xef\xbb\xbfhello\r\n",
    )
    assert stat.S_IMODE(latin.stat().st_mode) == 0o751
    undone = await opened.session.undo()
    assert (undone.applied, undone.failed) == ((), ())


async def test_a_file_that_is_open_is_deleted_and_comes_back_as_it_was_on_disk(
    make: Make, workspace: Path, editor: MemoryEditor
) -> None:
    file = workspace / "a.txt"
    file.write_bytes(b"one\r\ntwo\r\n")
    editor.open(file, line_ends="\n")
    opened, [made] = await make(patch("*** Delete File: a.txt"))
    assert (await opened.session.resolve(made.id, (), rejections(made))).failed == ()
    assert file.read_bytes() == b"one\r\ntwo\r\n"


async def test_a_deleted_file_does_not_come_back_over_another(make: Make, workspace: Path) -> None:
    (workspace / "a.txt").write_text("one\n")
    opened, [made] = await make(patch("*** Delete File: a.txt"))
    (workspace / "a.txt").write_text("mine\n")
    [hunk] = hunks(made)
    assert await opened.session.resolve(made.id, (), [Rejection(hunk)]) == Resolution((), (FailedHunk(hunk, "stale"),))
    assert (workspace / "a.txt").read_text() == "mine\n"
    assert "took back" not in await told(opened)


MOVE = ("*** Update File: a.txt", "*** Move to: sub/z.txt", "@@", " one", "-two", "+TWO", "@@", " five", "-six", "+SIX")


async def test_a_moved_file_moves_back_once_all_of_its_hunks_are_rejected(make: Make, workspace: Path) -> None:
    old = b"one\r\ntwo\r\nthree\r\nfour\r\nfive\r\nsix\r\n"
    (workspace / "a.txt").write_bytes(old)
    (workspace / "a.txt").chmod(0o640)
    opened, [made] = await make(patch(*MOVE))
    first, second = rejections(made)
    assert (await opened.session.resolve(made.id, (), [first])).failed == ()
    assert (workspace / "sub/z.txt").read_bytes() == old.replace(b"six", b"SIX")
    assert (await opened.session.resolve(made.id, (), [second])).failed == ()
    assert ((workspace / "a.txt").read_bytes(), (workspace / "sub/z.txt").exists()) == (old, False)
    assert stat.S_IMODE((workspace / "a.txt").stat().st_mode) == 0o640
    assert "sub/z.txt is a.txt again." in await told(opened)


async def test_a_moved_file_of_which_a_hunk_is_kept_stays_where_it_is(make: Make, workspace: Path) -> None:
    (workspace / "a.txt").write_text("one\ntwo\nthree\nfour\nfive\nsix\n")
    opened, [made] = await make(patch(*MOVE))
    first, second = hunks(made)
    await opened.session.resolve(made.id, [first], [Rejection(second)])
    assert (workspace / "sub/z.txt").read_text() == "one\nTWO\nthree\nfour\nfive\nsix\n"
    assert "again" not in await told(opened)


async def test_a_move_whose_old_place_is_taken_is_not_taken_back_and_says_so(make: Make, workspace: Path) -> None:
    (workspace / "a.txt").write_text("one\ntwo\nthree\nfour\nfive\nsix\n")
    opened, [made] = await make(patch(*MOVE))
    (workspace / "a.txt").write_text("mine\n")
    resolution = await opened.session.resolve(made.id, (), rejections(made))
    assert resolution.applied == ()
    assert ["already exists" in failed.reason for failed in resolution.failed] == [True, True]
    assert (workspace / "a.txt").read_text() == "mine\n"
    assert (workspace / "sub/z.txt").read_text() == "one\nTWO\nthree\nfour\nfive\nSIX\n"
    assert [hunks(each) for each in opened.session.patches.pending] == [hunks(made)]


async def test_a_patch_that_is_made_while_its_turn_is_cancelled_can_be_reviewed(
    opener: Callable[..., OpenSession], workspace: Path, editor: MemoryEditor
) -> None:
    file = workspace / "a.txt"
    file.write_text("one\ntwo\n")
    editor.open(file)
    opened = opener(replaced("a.txt", "two", "2"))
    editor.meanwhile.append(opened.session.cancel)
    events = await turn(opened)
    [made] = [event.patch for event in events if isinstance(event, PatchApplied)]
    assert [event.status for event in events if isinstance(event, ToolFinished)] == ["cancelled"]
    assert opened.session.patches.pending == (made,)
    assert (await opened.session.resolve(made.id, (), rejections(made))).failed == ()
    assert editor.text(file) == "one\ntwo\n"


@pytest.mark.parametrize("is_open", [False, True])
async def test_a_step_is_in_the_store_before_its_patch_is_told(
    opener: Callable[..., OpenSession], workspace: Path, editor: MemoryEditor, store: Store, is_open: bool
) -> None:
    file = workspace / "a.txt"
    file.write_text("one\ntwo\n")
    if is_open:
        editor.open(file)
    opened = opener(replaced("a.txt", "two", "2"))
    seen: list[int] = []
    editor.meanwhile.append(lambda: seen.append(len(store.steps.all())))
    subscription = opened.session.subscribe()
    turn_id = opened.session.submit("Go on")
    steps = list[tuple[str, str, bool]]()
    async with asyncio.timeout(60):
        async for _, event in subscription:
            if isinstance(event, PatchApplied):
                steps = [(step.turn_id, step.kind, step.after is None) for step in store.steps.all()]
                break
    assert steps == [(turn_id, "edit", False)]
    assert seen == ([1] if is_open else [])
    await opened.session.close()


async def test_an_edit_that_is_not_made_leaves_no_step(
    make: Make, workspace: Path, editor: MemoryEditor, store: Store
) -> None:
    file = workspace / "a.txt"
    file.write_text("one\ntwo\n")
    editor.open(file)
    editor.meanwhile.append(lambda: editor.type(file, "typed\nand more\none\ntwo\n"))
    editor.is_silent = True
    _, made = await make(replaced("a.txt", "two", "2"))
    assert (made, store.steps.all()) == ([], [])


async def test_patches_that_are_large_together_do_not_all_wait(
    opener: Callable[..., OpenSession], workspace: Path
) -> None:
    text = "x" * 99 + "\n"
    create = [
        call("create_file", json.dumps({"path": f"{name}.txt", "content": text * 90_000})) for name in ("a", "b", "c")
    ]
    opened = opener(create)
    events = await turn(opened)
    made = [event.patch for event in events if isinstance(event, PatchApplied)]
    resolved = [event for event in events if isinstance(event, PatchResolved)]
    assert resolved == [PatchResolved(made[0].id, tuple(hunks(made[0])), (), "limit")]
    assert [each.id for each in opened.session.patches.pending] == [each.id for each in made[1:]]


async def test_a_hunk_is_taken_back_of_a_file_to_which_the_editor_has_added_the_last_line_end(
    make: Make, workspace: Path, editor: MemoryEditor
) -> None:
    file = workspace / "a.txt"
    file.write_text("one\ntwo")
    editor.open(file)
    opened, [made] = await make(replaced("a.txt", "two", "2\nthree"))
    editor.type(file, editor.text(file) + "\n")
    editor.save_as_person(file)
    assert (await opened.session.resolve(made.id, (), rejections(made))).failed == ()
    assert editor.text(file) == "one\ntwo\n"
