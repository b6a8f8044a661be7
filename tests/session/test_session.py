"""A session with a scripted provider and the real tools, store and workspace."""

import asyncio
import json
import os
import sqlite3
from collections.abc import AsyncGenerator
from contextlib import closing
from pathlib import Path

import pytest

from marvin_server.errors import BadRequest, UsageError
from marvin_server.events import (
    MessageDelta,
    MessageFinished,
    PermissionRequested,
    RoundStarted,
    ToolFinished,
    ToolOutput,
    ToolStarted,
    TurnFinished,
    TurnStarted,
)
from marvin_server.messages import Image, Message, Text, ToolResult, Usage, user_message
from marvin_server.providers.base import ModelRequest, StreamEvent
from marvin_server.session.store import Store
from tests.agent.scripted import Hang, Scripted, call
from tests.patience import SECONDS
from tests.processes import processes_with
from tests.session.turns import Opener, finish, kinds, stop, turn, wait_for


def paired(history: list[Message]) -> bool:
    """Is every assistant message with tool calls followed by a tool message that answers each, in order?"""
    for index, message in enumerate(history):
        if message.tool_calls:
            answers = history[index + 1].parts if index + 1 < len(history) else ()
            if [c.id for c in message.tool_calls] != [r.call_id for r in answers if isinstance(r, ToolResult)]:
                return False
    return True


async def test_a_turn_streams_calls_tools_and_ends(opener: Opener, store: Store) -> None:
    provider = Scripted(["I look. ", call("read_file", '{"path": "a.txt"}')], ["It says ", "alpha."])
    opened = opener(provider)
    events = await turn(opened, "What is in a.txt?")
    assert kinds(events) == [
        "turn.started",
        "message.finished",
        "round.started",
        "message.delta",
        "message.finished",
        "usage",
        "tool.started",
        "tool.finished",
        "message.finished",
        "round.started",
        "message.delta",
        "message.delta",
        "message.finished",
        "usage",
        "turn.finished",
    ]
    assert stop(events) == ("completed", None)
    history = store.history(opened.session.id)
    assert [message.role for message in history] == ["user", "assistant", "tool", "assistant"]
    assert history == [event.message for event in events if isinstance(event, MessageFinished)]
    assert "alpha" in str(provider.requests[1].history[-1].parts)
    end = events[-1]
    assert isinstance(end, TurnFinished)
    assert end.usage == Usage(20, 4)
    assert opened.tally.cost_line()["llm_turns"] == 2


async def test_reads_run_side_by_side_and_commands_in_order(opener: Opener, workspace: Path) -> None:
    # Each command needs what the one before it made.
    commands = [call("run_command", json.dumps({"command": line})) for line in ("mkdir d", "touch d/x", "ls d")]
    reads = [call("code_grep", '{"pattern": "alpha"}'), call("code_grep", '{"pattern": "beta"}')]
    opened = opener(Scripted([*reads, *commands], ["done"]), approve="all")
    events = await turn(opened, "go")
    started = [event.name for event in events if isinstance(event, ToolStarted)]
    order = [(event.type, event.tool_call_id) for event in events if isinstance(event, ToolStarted | ToolFinished)]
    assert started == ["code_grep", "code_grep", "run_command", "run_command", "run_command"]
    assert [kind for kind, _ in order[:2]] == ["tool.started", "tool.started"]
    assert order[4:] == [(kind, c.id) for c in commands for kind in ("tool.started", "tool.finished")]
    assert (workspace / "d" / "x").exists()


async def test_a_command_streams_its_output_while_it_runs(opener: Opener) -> None:
    opened = opener(Scripted([call("run_command", '{"command": "echo one; echo two"}')], ["ok"]), approve="all")
    events = await turn(opened, "go")
    assert "".join(event.text for event in events if isinstance(event, ToolOutput)) == "one\ntwo\n"


async def test_cancelled_while_the_model_writes_keeps_the_text_that_arrived(opener: Opener, store: Store) -> None:
    hang = Hang()
    provider = Scripted(["Half an ans", hang])
    opened = opener(provider)
    subscription = opened.session.subscribe()
    opened.session.submit("go")
    await asyncio.wait_for(hang.reached.wait(), SECONDS)
    assert opened.session.cancel()
    events = await finish(subscription)
    assert stop(events) == ("cancelled", None)
    assert provider.closed == 1
    last = store.history(opened.session.id)[-1]
    assert (last.role, last.text, last.finish) == ("assistant", "Half an ans", "interrupted")
    assert not opened.session.cancel()


