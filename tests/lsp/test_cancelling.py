"""Turns that are cancelled: at once, half-way, before they begin; and what is left of them."""

import os
from pathlib import Path

from tests.git import commit_all
from tests.lsp.conftest import Start
from tests.lsp.editor import Editor
from tests.servers.model_server import ThreadedModelServer
from tests.servers.scenarios import says


async def test_a_cancelled_turn_keeps_what_had_arrived(
    editor: Editor, workspace: Path, model_server: ThreadedModelServer
) -> None:
    model_server.play([says("Half ", "an answer", stall_after=3)])
    session_id = await editor.session(workspace)
    turn_id = await editor.turn(session_id)
    await editor.event("message.delta", session_id)
    assert await editor.request("marvin/turn/cancel", {"sessionId": session_id, "turnId": turn_id}) == {}
    assert (await editor.event("turn.finished", session_id))["stopReason"] == "cancelled"
    for params in ({}, {"turnId": turn_id}, {"turnId": "nothing"}):
        assert await editor.request("marvin/turn/cancel", {"sessionId": session_id, **params}) == {}
    last = [event for event in editor.events(session_id) if event["type"] == "message.finished"][-1]["message"]
    assert last["finish"] == "interrupted"
    model_server.wait_for_disconnect()


async def test_cancel_sent_at_once_after_start_cancels_it(
    editor: Editor, workspace: Path, model_server: ThreadedModelServer
) -> None:
    model_server.play([says("never", gated=True)])
    session_id = await editor.session(workspace)
    starting = editor.ask("marvin/turn/start", {"sessionId": session_id, "input": [{"type": "text", "text": "go"}]})
    cancelling = editor.ask("marvin/turn/cancel", {"sessionId": session_id})
    await editor.answer(starting)
    await editor.answer(cancelling)
    assert (await editor.event("turn.finished", session_id))["stopReason"] == "cancelled"


async def test_cancel_waits_for_nothing_that_another_prompt_waits_for(
    start: Start, workspace: Path, tmp_path: Path, model_server: ThreadedModelServer
) -> None:
    model_server.play([says("Half ", "an answer", stall_after=3), says("Done.")])
    (tmp_path / "bin").mkdir()
    git, held = tmp_path / "bin" / "git", tmp_path / "held"
    os.mkfifo(held)
    git.write_text(
        f'#!/bin/sh\ncase "$*" in *diff*) read -r _ < "{held}";; esac\nPATH="{os.environ["PATH"]}" exec git "$@"\n'
    )
    git.chmod(0o755)
    commit_all(workspace)
    editor = await start(PATH=f"{git.parent}:{os.environ['PATH']}")
    session_id = await editor.session(workspace)
    await editor.turn(session_id)
    await editor.event("message.delta", session_id)
    said = {"sessionId": session_id, "input": [{"type": "text", "text": "later"}], "whenBusy": "queue"}
    queueing = editor.ask("marvin/turn/start", {**said, "context": [{"type": "gitDiff"}]})
    writer = os.open(held, os.O_RDWR)
    await editor.request("marvin/turn/cancel", {"sessionId": session_id})
    assert (await editor.event("turn.finished", session_id))["stopReason"] == "cancelled"
    assert all(message.get("id") != queueing for message in editor.messages)
    os.write(writer, b"go\n" * 9)
    assert (await editor.answer(queueing))["state"] == "running"
    assert (await editor.event("turn.finished", session_id, nth=2))["stopReason"] == "completed"
    os.close(writer)


async def test_what_was_steered_into_a_cancelled_turn_is_a_draft(
    editor: Editor, workspace: Path, model_server: ThreadedModelServer
) -> None:
    model_server.play([says("Half ", "an answer", stall_after=3)])
    session_id = await editor.session(workspace)
    await editor.turn(session_id)
    await editor.event("message.delta", session_id)
    await editor.turn(session_id, "steered", whenBusy="steer")
    await editor.request("marvin/turn/cancel", {"sessionId": session_id})
    await editor.event("turn.finished", session_id)
    loaded = await editor.load(session_id)
    (draft,) = loaded["drafts"]
    assert (draft["message"]["parts"], "turnId" in loaded) == ([{"type": "text", "text": "steered"}], False)
    await editor.request("marvin/turn/cancel", {"sessionId": session_id, "turnId": draft["id"]})
    assert (await editor.load(session_id))["drafts"] == []


async def test_a_queued_turn_is_cancelled_without_the_running_one(
    editor: Editor, workspace: Path, model_server: ThreadedModelServer
) -> None:
    model_server.play([says("Done", gated=True)])
    session_id = await editor.session(workspace)
    running = await editor.turn(session_id)
    queued = await editor.turn(session_id, "later", whenBusy="queue")
    await editor.request("marvin/turn/cancel", {"sessionId": session_id, "turnId": queued})
    first = await editor.event("turn.finished", session_id)
    model_server.release(99)
    second = await editor.event("turn.finished", session_id, nth=2)
    assert [(end["turnId"], end["stopReason"]) for end in (first, second)] == [
        (queued, "cancelled"),
        (running, "completed"),
    ]
    assert len(model_server.requests) == 1
