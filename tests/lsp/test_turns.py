"""Turns over the wire: started, queued, steered, cancelled; their events, questions and usage."""

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.lsp.conftest import Start
from tests.lsp.editor import Editor, Refused
from tests.lsp.test_context import commit_all
from tests.patience import SECONDS
from tests.servers.model_server import ThreadedModelServer
from tests.servers.reply import Call, Reply, Said, Thought, Tokens
from tests.servers.scenarios import calls, deltas, says, status


def command(line: str) -> Reply:
    return calls(Call("run_command", json.dumps({"command": line})))


def text(events: list[Any]) -> str:
    return "".join(event["text"] for event in events if event["type"] == "message.delta")


async def answer(editor: Editor, session_id: str, decision: str, *, nth: int = 1, **more: Any) -> Any:
    asked = await editor.event("permission.requested", session_id, nth=nth)
    params = {"permissionId": asked["permission"]["id"], "decision": decision, **more}
    return await editor.request("marvin/permission/answer", params)


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
    loaded = await other.request("marvin/session/load", {"sessionId": session_id})
    assert (len(loaded["items"]), len(loaded["drafts"])) == (1, 1)
    assert (await other.request("marvin/turn/start", waiting))["state"] == "running"
    await other.event("turn.finished", session_id)
    loaded = await other.request("marvin/session/load", {"sessionId": session_id})
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
    loaded = await editor.request("marvin/session/load", {"sessionId": session_id})
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
    await answer(editor, session_id, "deny")
    assert (await editor.event("turn.finished", session_id, nth=2))["turnId"] == queued["turnId"]
    spoken = [
        part["text"]
        for event in editor.events(session_id)
        if event["type"] == "message.finished" and event["message"]["role"] == "user"
        for part in event["message"]["parts"]
    ]
    assert spoken == ["first", "steered", "queued"]


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
    loaded = await editor.request("marvin/session/load", {"sessionId": session_id})
    (draft,) = loaded["drafts"]
    assert (draft["message"]["parts"], "turnId" in loaded) == ([{"type": "text", "text": "steered"}], False)
    await editor.request("marvin/turn/cancel", {"sessionId": session_id, "turnId": draft["id"]})
    assert (await editor.request("marvin/session/load", {"sessionId": session_id}))["drafts"] == []


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


async def test_a_question_is_asked_with_what_would_run_and_the_first_answer_counts(
    editor: Editor, workspace: Path, model_server: ThreadedModelServer
) -> None:
    model_server.play([command("echo hi > made"), says("ok")])
    session_id = await editor.session(workspace)
    await editor.turn(session_id)
    asked = (await editor.event("permission.requested", session_id))["permission"]
    assert (asked["kind"], asked["command"]["display"], asked["command"]["cwd"]) == (
        "command",
        "echo hi > made",
        str(workspace),
    )
    assert not (workspace / "made").exists()
    for wrong in ({"decision": "yes"}, {}, {"decision": "allowEdited"}, {"decision": "deny", "command": "x"}):
        with pytest.raises(Refused, match="-32602"):
            await editor.request("marvin/permission/answer", {"permissionId": asked["id"], **wrong})
    assert await answer(editor, session_id, "allowOnce") == {"accepted": True}
    assert await answer(editor, session_id, "deny") == {"accepted": False}
    await editor.event("turn.finished", session_id)
    assert (workspace / "made").read_text() == "hi\n"
    resolved = await editor.event("permission.resolved", session_id)
    assert (resolved["decision"], resolved["by"]) == ("allowOnce", "person")
    assert await answer(editor, session_id, "allowOnce") == {"accepted": False}


async def test_a_command_that_the_person_changed_runs_as_they_wrote_it(
    editor: Editor, workspace: Path, model_server: ThreadedModelServer
) -> None:
    model_server.play([command("touch theirs"), says("ok")])
    session_id = await editor.session(workspace)
    await editor.turn(session_id)
    await answer(editor, session_id, "allowEdited", command="touch ours")
    await editor.event("turn.finished", session_id)
    assert [(workspace / name).exists() for name in ("theirs", "ours")] == [False, True]


@pytest.mark.parametrize(
    ("decision", "stop"), [("deny", "completed"), ("denyAndStop", "denied"), ("allowOnce", "completed")]
)
async def test_what_a_person_adds_to_an_answer_reaches_the_model(
    editor: Editor, workspace: Path, model_server: ThreadedModelServer, decision: str, stop: str
) -> None:
    model_server.play([command("touch made"), says("ok")])
    session_id = await editor.session(workspace)
    await editor.turn(session_id)
    await answer(editor, session_id, decision, note="Mind the gap")
    assert (await editor.event("turn.finished", session_id))["stopReason"] == stop
    said = [event["message"] for event in editor.events(session_id) if event["type"] == "message.finished"]
    assert "Mind the gap" in json.dumps(said)
    assert (workspace / "made").exists() == (decision == "allowOnce")


