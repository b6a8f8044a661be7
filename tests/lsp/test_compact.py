"""A summary takes the place of what was said before, asked for over the wire."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.lsp.conftest import Start
from tests.lsp.editor import Editor, Refused
from tests.lsp.test_commands import command
from tests.protocol.published_schema import SCHEMA, problems
from tests.servers.model_server import ThreadedModelServer
from tests.servers.reply import Delivery, Reply, Said
from tests.servers.scenarios import says

SUMMARY = "## Task\nTell jokes."


def answer(body: Any, _number: int) -> Reply:
    return says(SUMMARY if "You write the memory of Marvin" in json.dumps(body) else "A joke.")


async def talked(editor: Editor, workspace: Path, model_server: ThreadedModelServer) -> str:
    """A session of six turns."""
    model_server.play(answer)
    session_id = await editor.session(workspace)
    for number in range(6):
        await editor.turn(session_id, f"Joke {number}, please. {'A long story. ' * 50}")
        await editor.event("turn.finished", session_id, nth=number + 1)
    return session_id


async def compact(editor: Editor, session_id: str, **params: Any) -> Any:
    return await editor.request("marvin/session/compact", {"sessionId": session_id, **params})


async def sent(editor: Editor, session_id: str, model_server: ThreadedModelServer, nth: int) -> list[Any]:
    """The messages of the request that one more turn makes, without the system prompt."""
    await editor.turn(session_id, "And now?")
    await editor.event("turn.finished", session_id, nth=nth)
    return model_server.requests[-1].json["messages"][1:]


async def test_it_is_shown_and_then_carried_out_as_it_was_shown(
    editor: Editor, workspace: Path, model_server: ThreadedModelServer
) -> None:
    session_id = await talked(editor, workspace, model_server)
    shown = await compact(editor, session_id, preview=True, focus="the jokes")
    assert [topic[:14] for topic in shown["topics"]] == ["Joke 0, please", "Joke 1, please"]
    assert "\n-[person] Joke 0, please." in shown["diff"]
    assert "\n+## Task\n+Tell jokes.\n" in shown["diff"]
    requests = len(model_server.requests)
    assert await compact(editor, session_id, focus="the jokes") == shown
    assert len(model_server.requests) == requests
    assert problems(shown, SCHEMA["methods"]["marvin/session/compact"]["result"]) == []
    event = await editor.event("compaction", session_id)
    assert problems(event, SCHEMA["events"]["compaction"]) == []
    assert event == {"type": "compaction", **shown["compaction"]}
    loaded = await editor.load(session_id)
    assert [item["kind"] for item in loaded["items"]] == [*["message"] * 12, "compaction"], "all of it is there"
    messages = await sent(editor, session_id, model_server, 7)
    assert len(messages) == 1 + 8 + 1
    assert SUMMARY in messages[0]["content"]


async def test_the_command_does_it_and_takes_it_back(
    editor: Editor, workspace: Path, model_server: ThreadedModelServer
) -> None:
    session_id = await talked(editor, workspace, model_server)
    asked = await command(editor, session_id, "/compact --ask")
    assert asked[0] == "A summary takes the place of 4 messages, about:"
    assert asked[-1].endswith("; /compact carries it out")
    await editor.request(
        "marvin/turn/start", {"sessionId": session_id, "input": [{"type": "text", "text": "/compact"}]}
    )
    await editor.event("compaction", session_id)
    undone = await editor.request(
        "marvin/turn/start", {"sessionId": session_id, "input": [{"type": "text", "text": "/compact undo"}]}
    )
    assert undone["state"] == "running"
    await editor.event("compaction", session_id, nth=2)
    messages = await sent(editor, session_id, model_server, 10)
    assert len(messages) == 13


async def test_a_loaded_session_has_summaries_and_their_end_where_they_came(
    editor: Editor, workspace: Path, model_server: ThreadedModelServer
) -> None:
    session_id = await talked(editor, workspace, model_server)
    await compact(editor, session_id)
    await command(editor, session_id, "/compact undo")
    events = [await editor.event("compaction", session_id, nth=nth) for nth in (1, 2)]
    await sent(editor, session_id, model_server, 8)
    loaded = await editor.load(session_id)
    assert problems(loaded, SCHEMA["methods"]["marvin/session/load"]["result"]) == []
    *_, last, made, undone, prompt, _answer = loaded["items"]
    assert [item["compaction"] for item in (made, undone)] == events
    assert [item["compaction"]["reason"] for item in (made, undone)] == ["person", "undo"]
    assert SUMMARY in made["compaction"]["message"]["parts"][0]["text"]
    assert {item["parentId"] for item in (made, undone, prompt)} == {last["id"]}
    assert (made["createdAt"], "turnId" in made) == (min(each["createdAt"] for each in (made, undone, prompt)), False)


@pytest.mark.parametrize("limit", [1, 2, 3])
async def test_a_summary_is_on_the_page_of_what_it_follows(
    editor: Editor, workspace: Path, model_server: ThreadedModelServer, limit: int
) -> None:
    session_id = await talked(editor, workspace, model_server)
    await compact(editor, session_id)
    await sent(editor, session_id, model_server, 7)
    whole = (await editor.load(session_id))["items"]
    assert [item["kind"] for item in whole].index("compaction") == 12
    page = await editor.load(session_id, limit=limit)
    items = page["items"]
    while "cursor" in page:
        page = await editor.load(session_id, limit=limit, before=page["cursor"])
        assert page["items"][0]["kind"] == "message"
        items = [*page["items"], *items]
    assert items == whole


async def test_a_session_is_forked_at_a_summary(
    editor: Editor, workspace: Path, model_server: ThreadedModelServer
) -> None:
    session_id = await talked(editor, workspace, model_server)
    made = (await compact(editor, session_id))["compaction"]
    await sent(editor, session_id, model_server, 7)
    asked = {"sessionId": session_id, "atItemId": made["id"]}
    fork = (await editor.request("marvin/session/fork", asked))["session"]["id"]
    assert [item["id"] for item in (await editor.load(fork))["items"]][-1] == made["id"]
    assert SUMMARY in (await sent(editor, fork, model_server, 1))[0]["content"]


async def test_it_is_refused_where_nothing_can_go_and_while_a_turn_runs(
    editor: Editor, workspace: Path, model_server: ThreadedModelServer
) -> None:
    session_id = await editor.session(workspace)
    with pytest.raises(Refused, match="-32602: there is nothing to summarise"):
        await compact(editor, session_id)
    model_server.play([says("never", gated=True)])
    await editor.turn(session_id)
    with pytest.raises(Refused, match=r"1002: a turn is running") as refused:
        await compact(editor, session_id)
    assert refused.value.error["data"] == {"kind": "turnActive", "retryable": True}


@pytest.mark.parametrize(
    ("session_id", "refusal"), [("", "1001"), ("nobody", "1001"), ("\0%", "1001"), (7, "-32602"), (None, "-32602")]
)
async def test_a_session_that_is_not_there_is_refused(editor: Editor, session_id: Any, refusal: str) -> None:
    with pytest.raises(Refused, match=refusal):
        await compact(editor, session_id)


async def test_the_beginning_of_an_id_is_none(editor: Editor, workspace: Path) -> None:
    session_id = await editor.session(workspace)
    with pytest.raises(Refused, match=r"1001.*marvin/session/list shows them"):
        await compact(editor, session_id[:12])


async def test_a_request_that_is_cancelled_changes_nothing(
    editor: Editor, workspace: Path, model_server: ThreadedModelServer
) -> None:
    session_id = await talked(editor, workspace, model_server)
    stalled = Reply(Said(("## Task", "\nNever.")), delivery=Delivery(stall_after=1))
    model_server.play([stalled])
    asked = editor.ask("marvin/session/compact", {"sessionId": session_id})
    # Six turns, a title, and the summary.
    assert "You write the memory" in str(model_server.wait_for_request(8).json)
    editor.notify("$/cancelRequest", {"id": asked})
    with pytest.raises(Refused, match="-32800"):
        await editor.answer(asked)
    model_server.play(answer)
    assert len(await sent(editor, session_id, model_server, 7)) == 13


def slowly(body: Any, number: int) -> Reply:
    """As ``answer``, but the summary comes when the test lets it."""
    written = "You write the memory of Marvin" in json.dumps(body)
    return says(SUMMARY, gated=True) if written else answer(body, number)


def ask(editor: Editor, way: str, session_id: str) -> int:
    """Ask for a summary, by the request or by the command, and give the request's id."""
    if way == "request":
        return editor.ask("marvin/session/compact", {"sessionId": session_id})
    said = {"sessionId": session_id, "input": [{"type": "text", "text": "/compact"}], "clientTurnId": "c"}
    return editor.ask("marvin/turn/start", said)


