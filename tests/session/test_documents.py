"""Sessions whose files are open in an editor: what tools read, where edits go, reviews, undo and commands."""

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import pytest

from marvin_server import settings
from marvin_server.errors import NoPatch, PatchSettled
from marvin_server.events import (
    Event,
    MessageFinished,
    Notice,
    Patch,
    PatchApplied,
    PatchProposed,
    PatchResolved,
    PermissionRequested,
    Rejection,
    ToolFinished,
    TurnFinished,
)
from marvin_server.messages import ToolCall
from marvin_server.providers.selection import Choice
from marvin_server.session.opening import OpenSession, open_session
from marvin_server.session.reviews import FailedHunk, Resolution
from marvin_server.session.session import Session
from marvin_server.session.store import Store
from tests.agent.scripted import Scripted, call
from tests.session.memory_editor import MemoryEditor, UndoStep
from tests.session.turns import Opener

LINES = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n"
E = TypeVar("E")
Turn = Callable[..., Awaitable[list[Event]]]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    (folder / "a.txt").write_text(LINES)
    (folder / "b.txt").write_text("b\n")
    return folder


@pytest.fixture
def a(workspace: Path) -> Path:
    return workspace / "a.txt"


@pytest.fixture
def opener(workspace: Path, store: Store, tmp_path: Path, editor: MemoryEditor) -> Opener:
    def make(*rounds: list[Any], mode: str = "auto", **flags: Any) -> OpenSession:
        environ = {"MARVIN_HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"], "HOME": str(tmp_path)}
        loaded = settings.load({"sandbox": "off", "mode": mode, **flags}, environ)
        choice = Choice(Scripted(*rounds), free=True)
        return open_session(loaded, choice, store, workspace, rounds=50, editor=editor, can_review=True)

    return make


@pytest.fixture
def play(opener: Opener) -> Callable[..., Awaitable[tuple[Session, list[Event]]]]:
    """Plays one turn that makes ``calls`` one after the other."""

    async def played(*calls: ToolCall, **flags: Any) -> tuple[Session, list[Event]]:
        opened = opener(*([each] for each in calls), ["Done."], **flags)
        events = await finished(opened.session)
        return opened.session, events

    return played


async def finished(session: Session, until: type[Event] = TurnFinished) -> list[Event]:
    """The events of a turn up to one of the kind ``until``."""
    subscription = session.subscribe()
    session.submit("Go on")
    return await more(subscription, until)


async def more(subscription: Any, until: type[Event] = TurnFinished) -> list[Event]:
    events: list[Event] = []
    async with asyncio.timeout(60):
        async for _, event in subscription:
            events.append(event)
            if isinstance(event, until):
                return events
    raise AssertionError("the session was closed")


def edit(path: str, *pairs: tuple[str, str]) -> ToolCall:
    blocks = "".join(f"<<<<<<< SEARCH\n{old}=======\n{new}>>>>>>> REPLACE\n" for old, new in pairs)
    return call("apply_patch", json.dumps({"patch": f"{path}\n{blocks}"}))


def run(command: str) -> ToolCall:
    return call("run_command", json.dumps({"command": command}))


def outputs(events: list[Event]) -> list[tuple[str, str]]:
    return [(event.status, event.output) for event in events if isinstance(event, ToolFinished)]


def only(events: list[Event], kind: type[E]) -> E:
    [found] = [event for event in events if isinstance(event, kind)]
    return found


def hunks(patch: Patch) -> list[str]:
    return [hunk.id for each in patch.edits for hunk in each.hunks]


async def test_tools_read_what_is_in_the_editor(play: Any, a: Path, editor: MemoryEditor) -> None:
    editor.open(a)
    editor.type(a, "typed\n")
    new = a.with_name("new.txt")
    editor.open(new)
    editor.type(new, "also typed\n")
    _, events = await play(
        call("read_file", '{"path": "a.txt"}'),
        call("read_file", '{"path": "new.txt", "start_line": 1}'),
        call("code_grep", '{"pattern": "typed|^b$|two"}'),
        call("code_grep", '{"pattern": "typed", "path": "new.txt"}'),
        call("create_file", '{"path": "new.txt", "content": ""}'),
    )
    assert [text for _, text in outputs(events)] == [
        "typed\n",
        "[lines 1-1 of 1]\nalso typed",
        "a.txt:1: typed\nb.txt:1: b\nnew.txt:1: also typed",
        "new.txt:1: also typed",
        "Error: File already exists: 'new.txt'. Use apply_patch to modify existing files.",
    ]
    assert a.read_text() == LINES