async def test_cancelled_while_a_command_runs_leaves_a_valid_history_and_no_process(
    opener: Opener, store: Store, workspace: Path
) -> None:
    stays = f"60.{os.getpid()}"  # seconds that no other process on this machine sleeps
    slow = call("run_command", json.dumps({"command": f"echo up; exec sleep {stays}"}))
    never = call("run_command", '{"command": "touch never"}')
    opened = opener(Scripted([call("read_file", '{"path": "a.txt"}'), slow, never]), approve="all")
    subscription = opened.session.subscribe()
    opened.session.submit("go")
    await wait_for(subscription, ToolOutput)
    opened.session.cancel()
    events = await finish(subscription)
    assert stop(events) == ("cancelled", None)
    history = store.history(opened.session.id)
    assert paired(history)
    statuses = [part.status for part in history[-1].parts if isinstance(part, ToolResult)]
    assert statuses == ["ok", "cancelled", "cancelled"]
    assert not (workspace / "never").exists()
    assert processes_with(stays) == []


async def test_cancelled_before_its_first_step_a_turn_still_ends(opener: Opener) -> None:
    opened = opener(Scripted(["never"]))
    subscription = opened.session.subscribe()
    opened.session.submit("go")
    opened.session.cancel()
    events = await finish(subscription)
    assert stop(events) == ("cancelled", None)
    assert kinds(events)[0] == "turn.started"


async def test_a_provider_error_fails_the_turn_and_keeps_the_text(opener: Opener, store: Store) -> None:
    opened = opener(Scripted(["Some text", BadRequest("not like this", status=400)]))
    events = await turn(opened, "go")
    assert stop(events) == ("failed", "BadRequest")
    assert store.history(opened.session.id)[-1].text == "Some text"


async def test_an_empty_answer_fails_the_turn(opener: Opener) -> None:
    opened = opener(Scripted([]))
    assert stop(await turn(opened, "go")) == ("failed", "Interrupted")


async def test_at_the_round_limit_one_more_request_without_tools_asks_for_an_answer(opener: Opener) -> None:
    read = '{"path": "a.txt"}'
    provider = Scripted([call("read_file", read)], [call("read_file", read)], ["So far: alpha.", call("tree")])
    opened = opener(provider, rounds=2)
    events = await turn(opened, "go")
    assert stop(events) == ("round_limit", None)
    assert [bool(request.tools) for request in provider.requests] == [True, True, False]
    last = [event.message for event in events if isinstance(event, MessageFinished)][-1]
    assert last.parts == (Text("So far: alpha."),)


async def test_the_pictures_of_a_prompt_are_kept_and_sent_with_it(opener: Opener, store: Store) -> None:
    provider = Scripted(["A cat."])
    opened = opener(provider)
    subscription = opened.session.subscribe()
    picture = Image("image/png", "iVBORw0=")
    opened.session.submit(user_message("What is it?", [picture]))
    await finish(subscription)
    (sent,) = provider.requests[0].history
    assert (sent.parts, store.history(opened.session.id)[0]) == ((picture, Text("What is it?")), sent)


async def test_a_busy_session_rejects_queues_or_steers(opener: Opener) -> None:
    provider = Scripted([call("run_command", '{"command": "true"}')], ["first"], ["second"])
    opened = opener(provider)
    subscription = opened.session.subscribe()
    first = opened.session.submit("one")
    asked = await wait_for(subscription, PermissionRequested)
    assert isinstance(asked, PermissionRequested)
    with pytest.raises(UsageError):
        opened.session.submit("no")
    queued = opened.session.submit("two", "queue")
    assert opened.session.submit("and quickly", "steer") == first
    opened.session.answer(asked.permission.id, "allow_once")
    end = (await finish(subscription))[-1]
    assert isinstance(end, TurnFinished)
    assert end.turn_id == first
    assert [m.text for m in provider.requests[1].history if m.role == "user"] == ["one", "and quickly"]
    again = await finish(subscription)
    assert isinstance(again[0], TurnStarted)
    assert (again[0].turn_id, stop(again)) == (queued, ("completed", None))