async def being_written(
    editor: Editor, workspace: Path, model_server: ThreadedModelServer, way: str
) -> tuple[str, int]:
    """A session in which the model is at a summary, by its id, and the request that waits for it."""
    session_id = await talked(editor, workspace, model_server)
    model_server.play(slowly)
    asked = ask(editor, way, session_id)
    # Six turns, a title, and the summary.
    assert "You write the memory" in str((await asyncio.to_thread(model_server.wait_for_request, 8)).json)
    assert not any(message.get("id") == asked for message in editor.messages if "method" not in message)
    return session_id, asked


WAYS = pytest.mark.parametrize("way", ["request", "command"])


@WAYS
async def test_while_it_is_written_a_prompt_is_queued_at_once_and_answered_with_the_summary(
    editor: Editor, workspace: Path, model_server: ThreadedModelServer, way: str
) -> None:
    session_id, asked = await being_written(editor, workspace, model_server, way)
    with pytest.raises(Refused, match="1002: the conversation is being summarised"):
        await editor.turn(session_id, "Now?")
    turn_id = await editor.turn(session_id, "And now?", whenBusy="queue")
    model_server.release(99)
    await editor.answer(asked)
    await editor.until(lambda _: any(event.get("turnId") == turn_id for event in finished(editor, session_id)))
    messages = model_server.requests[-1].json["messages"][1:]
    assert (SUMMARY in messages[0]["content"], messages[-1]["content"]) == (True, "And now?")
    told = [event["text"] for event in editor.events(session_id) if event["type"] == "notice"]
    assert (way == "command") == any("were summarised by" in line for line in told)