async def test_one_step_edits_open_files_in_the_editor_and_the_others_on_disk(
    play: Any, a: Path, editor: MemoryEditor
) -> None:
    editor.open(a)
    patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-two\n+2\n*** Update File: b.txt\n@@\n-b\n+B\n*** End Patch"
    session, events = await play(call("apply_patch", json.dumps({"patch": patch})))
    assert (editor.text(a), a.read_text()) == (LINES.replace("two", "2"), LINES)
    assert a.with_name("b.txt").read_text() == "B\n"
    assert editor.steps == [UndoStep("Marvin: apply_patch a.txt, b.txt", ("a.txt",))]
    assert only(events, PatchApplied).patch in session.patches.pending
    undone = await session.undo()
    assert (set(undone.applied), undone.failed) == ({"a.txt", "b.txt"}, ())
    assert (editor.text(a), a.with_name("b.txt").read_text()) == (LINES, "b\n")
    assert session.patches.pending == ()
    await session.redo()
    assert (editor.text(a), a.with_name("b.txt").read_text()) == (LINES.replace("two", "2"), "B\n")


async def test_when_the_editor_does_not_confirm_the_disk_stays_as_it_was(
    play: Any, a: Path, editor: MemoryEditor
) -> None:
    editor.open(a)
    editor.is_silent = True
    patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-two\n+2\n*** Update File: b.txt\n@@\n-b\n+B\n*** End Patch"
    session, events = await play(call("apply_patch", json.dumps({"patch": patch})))
    assert outputs(events) == [("error", "Error: not confirmed by the editor")]
    assert (editor.text(a), a.with_name("b.txt").read_text()) == (LINES, "b\n")
    assert sorted(path.name for path in a.parent.iterdir()) == ["a.txt", "b.txt"]
    assert session.patches.pending == ()


async def test_what_the_person_types_meanwhile_stays_and_is_not_undone(
    play: Any, a: Path, editor: MemoryEditor
) -> None:
    editor.open(a)
    editor.meanwhile.append(lambda: editor.type(a, "typed\n" + editor.text(a)))
    session, events = await play(edit("a.txt", ("five\n", "5\n")))
    assert editor.text(a) == "typed\n" + LINES.replace("five", "5")
    [[hunk]] = [each.hunks for each in only(events, PatchApplied).patch.edits]
    assert (hunk.new_start, hunk.new_lines) == (6, ("5\n",))
    editor.type(a, editor.text(a) + "more\n")
    await session.undo()
    assert editor.text(a) == f"typed\n{LINES}more\n"


async def test_an_edit_of_a_buffer_is_undone_on_disk_once_it_was_saved_and_closed(
    play: Any, a: Path, editor: MemoryEditor
) -> None:
    a.write_bytes(LINES.replace("\n", "\r\n").encode())
    editor.open(a, line_ends="\n")
    session, _ = await play(edit("a.txt", ("five\n", "5\n")))
    assert editor.text(a) == LINES.replace("five", "5")
    a.write_bytes(editor.text(a).replace("\n", "\r\n").encode())
    editor.close(a)
    await session.undo()
    assert a.read_bytes() == LINES.replace("\n", "\r\n").encode()


async def test_a_file_with_unsaved_changes_is_neither_deleted_nor_moved(
    play: Any, a: Path, editor: MemoryEditor
) -> None:
    editor.open(a)
    editor.open(a.with_name("b.txt"))
    editor.type(a, LINES + "typed\n")
    delete = "*** Begin Patch\n*** Delete File: {}\n*** End Patch"
    session, events = await play(
        call("apply_patch", json.dumps({"patch": delete.format("a.txt")})),
        call("apply_patch", json.dumps({"patch": delete.format("b.txt")})),
        call("read_file", '{"path": "b.txt"}'),
        call("create_file", '{"path": "b.txt", "content": "new"}'),
    )
    assert [status for status, _ in outputs(events)] == ["error", "ok", "error", "ok"]
    assert "unsaved changes" in outputs(events)[0][1]
    assert a.exists()
    assert a.with_name("b.txt").read_text() == "new"
    await session.undo()
    assert editor.text(a.with_name("b.txt")) == "b\n"


