"""Turns over the wire: their events from start to end, side by side, and in few notifications."""

import asyncio
from pathlib import Path

from tests.lsp.conftest import Start
from tests.lsp.editor import Editor
from tests.patience import SECONDS
from tests.servers.model_server import ThreadedModelServer
from tests.servers.reply import Call, Reply, Said, Thought
from tests.servers.scenarios import deltas, says, status


async def test_a_turn_is_told_from_its_start_to_its_end(
    editor: Editor, workspace: Path, model_server: ThreadedModelServer
) -> None:
    call = Call("read_file", '{"path": "README.md"}')
    model_server.play([Reply(Said((Thought("Hm."), "I look. ", call))), says("Done.")])
    session_id = await editor.session(workspace)
    turn_id = await editor.turn(session_id)
    await editor.event("turn.finished", session_id)
    events = editor.events(session_id)
    assert [event["type"] for event in events] == [
        "turn.started",
        "message.finished",
        "round.started",
        "thought.delta",
        "thought.finished",
        "message.delta",
        "message.finished",
        "usage",
        "tool.started",
        "tool.finished",
        "message.finished",
        "round.started",
        "message.delta",
        "message.finished",
        "usage",
        "turn.finished",
    ]
    assert (events[0]["turnId"], events[-1]["turnId"], events[-1]["stopReason"]) == (turn_id, turn_id, "completed")
    batches = [one["params"] for one in editor.messages if one.get("method") == "marvin/turn/events"]
    assert [batch["seq"] for batch in batches] == list(range(1, len(batches) + 1))
    assert {batch["turnId"] for batch in batches} == {turn_id}


async def test_the_answer_comes_before_the_first_event_and_busy_is_told(
    editor: Editor, workspace: Path, model_server: ThreadedModelServer
) -> None:
    session_id = await editor.session(workspace)
    before = len(editor.messages)
    await editor.turn(session_id)
    await editor.until(lambda one: one.get("method") == "marvin/status/changed" and one["params"]["kind"] == "ready")
    names = [one.get("method", "answer") for one in editor.messages[before:]]
    assert names[:4] == ["answer", "marvin/turn/events", "marvin/session/changed", "marvin/status/changed"]
    assert names[-3:] == ["marvin/turn/events", "marvin/session/changed", "marvin/status/changed"]
    busy = [
        one["params"]["session"]["busy"] for one in editor.messages if one.get("method") == "marvin/session/changed"
    ]
    assert busy == [True, False]


async def test_sessions_run_side_by_side(
    editor: Editor, workspace: Path, tmp_path: Path, model_server: ThreadedModelServer
) -> None:
    model_server.play([says("Slow ", "one", gated=True)])
    slow, quick = await editor.session(workspace), await editor.session(tmp_path)
    await editor.turn(slow)
    model_server.wait_for_request()
    model_server.play([says("Quick")])
    await editor.turn(quick)
    await editor.event("turn.finished", quick)
    assert "turn.finished" not in [event["type"] for event in editor.events(slow)]
    model_server.release(99)
    await editor.event("turn.finished", slow)
    assert (editor.said(slow), editor.said(quick)) == ("Slow one", "Quick")


async def test_a_failed_request_is_told_with_its_kind(
    editor: Editor, workspace: Path, model_server: ThreadedModelServer
) -> None:
    model_server.play([status(400)])
    session_id = await editor.session(workspace)
    await editor.turn(session_id)
    end = await editor.event("turn.finished", session_id)
    assert (end["stopReason"], end["error"]["kind"]) == ("failed", "BadRequest")
    model_server.play([says("Better.")])
    await editor.turn(session_id)
    assert (await editor.event("turn.finished", session_id, nth=2))["stopReason"] == "completed"


async def test_events_that_a_client_does_not_want_are_left_out(
    start: Start, workspace: Path, model_server: ThreadedModelServer
) -> None:
    model_server.play([Reply(Said((Thought("Hm."), "Yes.")))])
    editor = await start(marvin={"protocolVersion": 1, "optOut": ["thought", "usage", "turn"]})
    session_id = await editor.session(workspace)
    await editor.turn(session_id)
    await editor.event("turn.finished", session_id)
    kinds = {event["type"].partition(".")[0] for event in editor.events(session_id)}
    assert kinds == {"turn", "round", "message"}


async def test_five_thousand_deltas_arrive_whole_in_few_notifications(
    editor: Editor, workspace: Path, model_server: ThreadedModelServer
) -> None:
    model_server.play([deltas(5000, piece=65_536)])
    session_id = await editor.session(workspace)
    await editor.turn(session_id)
    await editor.event("turn.finished", session_id)
    batches = [one for one in editor.messages if one.get("method") == "marvin/turn/events"]
    assert editor.said(session_id) == "".join(f"word{number} " for number in range(5000))
    assert len(batches) < 200


async def test_an_editor_that_does_not_read_holds_up_nothing_and_gets_everything(
    start: Start, workspace: Path, model_server: ThreadedModelServer
) -> None:
    model_server.play([deltas(20_000, piece=65_536)])
    editor = await start(read=False, initialize=False)
    for number, (method, params) in enumerate(
        [
            ("initialize", {"capabilities": {"experimental": {"marvin": {"protocolVersion": 1}}}}),
            ("marvin/session/new", {"cwd": str(workspace)}),
        ]
    ):
        editor.send({"jsonrpc": "2.0", "id": f"a{number}", "method": method, "params": params})
    listing = await start()
    async with asyncio.timeout(SECONDS):
        while not (sessions := (await listing.request("marvin/session/list"))["sessions"]):
            pass
    said = {"sessionId": sessions[0]["id"], "input": [{"type": "text", "text": "x" * 1_500_000}]}
    editor.send({"jsonrpc": "2.0", "id": "start", "method": "marvin/turn/start", "params": said})
    async with asyncio.timeout(SECONDS):
        while len((await listing.load(sessions[0]["id"]))["items"]) < 2:
            pass
    editor.begin_reading()
    await editor.event("turn.finished", sessions[0]["id"])
    events = editor.events(sessions[0]["id"])
    assert editor.said(sessions[0]["id"]) == "".join(f"word{number} " for number in range(20_000))
    assert len([event for event in events if event["type"] == "message.delta"]) < 5
