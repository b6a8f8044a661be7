"""Sessions over the wire: begun, listed, loaded, changed, deleted, and shared with other processes."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.lsp.conftest import Start
from tests.lsp.editor import Editor, Refused
from tests.servers.model_server import ThreadedModelServer
from tests.servers.reply import Call, Reply, Said, Thought
from tests.servers.scenarios import calls, says


async def finished(editor: Editor, session_id: str, text: str = "go", nth: int = 1) -> None:
    await editor.turn(session_id, text)
    await editor.event("turn.finished", session_id, nth=nth)


async def test_a_session_is_begun_with_what_was_asked_for(editor: Editor, workspace: Path) -> None:
    asked = {"cwd": f"{workspace}/.", "title": " A\ntitle ", "mode": "plan", "model": "other-model", "_later": 1}
    session = (await editor.request("marvin/session/new", asked))["session"]
    assert session == {
        "id": session["id"],
        "title": "A title",
        "cwd": str(workspace),
        "mode": "plan",
        "model": "other-model",
        "createdAt": session["createdAt"],
        "updatedAt": session["createdAt"],
        "busy": False,
    }
    assert (await editor.load(session["id"])) == {
        "session": session,
        "items": [],
        "seq": 0,
        "openPermissions": [],
        "pendingPatches": [],
        "queued": [],
        "drafts": [],
    }


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({}, "cwd: it is missing"),
        ({"cwd": "relative"}, "absolute path"),
        ({"cwd": "/nowhere/at/all"}, "cannot be used"),
        ({"cwd": "/dev/null"}, "not a directory"),
        ({"cwd": "/\0"}, "cannot be used"),
        ({"cwd": 1}, "cwd: expected text, got a whole number"),
        ({"cwd": "/", "mode": "yolo"}, "mode: it must be one of "),
    ],
)
async def test_a_session_that_cannot_be_is_refused(editor: Editor, params: Any, message: str) -> None:
    with pytest.raises(Refused, match="-32602") as refused:
        await editor.request("marvin/session/new", params)
    assert message in str(refused.value)


async def test_a_missing_key_is_told_when_a_session_begins(start: Start, workspace: Path) -> None:
    editor = await start(LLM_PROVIDER="anthropic")
    with pytest.raises(Refused, match="1003"):
        await editor.session(workspace)
    status = await editor.request("marvin/status")
    assert (status["provider"], status["auth"], status["busy"]) == ("anthropic", "required", False)
    assert "ANTHROPIC_API_KEY" in status["message"]


async def test_sessions_are_listed_page_by_page_the_latest_first(
    editor: Editor, workspace: Path, tmp_path: Path
) -> None:
    ids = [await editor.session(workspace, title=f"number {number}") for number in range(5)]
    other = await editor.session(tmp_path)
    everything = await editor.request("marvin/session/list")
    assert [session["id"] for session in everything["sessions"]] == [other, *reversed(ids)]
    assert "nextCursor" not in everything
    seen: list[str] = []
    page: Any = {}
    for size in (2, 2, 1):
        cursor = {"cursor": page["nextCursor"]} if page else {}
        page = await editor.request("marvin/session/list", {"cwd": str(workspace), "limit": 2, **cursor})
        assert len(page["sessions"]) == size
        seen += [session["id"] for session in page["sessions"]]
    assert (seen, "nextCursor" in page) == (ids[::-1], False)
    found = await editor.request("marvin/session/list", {"query": "number 3"})
    assert [session["id"] for session in found["sessions"]] == [ids[3]]


async def test_what_was_said_is_found_by_its_words(
    editor: Editor, workspace: Path, model_server: ThreadedModelServer
) -> None:
    model_server.play([says("The answer is forty-two.")])
    session_id = await editor.session(workspace)
    await finished(editor, session_id, "What is it?")
    await editor.session(workspace)
    found = await editor.request("marvin/session/list", {"query": "forty"})
    assert [(session["id"], session["title"]) for session in found["sessions"]] == [(session_id, "What is it?")]


async def test_a_loaded_session_has_its_messages_and_tool_calls(
    editor: Editor, workspace: Path, model_server: ThreadedModelServer
) -> None:
    call = Call("read_file", '{"path": "README.md"}')
    model_server.play([Reply(Said((Thought("hm"), "I look.", call))), says("A workspace.")])
    session_id = await editor.session(workspace)
    await finished(editor, session_id, "What is this?")
    loaded = await editor.load(session_id)
    prompt, looks, read, answer = loaded["items"]
    assert [item["kind"] for item in loaded["items"]] == ["message", "message", "toolCall", "message"]
    assert prompt["message"]["parts"] == [{"type": "text", "text": "What is this?"}]
    assert "parentId" not in prompt
    assert looks["parentId"] == prompt["id"]
    assert read == {
        "id": read["id"],
        "parentId": looks["id"],
        "turnId": prompt["turnId"],
        "kind": "toolCall",
        "createdAt": looks["createdAt"],
        "name": "read_file",
        "input": {"path": "README.md"},
        "status": "ok",
        "output": read["output"],
    }
    assert "# A workspace" in read["output"]
    assert answer["message"]["parts"] == [{"type": "text", "text": "A workspace."}]
    assert loaded["session"]["title"] == "What is this?"
    assert loaded["seq"] == max(
        one["params"]["seq"] for one in editor.messages if one.get("method") == "marvin/turn/events"
    )


async def test_older_messages_come_page_by_page(
    editor: Editor, workspace: Path, model_server: ThreadedModelServer
) -> None:
    model_server.play(lambda _, number: says(f"answer {number}"))
    session_id = await editor.session(workspace)
    for number in range(1, 4):
        await finished(editor, session_id, f"prompt {number}", number)
    texts: list[str] = []
    page: Any = {}
    for _ in range(3):
        before = {"before": page["cursor"]} if page else {}
        page = await editor.load(session_id, limit=2, **before)
        texts[:0] = [item["message"]["parts"][0]["text"] for item in page["items"]]
    assert texts == [f"{who} {number}" for number in (1, 2, 3) for who in ("prompt", "answer")]
    assert "cursor" not in page
    with pytest.raises(Refused, match="no entry 'nothing'"):
        await editor.load(session_id, before="nothing")


async def test_a_snapshot_in_the_midst_of_a_turn_has_what_is_going_on(
    editor: Editor, workspace: Path, model_server: ThreadedModelServer
) -> None:
    model_server.play([Reply(Said(("I run it.", Call("run_command", '{"command": "true"}'))))])
    session_id = await editor.session(workspace)
    turn_id = await editor.turn(session_id)
    asked = await editor.event("permission.requested", session_id)
    loaded = await editor.load(session_id)
    assert loaded["openPermissions"] == [asked["permission"]]
    assert (loaded["turnId"], loaded["session"]["busy"]) == (turn_id, True)
    assert [item.get("status") for item in loaded["items"]] == [None, None, "running"]
    assert "partial" not in loaded


async def test_a_call_that_has_ended_while_its_round_goes_on_has_its_result_in_a_snapshot(
    editor: Editor, workspace: Path, model_server: ThreadedModelServer
) -> None:
    calls = [Call("run_command", json.dumps({"command": line}), id=line) for line in ("true", "false")]
    model_server.play([Reply(Said(tuple(calls)))])
    session_id = await editor.session(workspace)
    await editor.turn(session_id)
    await editor.decide(session_id, "allowOnce")
    await editor.event("permission.requested", session_id, nth=2)
    ended = await editor.event("tool.finished", session_id)
    items = (await editor.load(session_id))["items"]
    assert [(item.get("status"), item.get("output")) for item in items] == [
        (None, None),
        (None, None),
        ("ok", ended["output"]),
        ("running", None),
    ]


async def test_pages_of_one_message_have_every_call_with_its_result(
    editor: Editor, workspace: Path, model_server: ThreadedModelServer
) -> None:
    call = Call("read_file", '{"path": "README.md"}')
    model_server.play([Reply(Said((call,))), Reply(Said((call,))), says("Done.")])
    session_id = await editor.session(workspace)
    await finished(editor, session_id, "go")
    whole = (await editor.load(session_id))["items"]
    page = await editor.load(session_id, limit=1)
    items = page["items"]
    while "cursor" in page:
        page = await editor.load(session_id, limit=1, before=page["cursor"])
        items = [*page["items"], *items]
    assert items == whole
    assert [item.get("status") for item in whole] == [None, None, "ok", None, "ok", None]
    assert {item["parentId"] for item in whole[1:]} <= {item["id"] for item in whole}
    foreign = await editor.session(workspace)
    await finished(editor, foreign)
    with pytest.raises(Refused, match="no entry"):
        await editor.load(session_id, before=(await editor.load(foreign))["items"][-1]["id"])


async def test_a_snapshot_has_the_text_so_far_and_the_events_go_on_after_it(
    editor: Editor, workspace: Path, model_server: ThreadedModelServer
) -> None:
    model_server.play([says("One ", "two ", "three.", gated=True)])
    session_id = await editor.session(workspace)
    await editor.turn(session_id)
    model_server.wait_for_request()
    model_server.release(2)
    await editor.event("message.delta", session_id)
    loaded = await editor.load(session_id)
    model_server.release(99)
    await editor.event("turn.finished", session_id)
    later = [
        event
        for one in editor.messages
        if one.get("method") == "marvin/turn/events" and one["params"]["seq"] > loaded["seq"]
        for event in one["params"]["events"]
    ]
    rest = "".join(event["text"] for event in later if event["type"] == "message.delta")
    assert loaded["partial"]["text"] + rest == "One two three."
    assert "partial" not in await editor.load(session_id)


async def test_a_session_is_renamed_and_put_away(editor: Editor, workspace: Path) -> None:
    session_id = await editor.session(workspace)
    told = await editor.request("marvin/session/update", {"sessionId": session_id, "title": "New", "archived": True})
    assert told["session"]["title"] == "New"
    changed = await editor.until(lambda message: message.get("method") == "marvin/session/changed")
    assert changed["params"] == told
    assert (await editor.request("marvin/session/list"))["sessions"] == []
    found = await editor.request("marvin/session/list", {"query": "New"})
    assert [session["id"] for session in found["sessions"]] == [session_id]
    await editor.request("marvin/session/update", {"sessionId": session_id, "archived": False})
    assert len((await editor.request("marvin/session/list"))["sessions"]) == 1


async def test_a_deleted_session_is_gone_with_what_was_said(
    editor: Editor, workspace: Path, model_server: ThreadedModelServer
) -> None:
    model_server.play([calls(Call("create_file", '{"path": "a", "content": "b"}')), says("Zaphod did it.")])
    kept, deleted = await editor.session(workspace), await editor.session(workspace)
    await finished(editor, deleted)
    assert await editor.request("marvin/session/delete", {"sessionId": deleted}) == {}
    assert [session["id"] for session in (await editor.request("marvin/session/list"))["sessions"]] == [kept]
    assert (await editor.request("marvin/session/list", {"query": "Zaphod"}))["sessions"] == []
    for method in ("session/load", "session/delete", "session/update", "turn/cancel", "usage/get"):
        with pytest.raises(Refused, match="1001"):
            await editor.request(f"marvin/{method}", {"sessionId": deleted})


async def test_a_session_is_not_deleted_while_a_turn_runs(
    editor: Editor, workspace: Path, model_server: ThreadedModelServer
) -> None:
    model_server.play([says("never", gated=True)])
    session_id = await editor.session(workspace)
    await editor.turn(session_id)
    with pytest.raises(Refused, match="1002") as refused:
        await editor.request("marvin/session/delete", {"sessionId": session_id})
    assert refused.value.error["data"] == {"kind": "turnActive", "retryable": True}


@pytest.mark.parametrize("session_id", ["", "x", "01a1fc", "%", "01a1fc7f202ae791349f611e83"])
async def test_an_unknown_session_is_said_to_be_one(editor: Editor, workspace: Path, session_id: str) -> None:
    await editor.session(workspace)
    for method in ("session/load", "session/delete", "session/update", "turn/cancel", "usage/get"):
        with pytest.raises(Refused, match="1001"):
            await editor.request(f"marvin/{method}", {"sessionId": session_id})
    with pytest.raises(Refused, match="1001"):
        await editor.turn(session_id)


async def test_the_start_of_an_id_is_no_id(editor: Editor, workspace: Path) -> None:
    session_id = await editor.session(workspace)
    with pytest.raises(Refused, match="1001"):
        await editor.load(session_id[:-1])


async def test_an_ephemeral_session_leaves_nothing(start: Start, editor: Editor, workspace: Path) -> None:
    session_id = await editor.session(workspace, ephemeral=True)
    await finished(editor, session_id)
    assert (await editor.request("marvin/session/list"))["sessions"] == []
    assert len((await editor.load(session_id))["items"]) == 2
    assert await editor.leave() == 0
    with pytest.raises(Refused, match="1001"):
        await (await start()).load(session_id)


async def test_an_ephemeral_session_is_in_no_list_of_others_and_goes_when_its_server_is_killed(
    start: Start, editor: Editor, workspace: Path
) -> None:
    session_id = await editor.session(workspace, ephemeral=True)
    await finished(editor, session_id, "Zaphod")
    other = await start()
    for params in ({}, {"query": "Zaphod"}):
        assert (await other.request("marvin/session/list", params))["sessions"] == []
    forked = (await other.request("marvin/session/fork", {"sessionId": session_id}))["session"]["id"]
    editor.process.kill()
    await editor.process.wait()
    later = await start()
    with pytest.raises(Refused, match="1001"):
        await later.load(session_id)
    assert len((await later.load(forked))["items"]) == 2
    assert await other.leave() == 0
    with pytest.raises(Refused, match="1001"):
        await later.load(forked)


async def test_two_processes_share_a_store_but_not_a_session(
    start: Start, editor: Editor, workspace: Path, model_server: ThreadedModelServer
) -> None:
    model_server.play([says("never", gated=True)])
    session_id = await editor.session(workspace)
    await editor.turn(session_id)
    model_server.wait_for_request()
    other = await start()
    assert len((await other.load(session_id))["items"]) == 1
    with pytest.raises(Refused, match=r"1002: another marvin \(process \d+\) is at work in session"):
        await other.turn(session_id)
    with pytest.raises(Refused, match="1002"):
        await other.request("marvin/session/delete", {"sessionId": session_id})
    assert await editor.leave() == 0
    model_server.play([says("Mine now.")])
    await finished(other, session_id)
    texts = json.dumps((await other.load(session_id))["items"])
    assert "Mine now." in texts


async def test_a_store_that_cannot_be_used_is_said_and_the_server_lives_on(
    start: Start, home: Path, workspace: Path
) -> None:
    database = home / "marvin" / "data" / "profiles" / "default" / "marvin.db"
    database.parent.mkdir(parents=True)
    database.write_bytes(b"This is no database. " * 100)
    editor = await start()
    with pytest.raises(Refused, match="is damaged"):
        await editor.session(workspace)
    database.unlink()
    assert await editor.session(workspace)