def finished(editor: Editor, session_id: str) -> list[Any]:
    """The turns that have ended."""
    return [event for event in editor.events(session_id) if event["type"] == "turn.finished"]


def work(editor: Editor, session_id: str) -> list[tuple[bool, str | None]]:
    """Whether the session is busy, and with what that is no turn, as the client was told last and before."""
    told = [one["params"]["session"] for one in editor.messages if one.get("method") == "marvin/session/changed"]
    return [(one["busy"], one.get("activity")) for one in told if one["id"] == session_id]


@pytest.mark.parametrize("end", ["written", "cancelled"])
@WAYS
async def test_while_it_is_written_the_session_is_busy_and_says_with_what(
    editor: Editor, workspace: Path, model_server: ThreadedModelServer, way: str, end: str
) -> None:
    session_id, asked = await being_written(editor, workspace, model_server, way)
    assert (False, None) in work(editor, session_id)
    await editor.until(lambda _: work(editor, session_id)[-1] == (True, "summarising"))
    loaded = await editor.load(session_id)
    assert problems(loaded, SCHEMA["methods"]["marvin/session/load"]["result"]) == []
    assert (loaded["session"]["busy"], loaded["session"]["activity"]) == (True, "summarising")
    assert (await editor.request("marvin/status"))["busy"]
    if end == "written":
        model_server.release(99)
        await editor.answer(asked)
    else:
        await editor.request("marvin/turn/cancel", {"sessionId": session_id})
        with pytest.raises(Refused, match="-32800"):
            await editor.answer(asked)
    await editor.until(lambda _: work(editor, session_id)[-1] == (False, None))
    assert not (await editor.request("marvin/status"))["busy"]


