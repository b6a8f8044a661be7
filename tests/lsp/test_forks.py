"""Sessions that go on from another one's past, over the wire."""

from pathlib import Path
from typing import Any

import pytest

from tests.lsp.conftest import Start
from tests.lsp.editor import Editor, Refused
from tests.servers.model_server import ThreadedModelServer
from tests.servers.reply import Call
from tests.servers.scenarios import calls, says


async def fork(editor: Editor, session_id: str, **params: Any) -> Any:
    return (await editor.request("marvin/session/fork", {"sessionId": session_id, **params}))["session"]


async def texts(editor: Editor, session_id: str) -> list[str]:
    loaded = await editor.load(session_id)
    return [
        "".join(part.get("text", "") for part in item["message"]["parts"])
        if item["kind"] == "message"
        else item["kind"]
        for item in loaded["items"]
    ]


async def test_a_fork_goes_on_from_the_end_and_leaves_its_origin_alone(
    editor: Editor, workspace: Path, model_server: ThreadedModelServer
) -> None:
    model_server.play([says("one"), says("two")])
    origin = await editor.session(workspace, mode="plan")
    await editor.turn(origin, "first")
    await editor.event("turn.finished", origin)
    session = await fork(editor, origin)
    told = (await editor.load(origin))["session"]
    times = {"createdAt": session["createdAt"], "updatedAt": session["createdAt"]}
    assert session == {**told, **times, "id": session["id"], "parentId": origin}
    await editor.turn(session["id"], "second")
    await editor.event("turn.finished", session["id"])
    assert await texts(editor, session["id"]) == ["first", "one", "second", "two"]
    assert await texts(editor, origin) == ["first", "one"]
    assert [message["content"] for message in model_server.requests[1].json["messages"][1:]] == [
        "first",
        "one",
        "second",
    ]


async def test_a_fork_ends_with_the_item_that_is_named_and_what_answers_it(
    editor: Editor, workspace: Path, model_server: ThreadedModelServer
) -> None:
    model_server.play([calls(Call("read_file", '{"path": "README.md"}')), says("read"), says("later")])
    origin = await editor.session(workspace)
    for number in (1, 2):
        await editor.turn(origin, f"prompt {number}")
        await editor.event("turn.finished", origin, nth=number)
    items = (await editor.load(origin))["items"]
    assert [item["kind"] for item in items[:4]] == ["message", "message", "toolCall", "message"]
    asks, call = items[1]["id"], items[2]["id"]
    for item_id in (asks, call):
        forked = (await fork(editor, origin, atItemId=item_id))["id"]
        loaded = await editor.load(forked)
        assert loaded["items"] == [{name: each[name] for name in each if name != "turnId"} for each in items[:3]]
        assert loaded["items"][2]["status"] == "ok"
    with pytest.raises(Refused, match="no item 'nothing'"):
        await fork(editor, origin, atItemId="nothing")
    with pytest.raises(Refused, match="1001"):
        await fork(editor, "nothing")


async def test_a_fork_keeps_what_it_shares_when_its_origin_is_deleted(editor: Editor, workspace: Path) -> None:
    origin = await editor.session(workspace)
    await editor.turn(origin, "first")
    await editor.event("turn.finished", origin)
    forked = (await fork(editor, origin))["id"]
    said = await texts(editor, forked)
    await editor.request("marvin/session/delete", {"sessionId": origin})
    assert await texts(editor, forked) == said
    assert "parentId" not in (await editor.load(forked))["session"]


async def test_a_fork_of_an_ephemeral_session_is_ephemeral(start: Start, workspace: Path) -> None:
    editor = await start()
    origin = await editor.session(workspace, ephemeral=True)
    await editor.turn(origin, "first")
    await editor.event("turn.finished", origin)
    forked = (await fork(editor, origin))["id"]
    assert len(await texts(editor, forked)) == 2
    assert (await editor.request("marvin/session/list"))["sessions"] == []
    assert await editor.leave() == 0
    with pytest.raises(Refused, match="1001"):
        await texts(await start(), forked)