async def test_hunks_of_a_patch_that_was_made_are_kept_or_taken_back(
    play: Any, a: Path, editor: MemoryEditor, store: Store
) -> None:
    editor.open(a)
    session, events = await play(edit("a.txt", ("two\n", "2\n"), ("five\n", "5\n"), ("nine\n", "9\n")))
    patch = only(events, PatchApplied).patch
    first, second, third = hunks(patch)
    editor.type(a, editor.text(a).replace("5\n", "5\ntyped\n").replace("9\n", "nein\n"))
    subscription = session.subscribe()
    assert await session.resolve(patch.id, [first]) == Resolution((first,))
    resolution = await session.resolve(
        patch.id, [], [Rejection(second, "keep the words"), Rejection(third), Rejection("x")]
    )
    assert resolution == Resolution(
        (second,), (FailedHunk("x", "it is no open hunk of this patch"), FailedHunk(third, "stale"))
    )
    assert editor.text(a) == LINES.replace("two", "2").replace("five\n", "five\ntyped\n").replace("nine", "nein")
    assert [event for _, event in subscription.take()] == [
        PatchResolved(patch.id, (first,), (), "person"),
        PatchResolved(patch.id, (), (Rejection(second, "keep the words"),), "person"),
    ]
    assert [hunks(each) for each in session.patches.pending] == [[third]]
    await session.resolve(patch.id, "all")
    assert session.patches.pending == ()
    with pytest.raises(PatchSettled):
        await session.resolve(patch.id, "all")
    with pytest.raises(NoPatch):
        await session.resolve("none", "all")


async def test_the_model_reads_why_a_hunk_was_taken_back(opener: Opener, a: Path) -> None:
    opened = opener([edit("a.txt", ("two\n", "2\n"))], ["Done."], ["I see."])
    patch = only(await finished(opened.session), PatchApplied).patch
    await opened.session.resolve(patch.id, [], [Rejection(hunks(patch)[0], "words, please")])
    assert a.read_text() == LINES
    events = await finished(opened.session)
    told = [
        event.message.text for event in events if isinstance(event, MessageFinished) and event.message.role == "user"
    ]
    assert told[-1] == "Go on"
    assert "-two\n+2\nReason: words, please" in told[0]


async def test_a_review_waits_for_every_hunk_and_makes_those_that_are_wanted(
    opener: Opener, a: Path, editor: MemoryEditor
) -> None:
    editor.open(a)
    opened = opener([edit("a.txt", ("two\n", "2\n"), ("nine\n", "9\n"))], ["Done."], mode="review")
    session = opened.session
    subscription = session.subscribe()
    session.submit("Edit it")
    events = await more(subscription, PatchProposed)
    patch = only(events, PatchProposed).patch
    first, second = hunks(patch)
    assert not [event for event in events if isinstance(event, PermissionRequested)]
    assert (session.patches.pending, editor.text(a)) == ((patch,), LINES)
    assert await session.resolve(patch.id, [first]) == Resolution((first,))
    editor.type(a, "typed\n" + editor.text(a))
    assert await session.resolve(patch.id, [], [Rejection(second, "no")]) == Resolution((second,))
    assert editor.text(a) == "typed\n" + LINES.replace("two", "2")
    events = await more(subscription)
    assert only(events, PatchResolved) == PatchResolved(patch.id, (first,), (Rejection(second, "no"),), "person")
    assert hunks(only(events, PatchApplied).patch) == [first]
    [(status, text)] = outputs(events)
    assert status == "ok"
    assert "The person rejected these parts" in text
    assert "Reason: no" in text
    assert session.patches.pending == ()


async def test_a_change_of_which_nothing_is_wanted_is_denied_with_the_reason(opener: Opener, a: Path) -> None:
    opened = opener([edit("a.txt", ("two\n", "2\n"))], ["Done."], mode="review")
    subscription = opened.session.subscribe()
    opened.session.submit("Edit it")
    patch = only(await more(subscription, PatchProposed), PatchProposed).patch
    await opened.session.resolve(patch.id, [], [Rejection(hunks(patch)[0], "not now")])
    [(status, text)] = outputs(await more(subscription))
    assert (status, a.read_text()) == ("denied", LINES)
    assert text.startswith("The person rejected this change; nothing was done.")
    assert "Reason: not now" in text


