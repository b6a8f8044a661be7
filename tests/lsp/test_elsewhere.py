"""Sessions that several processes have open: two editors, and an editor and a terminal."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.command import Marvin
from tests.lsp.conftest import Start
from tests.lsp.editor import Editor, Message, Refused
from tests.servers.model_server import ThreadedModelServer
from tests.servers.scenarios import runs, says


async def changed(editor: Editor, session_id: str, since: int, *, busy: bool) -> None:
    """Wait until the client has been told, after so many messages, that the session is busy, or not."""

    def wanted(message: Message) -> bool:
        if message.get("method") != "marvin/session/changed":
            return False
        session = message["params"]["session"]
        return (session["id"], session["busy"]) == (session_id, busy)

    await editor.until(lambda _: any(map(wanted, editor.messages[since:])))


def said(loaded: Any) -> list[str]:
    messages = (item["message"] for item in loaded["items"] if item["kind"] == "message")
    return [part["text"] for message in messages for part in message["parts"] if part["type"] == "text"]


async def turn(editor: Editor, session_id: str, text: str, when_busy: str) -> Any:
    params = {"sessionId": session_id, "input": [{"type": "text", "text": text}], "whenBusy": when_busy}
    return await editor.request("marvin/turn/start", params)


async def test_a_session_goes_from_the_editor_to_the_terminal_and_back(
    editor: Editor,
    workspace: Path,
    marvin: Marvin,
    model_server: ThreadedModelServer,
    model_environ: dict[str, str],
) -> None:
    model_server.play(lambda _, number: says(f"answer {number}"))
    session_id = await editor.session(workspace)
    await editor.turn(session_id, "in the editor")
    await editor.event("turn.finished", session_id)
    told = len(editor.messages)
    words = ("--non-interactive", "--continue", "--working-dir", str(workspace), "--prompt", "in the terminal")
    done = await asyncio.to_thread(marvin, *words, env=model_environ)
    assert (done.exit_code, done.stdout) == (0, "answer 2\n")
    await changed(editor, session_id, told, busy=False)
    assert said(await editor.load(session_id)) == ["in the editor", "answer 1", "in the terminal", "answer 2"]
    await editor.turn(session_id, "and back")
    await editor.event("turn.finished", session_id, nth=2)
    sent = model_server.requests[2].json["messages"]
    texts = ["in the editor", "answer 1", "in the terminal", "answer 2", "and back"]
    assert [message["content"] for message in sent if message["role"] != "system"] == texts
    assert said(await editor.load(session_id)) == [*texts, "answer 3"]


async def test_what_is_at_work_elsewhere_is_busy_and_a_prompt_may_wait_for_it(
    start: Start,
    editor: Editor,
    workspace: Path,
    marvin: Marvin,
    model_server: ThreadedModelServer,
    model_environ: dict[str, str],
) -> None:
    model_server.play([says("Theirs", gated=True)])
    other = await start()
    session_id = await editor.session(workspace)
    assert not (await other.load(session_id))["session"]["busy"]
    told = len(other.messages)
    await editor.turn(session_id, "first")
    model_server.wait_for_request()
    await changed(other, session_id, told, busy=True)
    loaded = await other.load(session_id)
    assert (loaded["session"]["busy"], "turnId" in loaded) == (True, False)
    with pytest.raises(Refused, match=r"1002: another marvin \(process \d+\) is at work in session") as refused:
        await turn(other, session_id, "refused", "reject")
    assert refused.value.error["data"]["retryable"]
    words = ("--non-interactive", "--resume", session_id, "--working-dir", str(workspace), "--prompt", "x")
    done = await asyncio.to_thread(marvin, *words, env=model_environ)
    assert (done.exit_code, done.stdout) == (1, "")
    assert f"is at work in session {session_id}: wait for it, or end it" in done.stderr
    queued = [await turn(other, session_id, text, kind) for text, kind in (("2", "queue"), ("3", "steer"))]
    assert [answer["state"] for answer in queued] == ["queued", "queued"]
    model_server.play([says("Ours")])
    model_server.release(99)
    await editor.event("turn.finished", session_id)
    assert (await other.event("turn.finished", session_id, nth=2))["turnId"] == queued[1]["turnId"]
    assert said(await editor.load(session_id)) == ["first", "Theirs", "2", "Ours", "3", "Ours"]


async def test_a_question_is_answered_from_another_editor(
    start: Start, editor: Editor, workspace: Path, model_server: ThreadedModelServer
) -> None:
    model_server.play([runs("touch made"), says("ok")])
    other = await start()
    session_id = await editor.session(workspace)
    await other.load(session_id)
    await editor.turn(session_id)
    asked = (await editor.event("permission.requested", session_id))["permission"]
    loaded = await other.load(session_id)
    assert loaded["openPermissions"] == [asked]
    assert [item.get("status") for item in loaded["items"]] == [None, None, "running"]
    params = {"permissionId": asked["id"], "decision": "allowOnce"}
    assert await other.request("marvin/permission/answer", params) == {"accepted": True}
    for late in (other, editor):
        assert await late.request("marvin/permission/answer", params) == {"accepted": False}
    resolved = await editor.event("permission.resolved", session_id)
    assert (resolved["decision"], resolved["by"]) == ("allowOnce", "editor")
    await editor.event("turn.finished", session_id)
    assert (workspace / "made").exists()
    assert (await other.load(session_id))["openPermissions"] == []


async def test_a_question_is_answered_from_the_terminal(
    editor: Editor, workspace: Path, marvin: Marvin, model_server: ThreadedModelServer
) -> None:
    model_server.play([runs("touch made"), says("ok")])
    session_id = await editor.session(workspace)
    assert (await asyncio.to_thread(marvin, "sessions", "questions")).stdout == "Nothing is asked.\n"
    await editor.turn(session_id)
    asked = (await editor.event("permission.requested", session_id))["permission"]
    shown = (await asyncio.to_thread(marvin, "sessions", "questions")).stdout
    assert "    touch made\n" in shown
    assert f"runs in {workspace} by " in shown
    assert f"--answer {asked['id']} allow_once|" in shown
    listed = json.loads((await asyncio.to_thread(marvin, "sessions", "questions", "--json")).stdout)
    assert [question["permission"]["id"] for question in listed] == [asked["id"]]
    for decision in ("yes", "allow_edited"):
        wrong = await asyncio.to_thread(marvin, "sessions", "questions", "--answer", asked["id"], decision)
        assert wrong.exit_code == 2
    answer = ("sessions", "questions", "--answer", asked["id"], "deny", "--note", "Not now")
    done = await asyncio.to_thread(marvin, *answer)
    assert (done.exit_code, done.stdout) == (0, "Answered.\n")
    resolved = await editor.event("permission.resolved", session_id)
    assert (resolved["decision"], resolved["by"]) == ("deny", "terminal")
    await editor.event("turn.finished", session_id)
    assert "Not now" in json.dumps(editor.events(session_id))
    assert not (workspace / "made").exists()
    assert (await asyncio.to_thread(marvin, *answer)).exit_code == 1


async def test_prompts_that_were_queued_at_shutdown_are_drafts_that_nothing_starts(
    start: Start, editor: Editor, workspace: Path, marvin: Marvin, model_server: ThreadedModelServer
) -> None:
    model_server.play([says("never", gated=True)])
    session_id = await editor.session(workspace)
    await editor.turn(session_id, "first")
    model_server.wait_for_request()
    for text in ("second", "third"):
        await turn(editor, session_id, text, "queue")
    assert (await editor.load(session_id))["drafts"] == []
    assert await editor.leave() == 0
    later = await start()
    drafts = (await later.load(session_id))["drafts"]
    assert [draft["message"]["parts"][0]["text"] for draft in drafts] == ["second", "third"]
    shown = (await asyncio.to_thread(marvin, "sessions", "drafts")).stdout
    assert f"Draft {drafts[1]['id']}, session {session_id}:\nthird\n" in shown
    await later.request("marvin/turn/cancel", {"sessionId": session_id, "turnId": drafts[0]["id"]})
    assert (await later.load(session_id))["drafts"] == drafts[1:]
    done = await asyncio.to_thread(marvin, "sessions", "drafts", "--drop", drafts[1]["id"])
    assert done.stdout == "There are no drafts.\n"
    assert (await later.load(session_id))["drafts"] == []
    assert len(model_server.requests) == 1


async def test_after_kill_9_in_the_midst_of_a_turn_another_process_goes_on_at_once(
    start: Start, editor: Editor, workspace: Path, model_server: ThreadedModelServer
) -> None:
    model_server.play([runs("echo up; sleep 60"), says("ok")])
    other = await start()
    session_id = await editor.session(workspace)
    await editor.turn(session_id, "first")
    asked = (await editor.event("permission.requested", session_id))["permission"]
    await turn(editor, session_id, "waits", "queue")
    loaded = await other.load(session_id)
    assert loaded["openPermissions"] == [asked]
    told = len(other.messages)
    editor.process.kill()
    await editor.process.wait()
    await changed(other, session_id, told, busy=False)
    params = {"permissionId": asked["id"], "decision": "allowOnce"}
    assert await other.request("marvin/permission/answer", params) == {"accepted": False}
    loaded = await other.load(session_id)
    assert (loaded["openPermissions"], loaded["session"]["busy"]) == ([], False)
    assert [draft["message"]["parts"][0]["text"] for draft in loaded["drafts"]] == ["waits"]
    assert loaded["items"][-1]["status"] == "cancelled"
    model_server.play([says("Back again.")])
    await other.turn(session_id, "second")
    await other.event("turn.finished", session_id)
    sent = [message for message in model_server.requests[-1].json["messages"] if message["role"] != "system"]
    assert [message["role"] for message in sent] == ["user", "assistant", "tool", "user"]
    assert sent[2]["tool_call_id"] == sent[1]["tool_calls"][0]["id"]
    assert said(await other.load(session_id)) == ["first", "second", "Back again."]


async def test_a_title_that_is_changed_elsewhere_is_told(start: Start, editor: Editor, workspace: Path) -> None:
    other = await start()
    session_id = await editor.session(workspace)
    await other.request("marvin/session/update", {"sessionId": session_id, "title": "Theirs"})
    told = await editor.until(lambda message: message.get("method") == "marvin/session/changed")
    assert told["params"]["session"]["title"] == "Theirs"


async def test_a_session_that_is_deleted_elsewhere_is_told_and_gone(
    start: Start, editor: Editor, workspace: Path
) -> None:
    other = await start()
    kept, mine, theirs = [await editor.session(workspace) for _ in range(3)]
    await editor.turn(theirs)
    await editor.event("turn.finished", theirs)
    await editor.request("marvin/session/delete", {"sessionId": mine})
    await other.request("marvin/session/delete", {"sessionId": theirs})
    for method, params in (
        ("session/delete", {}),
        ("turn/start", {"input": [{"type": "text", "text": "go"}]}),
        ("session/load", {}),
    ):
        with pytest.raises(Refused, match=f"1001: there is no session '{theirs}': marvin/session/list shows them"):
            await editor.request(f"marvin/{method}", {"sessionId": theirs, **params})
    await editor.until(lambda message: message.get("method") == "marvin/session/deleted")
    await other.request("marvin/session/update", {"sessionId": kept, "title": "Again"})
    await editor.until(lambda one: one.get("params", {}).get("session", {}).get("title") == "Again")
    told = [one["params"] for one in editor.messages if one.get("method") == "marvin/session/deleted"]
    assert told == [{"sessionId": theirs}]
    assert await editor.leave() == 0
