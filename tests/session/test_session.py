"""A session with a scripted provider and the real tools, store and workspace."""

import asyncio
import json
import os
import sqlite3
from collections.abc import AsyncGenerator, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from marvin_server import settings
from marvin_server.errors import BadRequest, UsageError
from marvin_server.events import (
    Event,
    MessageDelta,
    MessageFinished,
    PermissionRequested,
    PermissionResolved,
    RoundStarted,
    ToolFinished,
    ToolOutput,
    ToolStarted,
    TurnFinished,
    TurnStarted,
)
from marvin_server.messages import Image, Message, Text, ToolCall, ToolResult, Usage, user_message
from marvin_server.providers.base import ModelRequest, StreamEvent
from marvin_server.providers.selection import Choice
from marvin_server.session.opening import OpenSession, open_session
from marvin_server.session.store import Store
from marvin_server.session.subscription import Subscription
from tests.agent.scripted import Hang, Scripted, call
from tests.processes import processes_with

Opener = Callable[..., OpenSession]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    (folder / "a.txt").write_text("alpha\n")
    (folder / "b.txt").write_text("beta\n")
    return folder


@pytest.fixture
def opener(workspace: Path, store: Store, tmp_path: Path) -> Opener:
    def make(provider: Scripted, rounds: int = 50, resume: str | None = None, **flags: Any) -> OpenSession:
        loaded = settings.load(flags, {"MARVIN_HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin"})
        return open_session(loaded, Choice(provider, free=True), store, workspace, rounds=rounds, resume=resume)

    return make


async def finish(subscription: Subscription) -> list[Event]:
    """The events up to the end of the turn."""
    seen: list[Event] = []
    async with asyncio.timeout(5):
        async for _, event in subscription:
            seen.append(event)
            if isinstance(event, TurnFinished):
                return seen
    raise AssertionError("the session was closed before its turn ended")


async def wait_for(subscription: Subscription, kind: type[Event]) -> Event:
    async with asyncio.timeout(5):
        async for _, event in subscription:
            if isinstance(event, kind):
                return event
    raise AssertionError("the session was closed")


def kinds(events: list[Event]) -> list[str]:
    return [event.type for event in events]


def results(events: list[Event]) -> list[tuple[str, str]]:
    return [(event.name, event.status) for event in events if isinstance(event, ToolFinished)]


def stop(events: list[Event]) -> tuple[str, str | None]:
    end = events[-1]
    assert isinstance(end, TurnFinished)
    return end.stop_reason, end.error.kind if end.error else None


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
    subscription = opened.session.subscribe()
    opened.session.submit("What is in a.txt?")
    events = await finish(subscription)
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
    subscription = opened.session.subscribe()
    opened.session.submit("go")
    events = await finish(subscription)
    started = [event.name for event in events if isinstance(event, ToolStarted)]
    order = [(event.type, event.tool_call_id) for event in events if isinstance(event, ToolStarted | ToolFinished)]
    assert started == ["code_grep", "code_grep", "run_command", "run_command", "run_command"]
    assert [kind for kind, _ in order[:2]] == ["tool.started", "tool.started"]
    assert order[4:] == [(kind, c.id) for c in commands for kind in ("tool.started", "tool.finished")]
    assert (workspace / "d" / "x").exists()


async def test_a_command_streams_its_output_while_it_runs(opener: Opener) -> None:
    opened = opener(Scripted([call("run_command", '{"command": "echo one; echo two"}')], ["ok"]), approve="all")
    subscription = opened.session.subscribe()
    opened.session.submit("go")
    events = await finish(subscription)
    assert "".join(event.text for event in events if isinstance(event, ToolOutput)) == "one\ntwo\n"


async def test_cancelled_while_the_model_writes_keeps_the_text_that_arrived(opener: Opener, store: Store) -> None:
    hang = Hang()
    provider = Scripted(["Half an ans", hang])
    opened = opener(provider)
    subscription = opened.session.subscribe()
    opened.session.submit("go")
    await asyncio.wait_for(hang.reached.wait(), 5)
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
    subscription = opened.session.subscribe()
    opened.session.submit("go")
    events = await finish(subscription)
    assert stop(events) == ("failed", "BadRequest")
    assert store.history(opened.session.id)[-1].text == "Some text"


async def test_an_empty_answer_fails_the_turn(opener: Opener) -> None:
    opened = opener(Scripted([]))
    subscription = opened.session.subscribe()
    opened.session.submit("go")
    assert stop(await finish(subscription)) == ("failed", "Interrupted")


async def test_at_the_round_limit_one_more_request_without_tools_asks_for_an_answer(opener: Opener) -> None:
    read = '{"path": "a.txt"}'
    provider = Scripted([call("read_file", read)], [call("read_file", read)], ["So far: alpha.", call("tree")])
    opened = opener(provider, rounds=2)
    subscription = opened.session.subscribe()
    opened.session.submit("go")
    events = await finish(subscription)
    assert stop(events) == ("round_limit", None)
    assert [bool(request.tools) for request in provider.requests] == [True, True, False]
    last = [event.message for event in events if isinstance(event, MessageFinished)][-1]
    assert last.parts == (Text("So far: alpha."),)