@WAYS
async def test_while_it_is_written_the_session_answers_everything_else(
    editor: Editor, workspace: Path, model_server: ThreadedModelServer, way: str
) -> None:
    session_id, asked = await being_written(editor, workspace, model_server, way)
    one = {"sessionId": session_id}
    for method, params in (
        ("marvin/session/compact", {}),
        ("marvin/session/compact", {"preview": True}),
        ("marvin/session/delete", {}),
        ("marvin/turn/undo", {"turnId": "nothing"}),
        ("marvin/oneShot", {"action": "ask", "instruction": "Now?", "uri": (workspace / "README.md").as_uri()}),
    ):
        with pytest.raises(Refused, match="1002"):
            await editor.request(method, {**one, **params})
    for method, params in (
        ("marvin/session/load", {}),
        ("marvin/context/get", {}),
        ("marvin/config/set", {"name": "mode", "value": "review"}),
        ("marvin/session/update", {"title": "Jokes"}),
        ("marvin/session/fork", {}),
    ):
        await editor.request(method, {**one, **params})
    model_server.release(99)
    await editor.answer(asked)
    assert len(await sent(editor, session_id, model_server, 8 if way == "command" else 7)) == 1 + 8 + 1


@WAYS
async def test_cancelling_ends_the_writing_and_changes_nothing(
    editor: Editor, workspace: Path, model_server: ThreadedModelServer, way: str
) -> None:
    session_id, asked = await being_written(editor, workspace, model_server, way)
    assert await editor.request("marvin/turn/cancel", {"sessionId": session_id}) == {}
    with pytest.raises(Refused, match="-32800"):
        await editor.answer(asked)
    model_server.wait_for_disconnect(8)
    model_server.play(answer)
    assert len(await sent(editor, session_id, model_server, 7)) == 13


async def test_of_two_that_come_at_once_one_is_carried_out(
    editor: Editor, workspace: Path, model_server: ThreadedModelServer
) -> None:
    session_id = await talked(editor, workspace, model_server)
    asked = [ask(editor, "request", session_id) for _ in range(2)]
    results = [await outcome(editor, each) for each in asked]
    assert sorted(results) == ["1002: the conversation", "done"]
    items = (await editor.load(session_id))["items"]
    assert [item["kind"] for item in items].count("compaction") == 1


async def outcome(editor: Editor, asked: int) -> str:
    try:
        await editor.answer(asked)
    except Refused as refused:
        return str(refused)[:22]
    return "done"


async def test_the_same_command_sent_twice_is_carried_out_once(
    editor: Editor, workspace: Path, model_server: ThreadedModelServer
) -> None:
    session_id = await talked(editor, workspace, model_server)
    asked = [ask(editor, "command", session_id) for _ in range(2)]
    first, second = [await editor.answer(each) for each in asked]
    assert first == second
    items = (await editor.load(session_id))["items"]
    assert [item["kind"] for item in items].count("compaction") == 1


@WAYS
async def test_leaving_while_it_is_written_loses_nothing(
    editor: Editor, workspace: Path, model_server: ThreadedModelServer, start: Start, way: str
) -> None:
    session_id, _ = await being_written(editor, workspace, model_server, way)
    await editor.turn(session_id, "And now?", whenBusy="queue")
    assert await editor.leave() == 0
    loaded = await (await start()).load(session_id)
    assert [item["kind"] for item in loaded["items"]] == ["message"] * 12
    assert [draft["message"]["parts"][0]["text"] for draft in loaded["drafts"]] == ["And now?"]


async def test_another_server_waits_for_the_summary_and_goes_on_with_it(
    editor: Editor, workspace: Path, model_server: ThreadedModelServer, start: Start
) -> None:
    session_id, asked = await being_written(editor, workspace, model_server, "request")
    other = await start()
    with pytest.raises(Refused, match=r"1002: another marvin .* is at work"):
        await compact(other, session_id)
    with pytest.raises(Refused, match="1002"):
        await other.turn(session_id, "Now?")
    await other.turn(session_id, "And now?", whenBusy="queue")
    model_server.release(99)
    await editor.answer(asked)
    await other.event("turn.finished", session_id)
    messages = model_server.requests[-1].json["messages"][1:]
    assert (SUMMARY in messages[0]["content"], messages[-1]["content"]) == (True, "And now?")