@pytest.mark.parametrize("ending", ["cancel", "close"])
async def test_a_review_that_ends_without_an_answer_changes_nothing(opener: Opener, a: Path, ending: str) -> None:
    opened = opener([edit("a.txt", ("two\n", "2\n"), ("nine\n", "9\n"))], ["Done."], mode="review")
    subscription = opened.session.subscribe()
    opened.session.submit("Edit it")
    patch = only(await more(subscription, PatchProposed), PatchProposed).patch
    await opened.session.resolve(patch.id, hunks(patch)[:1])
    if ending == "cancel":
        opened.session.cancel()
    else:
        await opened.session.close()
    events = await more(subscription)
    assert only(events, PatchResolved).kept == ()
    assert only(events, PatchResolved).by == "cancelled"
    assert a.read_text() == LINES
    assert opened.session.patches.pending == ()


@pytest.mark.parametrize("is_last", [False, True])
async def test_mode_plan_rejects_what_waits_for_a_review_and_what_was_accepted_just_before(
    opener: Opener, a: Path, is_last: bool
) -> None:
    opened = opener([edit("a.txt", ("two\n", "2\n"), ("nine\n", "9\n"))], ["Done."], mode="review")
    subscription = opened.session.subscribe()
    opened.session.submit("Edit it")
    patch = only(await more(subscription, PatchProposed), PatchProposed).patch
    first, second = hunks(patch)
    accepting = asyncio.create_task(opened.session.resolve(patch.id, [first, second] if is_last else [first]))
    for _ in range(2):  # The decision is taken by then, and whoever waits for it has not gone on.
        await asyncio.sleep(0)
    opened.go_on_with(settings.load({"mode": "plan"}, {"HOME": str(a.parent)}), None)
    events = await more(subscription)
    rejected = (Rejection(first, "mode plan"), Rejection(second, "mode plan"))
    assert only(events, PatchResolved) == PatchResolved(patch.id, (), rejected, "mode plan")
    [(status, text)] = outputs(events)
    assert (status, a.read_text(), opened.session.patches.pending) == ("denied", LINES, ())
    assert text.startswith("The person rejected this change; nothing was done.")
    resolution = await accepting
    assert resolution.applied == (() if is_last else (first,))
    with pytest.raises(PatchSettled):
        await opened.session.resolve(patch.id, "all")


async def test_of_more_patches_than_may_wait_the_oldest_counts_as_kept(opener: Opener, a: Path) -> None:
    lines = ["two\n", *(f"{number} two\n" for number in range(202))]
    edits = [edit("a.txt", pair) for pair in pairwise(lines)]
    opened = opener(edits[:101], edits[101:], ["Done."])
    events = await finished(opened.session)
    made = [event.patch for event in events if isinstance(event, PatchApplied)]
    resolved = [event for event in events if isinstance(event, PatchResolved)]
    assert resolved == [PatchResolved(patch.id, tuple(hunks(patch)), (), "limit") for patch in made[:2]]
    assert [patch.id for patch in opened.session.patches.pending] == [patch.id for patch in made[2:]]
    with pytest.raises(PatchSettled):
        await opened.session.resolve(made[0].id, "all")


async def test_a_command_sees_what_marvin_wrote_and_its_changes_are_read_again(
    play: Any, a: Path, editor: MemoryEditor
) -> None:
    b = a.with_name("b.txt")
    editor.open(a)
    editor.open(b)
    editor.type(b, "typed\n")
    _, events = await play(
        edit("a.txt", ("two\n", "2\n")),
        run("sed -n 2p a.txt; sed -i s/three/3/ a.txt; echo other > b.txt"),
        call("read_file", '{"path": "a.txt"}'),
        approve="all",
    )
    texts = [text for _, text in outputs(events)]
    assert texts[1].startswith("2\n")
    assert texts[1].endswith("b.txt has unsaved changes and was changed on disk")
    assert texts[2] == LINES.replace("two", "2").replace("three", "3")
    notices = [event.text for event in events if isinstance(event, Notice)]
    assert notices == [f"{b} is not saved", "b.txt has unsaved changes and was changed on disk"]
    assert editor.text(b) == "typed\n"