async def test_cancel_settles_a_question_as_denied(
    editor: Editor, workspace: Path, model_server: ThreadedModelServer
) -> None:
    model_server.play([command("touch made")])
    session_id = await editor.session(workspace)
    await editor.turn(session_id)
    await editor.event("permission.requested", session_id)
    await editor.request("marvin/turn/cancel", {"sessionId": session_id})
    resolved = await editor.event("permission.resolved", session_id)
    assert (resolved["decision"], resolved["by"]) == ("deny", "cancelled")
    assert await answer(editor, session_id, "allowOnce") == {"accepted": False}
    assert not (workspace / "made").exists()


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
    assert (text(editor.events(slow)), text(editor.events(quick))) == ("Slow one", "Quick")


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
    assert text(editor.events(session_id)) == "".join(f"word{number} " for number in range(5000))
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
        while len((await listing.request("marvin/session/load", {"sessionId": sessions[0]["id"]}))["items"]) < 2:
            pass
    editor.begin_reading()
    await editor.event("turn.finished", sessions[0]["id"])
    events = editor.events(sessions[0]["id"])
    assert text(events) == "".join(f"word{number} " for number in range(20_000))
    assert len([event for event in events if event["type"] == "message.delta"]) < 5


TOKENS = {"input": 100, "output": 20, "cacheRead": 40, "cacheWrite": 0}
USED = {
    "tokens": TOKENS,
    "contextUsed": 120,
    "requests": 1,
    "models": [{"requests": 1, "tokens": TOKENS, "provider": "openai-compat", "model": "test-model"}],
    "lifetime": {"requests": 1, "tokens": TOKENS},
    "caps": [],
}


async def test_what_a_session_has_used_is_told_though_nobody_could_answer(
    start: Start, editor: Editor, workspace: Path, model_server: ThreadedModelServer
) -> None:
    model_server.play([Reply(Said(("Hi",), tokens=Tokens(100, 20, 40)))])
    session_id = await editor.session(workspace)
    await editor.turn(session_id)
    await editor.event("turn.finished", session_id)
    other = await start(LLM_PROVIDER="anthropic")
    used = await other.request("marvin/usage/get", {"sessionId": session_id})
    assert used == USED


async def test_a_budget_and_what_other_sessions_have_used_are_told(
    start: Start, home: Path, workspace: Path, model_server: ThreadedModelServer
) -> None:
    config = home / "marvin" / "config" / "config.yaml"
    config.parent.mkdir(parents=True)
    config.write_text("models: {test-model: {input: 1, output: 1}}\nbudget: {day: 1, session: 0.5}\n")
    model_server.play([Reply(Said(("Hi",), tokens=Tokens(500_000, 0)))])
    editor = await start()
    sessions = [await editor.session(workspace) for _ in range(3)]
    for session_id in sessions:
        await editor.turn(session_id)
        await editor.event("turn.finished", session_id)
    used = await editor.request("marvin/usage/get", {"sessionId": sessions[0]})
    assert (used["costUsd"], used["lifetime"]["costUsd"], used["lifetime"]["requests"]) == (0.5, 1.0, 2)
    assert used["caps"] == [
        {"span": "session", "capUsd": 0.5, "spentUsd": 0.5},
        {"span": "day", "capUsd": 1.0, "spentUsd": 1.0},
    ]
    end = await editor.event("turn.finished", sessions[2])
    assert end["stopReason"] == "budget"


async def test_usage_and_status_and_models_are_told(
    editor: Editor, workspace: Path, model_server: ThreadedModelServer
) -> None:
    model_server.play([Reply(Said(("Hi",), tokens=Tokens(100, 20, 40)))])
    session_id = await editor.session(workspace)
    nothing = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}
    before = await editor.request("marvin/usage/get", {"sessionId": session_id})
    assert before == {
        "tokens": nothing,
        "contextUsed": 0,
        "costUsd": 0.0,
        "requests": 0,
        "models": [],
        "lifetime": {"requests": 0, "tokens": nothing, "costUsd": 0.0},
        "caps": [],
    }
    await editor.turn(session_id)
    await editor.event("turn.finished", session_id)
    # The price of this model is unknown, and so is its context.
    used = await editor.request("marvin/usage/get", {"sessionId": session_id})
    assert used == USED
    told = await editor.request("marvin/status")
    assert (told["provider"], told["model"], told["auth"], told["busy"]) == (
        "openai-compat",
        "test-model",
        "ok",
        False,
    )
    listed = await editor.request("marvin/models/list", {"provider": "openai-compat", "refresh": True})
    (row,) = listed["providers"]
    assert (row["id"], row["status"]) == ("openai-compat", "ready")
    assert row["models"] == [{"id": "test-model"}]
    everything = await editor.request("marvin/models/list", seconds=20)
    assert {"anthropic", "offline", "openai-compat"} <= {row["id"] for row in everything["providers"]}
    with pytest.raises(Refused, match="-32602"):
        await editor.request("marvin/models/list", {"provider": "nobody"})