@pytest.mark.parametrize("stopped_by", ["cancelled", "denied"])
async def test_what_was_steered_into_a_turn_that_is_stopped_is_a_draft_and_starts_nothing(
    opener: Opener, store: Store, stopped_by: str
) -> None:
    provider = Scripted([call("run_command", '{"command": "true"}')], ["second"])
    opened = opener(provider)
    subscription = opened.session.subscribe()
    opened.session.submit("one")
    asked = await wait_for(subscription, PermissionRequested)
    assert isinstance(asked, PermissionRequested)
    opened.session.submit("and quickly", "steer")
    queued = opened.session.submit("two", "queue")
    if stopped_by == "denied":
        opened.session.answer(asked.permission.id, "deny_and_stop")
    else:
        opened.session.cancel()
    assert stop(await finish(subscription)) == (stopped_by, None)
    again = await finish(subscription)
    assert isinstance(again[0], TurnStarted)
    assert (again[0].turn_id, stop(again)) == (queued, ("completed", None))
    assert [m.text for m in provider.requests[1].history if m.role == "user"] == ["one", "two"]
    assert [draft.message.text for draft in store.drafts.left(opened.session.id)] == ["and quickly"]
    await opened.session.close()
    assert [draft.message.text for draft in store.drafts.left(opened.session.id)] == ["and quickly"]


async def test_what_waits_is_a_draft_and_subscriptions_end_whatever_fails_or_hangs_when_it_is_closed(
    opener: Opener, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    opened = opener(Scripted([call("run_command", '{"command": "true"}')]))
    ended: list[str] = []

    async def fails() -> None:
        raise OSError("no room")

    async def hangs() -> None:
        await asyncio.get_running_loop().create_future()

    async def ends() -> None:
        ended.append("it")

    for end in (fails, hangs, ends):
        opened.session.at_end(end)
    subscription = opened.session.subscribe()
    opened.session.submit("one")
    await wait_for(subscription, PermissionRequested)
    opened.session.submit("two", "queue")
    async with asyncio.timeout(SECONDS):
        await opened.session.close()
        assert [event.type async for _, event in subscription][-1] == "turn.finished"
    assert [draft.message.text for draft in store.drafts.left(opened.session.id)] == ["two"]
    assert ended == ["it"]
    assert "no room" in caplog.text


async def test_a_queued_prompt_that_cannot_be_started_is_a_draft(opener: Opener, store: Store, tmp_path: Path) -> None:
    opened = opener(Scripted([call("run_command", '{"command": "true"}')]))
    subscription = opened.session.subscribe()
    opened.session.submit("one")
    await wait_for(subscription, PermissionRequested)
    queued = opened.session.submit("two", "queue")
    assert [(each.turn_id, each.message.text) for each in store.drafts.queued(opened.session.id)] == [(queued, "two")]
    with closing(sqlite3.connect(tmp_path / "marvin.db", isolation_level=None)) as other:
        other.execute("CREATE TRIGGER full BEFORE INSERT ON entries BEGIN SELECT raise(ABORT, 'no room'); END")
    opened.session.cancel()
    await finish(subscription)
    (end,) = await finish(subscription)
    assert isinstance(end, TurnFinished)
    assert (end.turn_id, stop([end])) == (queued, ("failed", "StoreError"))
    assert store.drafts.queued(opened.session.id) == []
    assert [draft.message.text for draft in store.drafts.left(opened.session.id)] == ["two"]


async def test_a_late_subscriber_gets_the_kept_events_from_its_number_on(opener: Opener) -> None:
    opened = opener(Scripted(["hello"]))
    opened.session.submit("go")
    all_events = await finish(opened.session.subscribe(from_seq=1))
    late = opened.session.subscribe(from_seq=4)
    await opened.session.close()
    assert [event async for _, event in late] == all_events[3:]


async def test_each_round_is_told_where_the_one_before_has_gone(opener: Opener, workspace: Path) -> None:
    (workspace / "sub").mkdir()
    provider = Scripted([call("set_working_dir", '{"path": "sub"}')], ["ok"])
    opened = opener(provider)
    await turn(opened, "go")
    assert [request.system.rpartition(": ")[2] for request in provider.requests] == [
        str(workspace),
        str(workspace / "sub"),
    ]


async def test_a_session_goes_on_where_it_was_left(opener: Opener) -> None:
    opened = opener(Scripted(["hello"]))
    opened.session.submit("one")
    await finish(opened.session.subscribe(from_seq=1))
    provider = Scripted(["again"])
    resumed = opener(provider, resume=opened.session.id)
    resumed.session.submit("two")
    await finish(resumed.session.subscribe(from_seq=1))
    assert [message.text for message in provider.requests[0].history] == ["one", "hello", "two"]


async def test_cancelled_twice_the_history_is_still_valid(opener: Opener, store: Store) -> None:
    stubborn = call("run_command", json.dumps({"command": "trap '' TERM; echo up; sleep 60"}))
    opened = opener(Scripted([stubborn], ["again"]), approve="all")
    subscription = opened.session.subscribe()
    opened.session.submit("go")
    await wait_for(subscription, ToolOutput)
    opened.session.cancel()
    await asyncio.sleep(0)
    opened.session.cancel()
    assert stop(await finish(subscription))[0] == "cancelled"
    assert paired(store.history(opened.session.id))


async def test_a_closed_session_starts_nothing_any_more(opener: Opener) -> None:
    provider = Scripted([call("run_command", '{"command": "true"}')], ["late"])
    opened = opener(provider)
    subscription = opened.session.subscribe()
    opened.session.submit("go")
    await wait_for(subscription, PermissionRequested)
    opened.session.submit("and this", "steer")
    opened.session.submit("and that", "queue")
    await opened.session.close()
    assert stop(await finish(subscription)) == ("cancelled", None)
    assert len(provider.requests) == 1
    with pytest.raises(UsageError):
        opened.session.submit("more")
    assert [event async for event in opened.session.subscribe()] == []


async def test_a_crash_of_the_provider_keeps_the_text_that_arrived(opener: Opener, store: Store) -> None:
    class Crashing(Scripted):
        async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent]:
            yield MessageDelta("m1", "Half")
            raise KeyError("a bug")

    opened = opener(Crashing())
    assert stop(await turn(opened, "go")) == ("failed", "InternalError")
    assert store.history(opened.session.id)[-1].text == "Half"