async def test_a_question_waits_for_the_first_answer(opener: Opener, workspace: Path) -> None:
    opened = opener(Scripted([call("run_command", '{"command": "touch made"}')], ["ok"]))
    subscription = opened.session.subscribe()
    opened.session.submit("go")
    asked = await wait_for(subscription, PermissionRequested)
    assert isinstance(asked, PermissionRequested)
    assert asked.permission.command is not None
    assert (asked.permission.command.display, asked.permission.command.cwd) == ("touch made", str(workspace))
    assert not (workspace / "made").exists()
    assert opened.session.answer(asked.permission.id, "allow_once")
    assert not opened.session.answer(asked.permission.id, "deny")
    events = await finish(subscription)
    assert results(events) == [("run_command", "ok")]
    assert [e.by for e in events if isinstance(e, PermissionResolved)] == ["person"]
    assert (workspace / "made").exists()


async def test_an_answer_for_the_session_covers_the_same_command_only(opener: Opener) -> None:
    touch, other = call("run_command", '{"command": "true"}'), call("run_command", '{"command": "echo"}')
    opened = opener(Scripted([touch], [call("run_command", '{"command": "true"}')], [other], ["ok"]))
    subscription = opened.session.subscribe()
    opened.session.submit("go")
    first = await wait_for(subscription, PermissionRequested)
    assert isinstance(first, PermissionRequested)
    opened.session.answer(first.permission.id, "allow_session")
    second = await wait_for(subscription, PermissionRequested)
    assert isinstance(second, PermissionRequested)
    assert second.permission.tool_call_id == other.id
    opened.session.answer(second.permission.id, "deny_and_stop")
    events = await finish(subscription)
    assert (results(events), stop(events)) == ([("run_command", "denied")], ("denied", None))


async def test_cancel_and_close_settle_an_open_question_as_denied(opener: Opener, workspace: Path) -> None:
    opened = opener(Scripted([call("run_command", '{"command": "touch made"}')], ["ok"]))
    subscription = opened.session.subscribe()
    opened.session.submit("go")
    await wait_for(subscription, PermissionRequested)
    await opened.session.close()
    events = await finish(subscription)
    assert [(e.decision, e.by) for e in events if isinstance(e, PermissionResolved)] == [("deny", "shutdown")]
    assert not (workspace / "made").exists()
    assert [event async for event in subscription] == []


@pytest.mark.parametrize(("approve", "status"), [("all", "ok"), ("rules", "denied"), ("none", "denied")])
async def test_without_a_person_the_approve_flag_decides(opener: Opener, approve: str, status: str) -> None:
    edit = call("create_file", '{"path": "new.txt", "content": "x"}')
    opened = opener(Scripted([edit, call("run_command", '{"command": "true"}')], ["ok"]), approve=approve)
    subscription = opened.session.subscribe()
    opened.session.submit("go")
    assert results(await finish(subscription)) == [("create_file", status), ("run_command", status)]


async def test_protected_names_stay_denied_when_everything_is_approved(opener: Opener, workspace: Path) -> None:
    (workspace / ".env").write_text("KEY=secret\n")
    calls: list[ToolCall] = [
        call("read_file", '{"path": ".env"}'),
        call("create_file", '{"path": ".git/hooks/pre-commit", "content": "x"}'),
    ]
    opened = opener(Scripted(calls, ["ok"]), approve="all")
    subscription = opened.session.subscribe()
    opened.session.submit("go")
    events = await finish(subscription)
    assert results(events) == [("read_file", "denied"), ("create_file", "denied")]
    assert "secret" not in str(events)
    assert not (workspace / ".git").exists()


async def test_a_protected_name_is_read_after_a_yes(opener: Opener, workspace: Path) -> None:
    (workspace / ".env").write_text("KEY=value\n")
    opened = opener(Scripted([call("read_file", '{"path": ".env"}')], ["ok"]))
    subscription = opened.session.subscribe()
    opened.session.submit("go")
    asked = await wait_for(subscription, PermissionRequested)
    assert isinstance(asked, PermissionRequested)
    assert asked.permission.kind == "protected_path"
    opened.session.answer(asked.permission.id, "allow_once")
    assert results(await finish(subscription)) == [("read_file", "ok")]


async def test_readonly_sends_no_tool_that_changes_things_and_denies_one_all_the_same(opener: Opener) -> None:
    provider = Scripted([call("create_file", '{"path": "new.txt", "content": "x"}')], ["ok"])
    opened = opener(provider, approve="all", readonly=True)
    subscription = opened.session.subscribe()
    opened.session.submit("go")
    assert results(await finish(subscription)) == [("create_file", "denied")]
    assert "create_file" not in [tool.name for tool in provider.requests[0].tools]


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
    subscription = opened.session.subscribe()
    opened.session.submit("go")
    await finish(subscription)
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
    subscription = opened.session.subscribe()
    opened.session.submit("go")
    assert stop(await finish(subscription)) == ("failed", "InternalError")
    assert store.history(opened.session.id)[-1].text == "Half"


async def test_a_large_message_is_on_disk_before_it_is_shown(opener: Opener, store: Store) -> None:
    large = "word " * 100_000
    opened = opener(Scripted([large]))
    subscription = opened.session.subscribe()
    opened.session.submit("go")
    async with asyncio.timeout(5):
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
