"""What a client sends to start a turn: texts and pictures, once each, also while another turn runs."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.lsp.conftest import Start
from tests.lsp.editor import Editor, Refused
from tests.servers.model_server import ThreadedModelServer
from tests.servers.reply import Call
from tests.servers.scenarios import calls, says


async def test_a_client_turn_id_starts_one_turn_however_often_it_is_sent(
    editor: Editor, workspace: Path, model_server: ThreadedModelServer
) -> None:
    session_id = await editor.session(workspace)
    params = {"sessionId": session_id, "input": [{"type": "text", "text": "go"}], "clientTurnId": "c1"}
    first, second = editor.ask("marvin/turn/start", params), editor.ask("marvin/turn/start", params)
    told = await editor.answer(first)
    assert told == await editor.answer(second) == {"turnId": told["turnId"], "state": "running"}
    await editor.event("turn.finished", session_id)
    assert await editor.request("marvin/turn/start", params) == told
    assert len(model_server.requests) == 1


async def test_a_client_turn_id_of_a_server_that_was_killed_starts_no_second_turn(
    start: Start, editor: Editor, workspace: Path, model_server: ThreadedModelServer
) -> None:
    session_id = await editor.session(workspace)
    model_server.play([says("never", gated=True)])
    params = {"sessionId": session_id, "input": [{"type": "text", "text": "go"}], "clientTurnId": "c1"}
    waiting = {**params, "clientTurnId": "c2", "whenBusy": "queue"}
    told = await editor.request("marvin/turn/start", params)
    await editor.request("marvin/turn/start", waiting)
    await asyncio.to_thread(model_server.wait_for_request)
    editor.process.kill()
    await editor.process.wait()

    other = await start()
    model_server.play([says("Here I am.")])
    assert await other.request("marvin/turn/start", params) == {"turnId": told["turnId"], "state": "finished"}
    loaded = await other.load(session_id)
    assert (len(loaded["items"]), len(loaded["drafts"])) == (1, 1)
    assert (await other.request("marvin/turn/start", waiting))["state"] == "running"
    await other.event("turn.finished", session_id)
    loaded = await other.load(session_id)
    assert (len(loaded["items"]), loaded["drafts"]) == (3, [])
    assert len(model_server.requests) == 2
    another = {**params, "input": [{"type": "text", "text": "another prompt, by a client that counts anew"}]}
    assert (await other.request("marvin/turn/start", {**another}))["state"] == "running"


@pytest.mark.parametrize(
    "said",
    [
        {"input": []},
        {"input": [{"type": "text", "text": "  "}]},
        {"input": "go"},
        {"input": [{"type": "video", "text": "go"}]},
        {"input": [{"type": "text"}]},
        {"input": [{"type": "text", "text": "x"}, {"type": "image", "mimeType": "image/png", "data": "?"}]},
        {"input": [{"type": "text", "text": "x"}, {"type": "image", "mimeType": "text/html", "data": "AAAA"}]},
        {"input": [{"type": "text", "text": "x"}], "whenBusy": "shout"},
    ],
)
async def test_an_input_that_says_nothing_starts_nothing(editor: Editor, workspace: Path, said: Any) -> None:
    session_id = await editor.session(workspace)
    with pytest.raises(Refused, match="-32602"):
        await editor.request("marvin/turn/start", {"sessionId": session_id, **said})
    assert editor.events(session_id) == []


async def test_texts_and_pictures_reach_the_model(
    editor: Editor, workspace: Path, model_server: ThreadedModelServer
) -> None:
    session_id = await editor.session(workspace)
    picture = {"type": "image", "mimeType": "image/png", "data": "iVBORw0="}
    said = [{"type": "text", "text": "One"}, picture, {"type": "text", "text": "\ud83d two"}]
    await editor.request("marvin/turn/start", {"sessionId": session_id, "input": said})
    await editor.event("turn.finished", session_id)
    sent = model_server.requests[0].json["messages"][-1]["content"]
    assert [part["type"] for part in sent] == ["image_url", "text"]
    assert sent[1]["text"] == "One\n\n\ufffd two"


async def test_pictures_without_a_word_are_a_prompt(
    editor: Editor, workspace: Path, model_server: ThreadedModelServer
) -> None:
    session_id = await editor.session(workspace)
    pictures = [{"type": "image", "mimeType": "image/png", "data": data} for data in ("AAAA", "BBBB")]
    for nth, picture in enumerate(pictures, 1):
        said = [picture, {"type": "text", "text": ""}]
        await editor.request("marvin/turn/start", {"sessionId": session_id, "input": said})
        await editor.event("turn.finished", session_id, nth=nth)
    urls = [f"data:image/png;base64,{picture['data']}" for picture in pictures]
    prompts = [message for message in model_server.requests[-1].json["messages"] if message["role"] == "user"]
    assert prompts == [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]} for url in urls]
    loaded = await editor.load(session_id)
    assert [item["message"]["parts"] for item in loaded["items"][::2]] == [[picture] for picture in pictures]


async def test_while_a_turn_runs_another_is_refused_queued_or_steered(
    editor: Editor, workspace: Path, model_server: ThreadedModelServer
) -> None:
    asks = Call("run_command", '{"command": "true"}')
    model_server.play(lambda _, number: calls(asks) if number == 1 else says(f"answer {number}"))
    session_id = await editor.session(workspace)
    first = await editor.turn(session_id, "first")
    await editor.event("permission.requested", session_id)
    with pytest.raises(Refused, match="1002") as refused:
        await editor.turn(session_id, "refused")
    assert refused.value.error["data"]["retryable"]
    said = {"sessionId": session_id, "input": [{"type": "text", "text": "queued"}], "whenBusy": "queue"}
    queued = await editor.request("marvin/turn/start", said)
    said = {"sessionId": session_id, "input": [{"type": "text", "text": "steered"}], "whenBusy": "steer"}
    assert await editor.request("marvin/turn/start", said) == {"turnId": first, "state": "steered"}
    assert queued["state"] == "queued"
    await editor.decide(session_id, "deny")
    assert (await editor.event("turn.finished", session_id, nth=2))["turnId"] == queued["turnId"]
    spoken = [
        part["text"]
        for event in editor.events(session_id)
        if event["type"] == "message.finished" and event["message"]["role"] == "user"
        for part in event["message"]["parts"]
    ]
    assert spoken == ["first", "steered", "queued"]