async def test_a_large_message_is_on_disk_before_it_is_shown(opener: Opener, store: Store) -> None:
    large = "word " * 100_000
    opened = opener(Scripted([large]))
    subscription = opened.session.subscribe()
    opened.session.submit("go")
    async with asyncio.timeout(SECONDS):
        async for _, event in subscription:
            if isinstance(event, MessageFinished) and event.message.role == "assistant":
                assert store.history(opened.session.id)[-1] == event.message
                break
    assert stop(await finish(subscription)) == ("completed", None)
    assert [message.text for message in store.history(opened.session.id)] == ["go", large]


async def test_cancelled_while_a_large_message_is_written_keeps_it_whole_and_runs_nothing(
    opener: Opener, store: Store, workspace: Path, tmp_path: Path
) -> None:
    large = "word " * 100_000
    opened = opener(Scripted([large, call("create_file", '{"path": "made", "content": ""}')]))
    subscription = opened.session.subscribe()
    opened.session.submit("go")
    with closing(sqlite3.connect(tmp_path / "marvin.db", isolation_level=None)) as other:
        await wait_for(subscription, RoundStarted)
        other.execute("BEGIN IMMEDIATE")
        await wait_for(subscription, MessageDelta)
        opened.session.cancel()
        opened.session.cancel()
        other.execute("COMMIT")
    events = await finish(subscription)
    assert stop(events) == ("cancelled", None)
    history = store.history(opened.session.id)
    assert [(message.role, message.text, message.finish) for message in history[:2]] == [
        ("user", "go", None),
        ("assistant", large, "tool_calls"),
    ]
    assert paired(history)
    assert not (workspace / "made").exists()


async def test_a_large_message_that_cannot_be_written_ends_the_turn_unseen(
    opener: Opener, store: Store, tmp_path: Path
) -> None:
    opened = opener(Scripted(["word " * 100_000]))
    subscription = opened.session.subscribe()
    opened.session.submit("go")
    with closing(sqlite3.connect(tmp_path / "marvin.db", isolation_level=None)) as other:
        other.execute("CREATE TRIGGER full BEFORE INSERT ON entries BEGIN SELECT raise(ABORT, 'no room'); END")
    events = await finish(subscription)
    assert stop(events) == ("failed", "StoreError")
    assert [event.message.role for event in events if isinstance(event, MessageFinished)] == ["user"]
    assert [message.text for message in store.history(opened.session.id)] == ["go"]
