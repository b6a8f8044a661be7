"""Prompts that wait for their turn, as ``session/load`` lists them: to a new window, and to another server."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.lsp.conftest import Start
from tests.lsp.editor import Editor
from tests.servers.model_server import ThreadedModelServer
from tests.servers.scenarios import says


async def queued(editor: Editor, session_id: str) -> list[tuple[str, str]]:
    """The turn and the first part of each."""
    waiting = (await editor.load(session_id))["queued"]
    return [(each["turnId"], each["message"]["parts"][0]["text"]) for each in waiting]


async def changed(editor: Editor, session_id: str, since: int) -> None:
    """Wait until the client has been told, after so many messages, that the session is another."""

    def told() -> Sequence[Any]:
        changes = (one for one in editor.messages[since:] if one.get("method") == "marvin/session/changed")
        return [one for one in changes if one["params"]["session"]["id"] == session_id]

    await editor.until(lambda _: bool(told()))


async def test_what_is_queued_is_loaded_as_it_was_said(
    editor: Editor, workspace: Path, model_server: ThreadedModelServer
) -> None:
    model_server.play([says("Done", gated=True)])
    session_id = await editor.session(workspace)
    await editor.turn(session_id, "first")
    context = [{"type": "text", "text": "an error", "title": "Terminal"}]
    second = await editor.turn(session_id, "second", whenBusy="queue", context=context)
    third = await editor.turn(session_id, "third", whenBusy="queue")
    loaded = await editor.load(session_id)
    message = loaded["queued"][0]["message"]
    assert loaded["queued"][0] == {"turnId": second, "message": message}
    parts = message["parts"]
    assert (message["role"], parts[0]) == ("user", {"type": "text", "text": "second"})
    assert (len(parts), "Terminal" in parts[1]["label"]) == (2, True)
    assert loaded["drafts"] == []
    await editor.request("marvin/turn/cancel", {"sessionId": session_id, "turnId": second})
    assert await queued(editor, session_id) == [(third, "third")]
    model_server.release(99)
    assert (await editor.event("turn.finished", session_id, nth=3))["turnId"] == third
    assert await queued(editor, session_id) == []


async def test_what_was_steered_too_late_is_queued_before_the_rest(
    editor: Editor, workspace: Path, model_server: ThreadedModelServer
) -> None:
    model_server.play([says("Done", gated=True)])
    session_id = await editor.session(workspace)
    await editor.turn(session_id, "first")
    model_server.wait_for_request()
    last = await editor.turn(session_id, "last", whenBusy="queue")
    for text in ("second", "third", "fourth"):
        await editor.turn(session_id, text, whenBusy="steer")
    assert await queued(editor, session_id) == [(last, "last")]
    model_server.play([says("Half ", "an answer", stall_after=3)])
    model_server.release(99)
    await editor.event("turn.started", session_id, nth=2)
    waiting = await queued(editor, session_id)
    assert [text for _, text in waiting] == ["third", "fourth", "last"]
    await editor.request("marvin/turn/cancel", {"sessionId": session_id, "turnId": waiting[0][0]})
    assert await queued(editor, session_id) == waiting[1:]


async def test_what_another_process_has_queued_is_listed_and_cancelled(
    start: Start, editor: Editor, workspace: Path, model_server: ThreadedModelServer
) -> None:
    model_server.play([says("Done", gated=True)])
    other = await start()
    session_id = await editor.session(workspace)
    await editor.turn(session_id, "first")
    assert await queued(other, session_id) == []
    told = len(other.messages)
    waiting = [(await editor.turn(session_id, text, whenBusy="queue"), text) for text in ("second", "third")]
    await changed(other, session_id, told)
    assert await queued(other, session_id) == waiting == await queued(editor, session_id)
    theirs = await other.turn(session_id, "theirs", whenBusy="queue")
    assert await queued(editor, session_id) == [*waiting, (theirs, "theirs")]
    for one, turn_id in ((other, waiting[0][0]), (editor, theirs)):
        told = len(one.messages)
        await one.request("marvin/turn/cancel", {"sessionId": session_id, "turnId": turn_id})
        await changed(one, session_id, told)
    assert await queued(editor, session_id) == waiting[1:] == await queued(other, session_id)
    model_server.release(99)
    await editor.event("turn.finished", session_id, nth=3)
    ended = [event for event in editor.events(session_id) if event["type"] == "turn.finished"]
    assert [(end["turnId"], end["stopReason"]) for end in ended[1:]] == [
        (waiting[0][0], "cancelled"),
        (waiting[1][0], "completed"),
    ]
    end = await other.event("turn.finished", session_id)
    assert (end["turnId"], end["stopReason"]) == (theirs, "cancelled")
    loaded = await other.load(session_id)
    assert (loaded["queued"], loaded["drafts"], len(model_server.requests)) == ([], [], 2)
