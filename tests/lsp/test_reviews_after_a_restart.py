"""Patches that are open for review when their server is killed, and what the next one makes of them."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.command import Marvin
from tests.lsp.buffers import CAPABILITIES, Buffers
from tests.lsp.conftest import Start
from tests.lsp.editor import Editor, Refused
from tests.lsp.person import MARVIN, call, editor, person
from tests.servers.model_server import ThreadedModelServer
from tests.servers.reply import Reply
from tests.servers.scenarios import says

__all__ = ["editor", "person"]

OLD = "".join(f"line {number}\n" for number in range(1, 21))
PATCH = """*** Begin Patch
*** Update File: a.txt
@@
-line 2
+second
@@
-line 18
+eighteenth
*** Add File: new.txt
+new
*** Delete File: gone.txt
*** Update File: old.txt
*** Move to: sub/moved.txt
@@
-line 5
+fifth
*** End Patch
"""


@pytest.fixture
def files(workspace: Path) -> Path:
    for name in ("a.txt", "gone.txt", "old.txt"):
        (workspace / name).write_text(OLD)
    return workspace


def replaced(old: str = "line 2\n", new: str = "second\n") -> Reply:
    return call("apply_patch", path="a.txt", old_str=old, new_str=new)


async def patched(editor: Editor, folder: Path, server: ThreadedModelServer, *replies: Reply) -> tuple[str, str, Any]:
    """The session, the turn and the patch of a turn that has ended."""
    server.play([*replies, says("Done."), says("I see.")])
    session_id = await editor.session(folder)
    turn_id = await editor.turn(session_id)
    assert (await editor.event("turn.finished", session_id))["stopReason"] == "completed"
    return session_id, turn_id, (await editor.event("patch.applied", session_id))["patch"]


async def killed(editor: Editor, start: Start) -> Editor:
    """The server that comes after this one, which is killed."""
    editor.process.kill()
    await editor.process.wait()
    another = await start(initialize=False)
    await another.initialize(capabilities={**CAPABILITIES, "experimental": {"marvin": MARVIN}})
    return another


async def pending(editor: Editor, session_id: str) -> Any:
    return (await editor.load(session_id))["pendingPatches"]


async def resolve(
    editor: Editor, patch: Any, accept: Any = (), reject: Sequence[str] = (), reason: str | None = None
) -> Any:
    rejected = [{"hunkId": hunk, "reason": reason} for hunk in reject]
    return await editor.request("marvin/patch/resolve", {"patchId": patch["id"], "accept": accept, "reject": rejected})


def hunks(patch: Any) -> list[str]:
    return [hunk["id"] for edit in patch["edits"] for hunk in edit["hunks"]]


async def test_every_kind_of_edit_is_offered_again_and_decided_on_as_before(
    editor: Editor, start: Start, files: Path, model_server: ThreadedModelServer
) -> None:
    session_id, turn_id, made = await patched(editor, files, model_server, call("apply_patch", patch=PATCH))
    second, eighteenth, new, gone, fifth = hunks(made)
    again = await killed(editor, start)
    assert await pending(again, session_id) == [made]
    assert await resolve(again, made, [second]) == {"applied": [second], "failed": []}
    event = await again.until(lambda one: one.get("method") == "marvin/turn/events")
    assert (event["params"]["turnId"], event["params"]["events"][0]["kept"]) == (turn_id, [second])

    third = await killed(again, start)
    assert [hunks(each) for each in await pending(third, session_id)] == [[eighteenth, new, gone, fifth]]
    rest = [eighteenth, new, gone, fifth]
    assert await resolve(third, made, (), rest, "It was right.") == {"applied": rest, "failed": []}
    assert (files / "a.txt").read_text() == OLD.replace("line 2\n", "second\n")
    assert not (files / "new.txt").exists()
    assert ((files / "gone.txt").read_text(), (files / "old.txt").read_text()) == (OLD, OLD)
    assert not (files / "sub" / "moved.txt").exists()
    assert await pending(third, session_id) == []
    with pytest.raises(Refused, match="1007"):
        await resolve(third, made, "all")

    model_server.play([says("I see.")])
    await third.turn(session_id, "Go on.")
    await third.event("turn.finished", session_id)
    assert "It was right." in json.dumps(model_server.requests[-1].json)
    with pytest.raises(Refused, match="1005"):
        await resolve(await killed(third, start), made, "all")


async def test_a_hunk_that_is_not_there_any_more_is_stale_and_nothing_is_misplaced(
    editor: Editor, start: Start, files: Path, model_server: ThreadedModelServer
) -> None:
    session_id, _, made = await patched(editor, files, model_server, replaced())
    again = await killed(editor, start)
    mine = OLD.replace("line 2\n", "mine\n")
    (files / "a.txt").write_text(mine)
    [hunk] = hunks(made)
    assert await resolve(again, made, (), [hunk]) == {"applied": [], "failed": [{"hunkId": hunk, "reason": "stale"}]}
    assert ((files / "a.txt").read_text(), await pending(again, session_id)) == (mine, [made])


async def test_what_is_unsaved_in_the_editor_is_taken_back_there(
    editor: Editor, person: Buffers, start: Start, files: Path, model_server: ThreadedModelServer
) -> None:
    uri = person.open(files / "a.txt")
    session_id, _, made = await patched(editor, files, model_server, replaced())
    again = await killed(editor, start)
    other = Buffers(again.send)
    again.on_message = other.receive
    other.open(files / "a.txt", f"mine\n{person.text(uri)}")
    assert await pending(again, session_id) == [made]
    assert (await resolve(again, made, (), hunks(made)))["failed"] == []
    assert (other.text(uri), (files / "a.txt").read_text()) == (f"mine\n{OLD}", OLD)


async def test_a_turn_that_is_undone_after_a_restart_leaves_nothing_to_review(
    editor: Editor, start: Start, files: Path, model_server: ThreadedModelServer
) -> None:
    session_id, turn_id, made = await patched(editor, files, model_server, replaced())
    again = await killed(editor, start)
    items = (await again.load(session_id))["items"]
    assert [item["turnId"] for item in items] == [turn_id] * 4
    await again.request("marvin/turn/undo", {"sessionId": session_id, "turnId": turn_id})
    resolved = await again.event("patch.resolved", session_id)
    assert (resolved["patchId"], resolved["by"]) == (made["id"], "undo")
    assert ((files / "a.txt").read_text(), await pending(again, session_id)) == (OLD, [])


async def test_a_turn_that_is_undone_in_a_terminal_leaves_nothing_to_review(
    editor: Editor, marvin: Marvin, files: Path, model_server: ThreadedModelServer
) -> None:
    session_id, _, made = await patched(editor, files, model_server, replaced())
    told = len(editor.messages)
    undone = await asyncio.to_thread(marvin, "undo", "--session", session_id)
    assert (undone.exit_code, undone.stdout) == (0, "Taken back: a.txt\n")
    await editor.until(lambda _: any(one.get("method") == "marvin/session/changed" for one in editor.messages[told:]))
    assert await pending(editor, session_id) == []
    with pytest.raises(Refused, match="1007"):
        await resolve(editor, made, "all")


@pytest.mark.parametrize("shows", [True, False])
async def test_a_patch_in_the_middle_of_which_the_server_is_killed_is_there_only_if_it_was_made(
    editor: Editor, person: Buffers, start: Start, files: Path, model_server: ThreadedModelServer, *, shows: bool
) -> None:
    uri = person.open(files / "a.txt")
    person.manner = "mute" if shows else "silent"
    model_server.play([replaced()])
    session_id = await editor.session(files)
    await editor.turn(session_id)
    await editor.until(lambda one: one.get("method") == "workspace/applyEdit")
    again = await killed(editor, start)
    other = Buffers(again.send)
    again.on_message = other.receive
    other.open(files / "a.txt", person.text(uri))
    waiting = await pending(again, session_id)
    assert len(waiting) == shows
    for each in waiting:
        assert (await resolve(again, each, (), hunks(each)))["failed"] == []
    assert (other.text(uri), await pending(again, session_id)) == (OLD, [])


async def test_another_process_sees_the_review_and_decides_on_it_while_no_turn_runs(
    editor: Editor, start: Start, files: Path, model_server: ThreadedModelServer
) -> None:
    session_id, _, made = await patched(editor, files, model_server, replaced())
    other = await start()
    assert await pending(other, session_id) == [made]
    model_server.play([says("slow", gated=True)])
    await editor.turn(session_id)
    await editor.event("turn.started", session_id, nth=2)
    with pytest.raises(Refused, match="1002"):
        await resolve(other, made, "all")
    model_server.release(100)
    await editor.event("turn.finished", session_id, nth=2)
    told = len(editor.messages)
    assert (await resolve(other, made, (), hunks(made)))["failed"] == []
    await editor.until(lambda _: any(one.get("method") == "marvin/session/changed" for one in editor.messages[told:]))
    assert await pending(editor, session_id) == []
    with pytest.raises(Refused, match="1007"):
        await resolve(editor, made, "all")
    assert (files / "a.txt").read_text() == OLD


async def test_a_fork_has_nothing_to_review_and_goes_on_when_the_other_is_deleted(
    editor: Editor, start: Start, files: Path, model_server: ThreadedModelServer
) -> None:
    session_id, _, made = await patched(editor, files, model_server, replaced())
    again = await killed(editor, start)
    fork = (await again.request("marvin/session/fork", {"sessionId": session_id}))["session"]["id"]
    loaded = await again.load(fork)
    assert (loaded["pendingPatches"], [item for item in loaded["items"] if "turnId" in item]) == ([], [])
    await again.request("marvin/session/delete", {"sessionId": session_id})
    with pytest.raises(Refused, match="1005"):
        await resolve(again, made, "all")
